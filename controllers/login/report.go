// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// maxServers is how many servers status takes.
const maxServers = 9

func (r *Reconciler) report(ctx context.Context, w *world, p Plan, failed error) error {
	d, status := w.desired, *w.desired.Login.Status.DeepCopy()
	status.Servers, status.ConnectionSecret = nil, ""
	if d.Missing == "" {
		status.SID, status.ConnectionSecret = tsql.Binary(d.sid()), d.secretName()
	}
	for _, server := range d.Servers[:min(len(d.Servers), maxServers)] {
		status.Servers = append(status.Servers, v1alpha1.LoginServerStatus{Server: credentials.HostName(server), State: state(w, p, server)})
	}
	changes := conditions.Set(&status.StatusBase, d.Login.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Login, &w.before, &status, changes)
}

// state of the login on one server.
func state(w *world, p Plan, server v1alpha1.ServerName) string {
	s := w.observed.Servers[server]
	switch {
	case s.Err != nil:
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
