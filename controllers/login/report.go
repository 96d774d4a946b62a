// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// maxServers is how many servers status takes.
const maxServers = 9

func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	status, before := reported(d, o, p), d.Login.Status
	changes := conditions.Set(&status.StatusBase, d.Login.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Login, &before, &status, changes)
}

// reported is the status of what was observed and planned. It keeps the SID of a login that is taken over.
func reported(desired Desired, o Observed, p reconcile.Plan) v1alpha1.LoginStatus {
	d, status := desired.adopting(o), *desired.Login.Status.DeepCopy()
	status.Servers = nil
	if d.Missing == "" {
		status.SID, status.ConnectionSecret, status.FormerSecrets = tsql.Binary(
			d.sid(),
		), d.secretName(), former(
			d,
			o,
		)
		status.Users = recordUsers(d, o, p)
	}
	for _, server := range d.Servers[:min(len(d.Servers), maxServers)] {
		status.Servers = append(
			status.Servers,
			v1alpha1.LoginServerStatus{Server: credentials.HostName(server), State: state(o, p, server)},
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
func state(o Observed, p reconcile.Plan, server v1alpha1.ServerName) string {
	s, asked := o.Servers[server]
	switch {
	case s.Err != nil, !asked:
		return "Unknown"
	case p.Outcome.Reason == v1alpha1.ReasonLoginConflict:
		return "Conflict"
	}
	for _, step := range p.Steps {
		if x, ok := step.(mssql.Execute); ok && x.Server == server {
			return "Changing"
		}
	}
	return "UpToDate"
}
