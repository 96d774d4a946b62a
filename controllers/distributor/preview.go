// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// placeholder stands for passwords, which a preview neither knows nor shows.
const placeholder = "placeholder"

// Imagine is what a Distributor that does not exist yet would ask for, with these servers as its publishers.
func Imagine(object *v1alpha1.Distributor, publishers []v1alpha1.ServerName) Desired {
	d := Desired{
		Distributor: object,
		System:      replication.SystemOf(object),
		Publishers:  slices.Compact(slices.Sorted(slices.Values(publishers))),
	}
	d.System.AgentPassword, d.System.LinkPassword = placeholder, placeholder
	return d
}

// Preview is everything that would be done until the distributor is configured, if every server answered, none had
// anything of it, each step went well and nothing else happened: what `kubectl geosql plan` prints. It is made by the
// stages of the plan itself, each looking at a world in which the steps before it were done.
func Preview(d Desired) []replication.Step {
	o := Observed{Servers: map[v1alpha1.ServerName]replication.Server{}}
	for _, name := range append([]v1alpha1.ServerName{d.System.Server}, d.Publishers...) {
		o.Servers[name] = replication.Server{State: &mssql.ReplicationServer{
			Sysadmin: true, LargestReplicated: tsql.MaxTextRepl, Linked: map[string]bool{},
			Databases: map[string]mssql.ReplicationDatabase{}}}
	}
	at := o.distributor(d)
	var steps []replication.Step
	for _, s := range []struct {
		plan   reconcile.Stage[Desired, Observed, replication.Plan]
		follow func()
	}{
		{planLogin, func() { at.LoginSID, at.PasswordRight = d.System.SID, true }},
		{planDistributor, func() { at.HasDistributor, at.Distributor = true, d.System.Host() }},
		{planDatabase, func() {
			at.Distribution = []mssql.DistributionDatabase{{Name: d.System.Database, Retention: d.System.Retention,
				HistoryRetention: d.System.HistoryRetention}}
		}},
		{planDatabase, func() { o.Owner = replication.Owner{User: d.System.Login, IsOwner: true} }},
		{planPublishers, func() {
			for _, p := range d.Publishers {
				at.Publishers = append(at.Publishers,
					mssql.DistributionPublisher{Name: credentials.HostName(p), Database: d.System.Database,
						Login: d.System.Login, WorkingDirectory: d.System.WorkingDirectory})
			}
		}},
		{planLinks, func() {}},
		{planLargeValues, func() {}},
	} {
		var p replication.Plan
		s.plan(d, o, &p)
		steps = append(steps, p.Steps...)
		s.follow()
	}
	return steps
}
