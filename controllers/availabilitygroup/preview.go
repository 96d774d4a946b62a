// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// previewIP stands for the ClusterIP of the listener's Service, which nobody knows before it is made.
const previewIP = "0.0.0.0"

// Preview is everything that would be done until a new group serves, if every server answered, none had anything of the
// group, each step went well and nothing else happened: what `kubectl geosql plan` prints. It is made by the stages of
// the plan itself, each looking at a world in which the steps before it were done. A certificate's bytes are
// placeholders.
func Preview(d Desired, now time.Time) []reconcile.Step {
	if !d.makesGroup(d.Group.Spec.InitialPrimary) {
		return nil // admission refuses it; a manifest that no hub was asked about may have it
	}
	o := Observed{Now: now, Instances: map[v1alpha1.ServerName]Instance{}, Agents: map[v1alpha1.ServerName]Orders{},
		Configuration: d.configuration(), ListenerIP: previewIP}
	for _, s := range d.servers() {
		o.Instances[s] = Instance{
			Logins: map[string]mssql.Login{},
			Mirroring: mssql.Mirroring{Certificates: map[string]mssql.Certificate{},
				Users: map[string]string{}, Connectors: map[string]bool{}, Databases: map[string]mssql.Database{}},
		}
	}
	for _, site := range d.voters() {
		o.Voters = append(o.Voters, Voter{Site: site, Err: votes.ErrAbsent})
	}
	var steps []reconcile.Step
	for _, s := range []struct {
		plan   reconcile.Stage[Desired, Observed, reconcile.Plan]
		follow func(Desired, *Observed)
	}{
		{planEndpoints, previewCertificates}, {planEndpoints, previewEndpoints}, {planPartners, nil},
		{planVotes, previewVotes},
		{planDatabases, previewDatabases}, {planCreate, previewGroup}, {planJoin, nil}, {planListener, nil},
		{planProperties, nil},
	} {
		var p reconcile.Plan
		s.plan(d, o, &p)
		steps = append(steps, p.All()...)
		if s.follow != nil {
			s.follow(d, &o)
		}
	}
	return steps
}

func previewInstances(d Desired, o *Observed, change func(v1alpha1.ServerName, *Instance)) {
	for _, s := range d.servers() {
		i := o.Instances[s]
		change(s, &i)
		o.Instances[s] = i
	}
}

func previewCertificates(d Desired, o *Observed) {
	previewInstances(d, o, func(s v1alpha1.ServerName, i *Instance) {
		name := certificateName(s, 1)
		i.Mirroring.MasterKey = true
		i.Mirroring.Certificates[name] = mssql.Certificate{Name: name, Expires: o.Now.Add(certificateLife), DER: []byte(name)}
	})
}

func previewEndpoints(d Desired, o *Observed) {
	previewInstances(d, o, func(s v1alpha1.ServerName, i *Instance) {
		i.Mirroring.Endpoint = &mssql.Endpoint{
			Name:        tsql.MirroringEndpoint,
			State:       "STARTED",
			Port:        MirroringPort,
			Certificate: certificateName(s, 1),
		}
	})
}

func previewVotes(d Desired, o *Observed) {
	first := host(d.Group.Spec.InitialPrimary)
	for i := range o.Voters {
		o.Voters[i] = Voter{Site: o.Voters[i].Site, Record: votes.Record{Term: 1, State: votes.StateClaimed,
			Holder: votes.Holder{Server: first}, InitialPrimary: first}}
	}
	for _, s := range d.servers() {
		o.Agents[s] = Orders{UpToDate: true}
	}
}

func previewDatabases(d Desired, o *Observed) {
	for _, declared := range d.Group.Spec.Databases {
		name := string(declared.Name)
		o.Instances[d.Group.Spec.InitialPrimary].Mirroring.Databases[name] = mssql.Database{
			Name:                  name,
			State:                 "ONLINE",
			RecoveryModel:         "FULL",
			LogChain:              true,
			Collation:             string(declared.Collation),
			CompatibilityLevel:    int(declared.CompatibilityLevel),
			ReadCommittedSnapshot: declared.ReadCommittedSnapshot != nil && *declared.ReadCommittedSnapshot,
		}
		if declared.Owner != "" {
			o.Instances[d.Group.Spec.InitialPrimary].Logins[declared.Owner] = mssql.Login{}
		}
	}
}

func previewGroup(d Desired, o *Observed) {
	group := &mssql.Group{
		Role:                            string(ballot.RolePrimary),
		RequiredSynchronizedSecondaries: d.required(),
		Databases:                       d.databases(),
	}
	for _, r := range d.Group.Spec.Replicas {
		group.Replicas = append(group.Replicas, mssql.GroupReplica{Server: host(r.Server)})
	}
	i := o.Instances[d.Group.Spec.InitialPrimary]
	i.Group = group
	o.Instances[d.Group.Spec.InitialPrimary] = i
}
