// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"maps"
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
	if d.Missing == "" && (d.NoPassword == "" || everywhere(d, o)) {
		if d.NoPassword == "" {
			status.ConnectionSecret, status.FormerSecrets = d.secretName(), former(d, o)
		}
		if p.Outcome.Reason != v1alpha1.ReasonLoginConflict {
			// While somebody else's stands in the way none was made: a person may have it taken over yet.
			status.SID = tsql.Binary(d.sid())
		}
		status.Users = recordUsers(d, o, p)
		status.SecretSites = recordSites(d, o, p)
	}
	for _, server := range d.Servers[:min(len(d.Servers), maxServers)] {
		status.Servers = append(
			status.Servers,
			v1alpha1.LoginServerStatus{Server: credentials.HostName(server), State: state(o, p, server)},
		)
	}
	return status
}

// maxSites is how many sites status takes.
const maxSites = 64

// recordSites are the sites at which a connection Secret is, or may be: what was written or seen there, and what was
// recorded and cannot be looked for.
func recordSites(d Desired, o Observed, p reconcile.Plan) []v1alpha1.SiteName {
	has := map[v1alpha1.SiteName]bool{}
	for _, site := range d.Login.Status.SecretSites {
		_, asked := o.Secrets[string(site)]
		has[site] = !asked
	}
	for _, s := range o.allSecrets(d) {
		site := v1alpha1.SiteName(s.Place)
		has[site] = has[site] || s.Err == nil && s.remains() ||
			s.Err != nil && slices.Contains(d.Login.Status.SecretSites, site)
	}
	for _, step := range p.Steps {
		if w, ok := step.(WriteSecret); ok {
			has[v1alpha1.SiteName(w.Place)] = true
		}
	}
	var sites []v1alpha1.SiteName
	for _, site := range slices.Sorted(maps.Keys(has)) {
		if has[site] && site != "" {
			sites = append(sites, site)
		}
	}
	return sites[:min(len(sites), maxSites)]
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
