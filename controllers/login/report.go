// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// maxServers is how many servers status takes.
const maxServers = 9

func (r *Reconciler) report(ctx context.Context, w *world, p Plan, failed error) error {
	status, before := reported(w, p), w.desired.Login.Status
	changes := conditions.Set(&status.StatusBase, w.desired.Login.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, w.desired.Login, &before, &status, changes)
}

// reported is the status of what was observed and planned. It keeps the SID of a login that is taken over.
func reported(w *world, p Plan) v1alpha1.LoginStatus {
	d, status := w.desired.adopting(w.observed), *w.desired.Login.Status.DeepCopy()
	status.Servers = nil
	if d.Missing == "" {
		status.SID, status.ConnectionSecret, status.FormerSecrets = tsql.Binary(
			d.sid(),
		), d.secretName(), former(
			d,
			w.observed,
		)
		status.Users = recordUsers(d, w.observed, p)
	}
	for _, server := range d.Servers[:min(len(d.Servers), maxServers)] {
		status.Servers = append(
			status.Servers,
			v1alpha1.LoginServerStatus{Server: credentials.HostName(server), State: state(w, p, server)},
		)
	}
	return status
}

// former are the names of before under which a Secret remains, or may remain.
func former(d Desired, o Observed) []string {
	return slices.DeleteFunc(d.formerSecrets(), func(name string) bool {
		return !slices.ContainsFunc(o.Former, func(s FormerSecret) bool { return s.Name == name && s.remains() })
	})
}

// state of the login on one server.
func state(w *world, p Plan, server v1alpha1.ServerName) string {
	s, asked := w.observed.Servers[server]
	switch {
	case s.Err != nil, !asked:
		return "Unknown"
	case p.Outcome.Reason == conditions.ReasonLoginConflict:
		return "Conflict"
	}
	for _, step := range p.Steps {
		if x, ok := step.(Execute); ok && x.Server == server {
			return "Changing"
		}
	}
	return "UpToDate"
}
