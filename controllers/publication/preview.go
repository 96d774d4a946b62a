// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// Preview is everything that would be done until a new publication's first snapshot runs, if its distributor were
// configured, every server answered, every table were there, each step went well and nothing else happened: what
// `kubectl geosql plan` prints. primary is the publisher's server that takes writes. It is made by the stages of the
// plan itself, each looking at a world in which the steps before it were done. Of a table whose columns are chosen the
// first one is taken for its primary key. Nothing is planned when primary is none of the publisher's servers.
func Preview(d Desired, primary v1alpha1.ServerName, now time.Time) []replication.Step {
	o := previewWorld(d, primary, now)
	state := o.Servers[primary].State
	if state == nil {
		return nil
	}
	database := func(change func(*mssql.ReplicationDatabase)) {
		x := state.Databases[strings.ToLower(d.database())]
		change(&x)
		state.Databases[strings.ToLower(d.database())] = x
	}
	var steps []replication.Step
	for _, s := range []struct {
		plan   reconcile.Stage[Desired, Observed, replication.Plan]
		follow func()
	}{
		{planDatabase, func() {
			database(func(x *mssql.ReplicationDatabase) {
				x.Name, x.State, x.RecoveryModel, x.LogChain = d.database(), "ONLINE", "FULL", true
			})
		}},
		{planPublish, func() { database(func(x *mssql.ReplicationDatabase) { x.Published = true }) }},
		{planLogReader, func() {
			o.LogReaderJob = &mssql.Job{Enabled: true, Description: logReaderJob(d, o).Description}
			o.At.LogReader = &mssql.Agent{Job: logReaderJob(d, o).Name}
		}},
		{previewRun, func() {}},
		{planPublication, func() {
			o.Database.Publication = &mssql.Publication{Description: d.description(),
				Articles: map[string]mssql.PublishedArticle{}}
			o.At.Access = []string{d.System.Login}
		}},
		{planRedirection, func() {}},
		{planSnapshotAgent, func() {
			o.SnapshotJob = &mssql.Job{Enabled: true}
			o.At.Snapshot = &mssql.Agent{Job: snapshotJob(d, o).Name}
		}},
		{planTables, func() {}},
		{planArticles, func() {
			for _, a := range d.Publication.Spec.Articles {
				key := strings.ToLower(a.Table)
				// It may begin with more columns than these, which are taken away then: only the engine can say.
				o.Database.Publication.Articles[key] = mssql.PublishedArticle{Name: a.Table, Filter: a.Filter,
					Limited: len(a.Columns) == 0, Columns: o.Database.Tables[key].PrimaryKey,
					SchemaOption: tsql.SchemaOption(compressed(a), d.publishable())}
			}
		}},
		{planArticles, func() {}},
		{planSnapshot, func() {}},
	} {
		var p replication.Plan
		s.plan(d, o, &p)
		steps = append(steps, p.Steps...)
		s.follow()
	}
	return steps
}

// previewRun is the part of planLogReader that starts the job once it is there.
func previewRun(d Desired, o Observed, p *replication.Plan) bool {
	if d.scheduled() {
		return true
	}
	p.Run(d.System.Server, logReaderJob(d, o).Name, o.LogReaderJob)
	return true
}

// previewWorld has servers that answer, with a distributor, and a group with its database.
func previewWorld(d Desired, primary v1alpha1.ServerName, now time.Time) Observed {
	o := Observed{Now: now, Servers: map[v1alpha1.ServerName]replication.Server{}}
	for _, name := range d.Publisher.Servers {
		state := &mssql.ReplicationServer{Sysadmin: true, LoginSID: d.System.SID, PasswordRight: true, HasDistributor: true,
			Distributor: d.System.Host(), Databases: map[string]mssql.ReplicationDatabase{}}
		role := ""
		if d.Publisher.Group != "" {
			role = map[bool]string{true: "PRIMARY", false: "SECONDARY"}[name == primary]
			state.Databases[strings.ToLower(d.database())] = mssql.ReplicationDatabase{
				Name:          d.database(),
				State:         "ONLINE",
				RecoveryModel: "FULL",
				LogChain:      true,
			}
		}
		o.Servers[name] = replication.Server{State: state, Role: role}
	}
	o.Database.Tables, o.Database.Sizes = map[string]mssql.Table{}, map[string]mssql.TableSize{}
	for _, a := range d.Publication.Spec.Articles {
		schema, name := split(a.Table)
		key := []string{"?"}
		if len(a.Columns) > 0 {
			key = a.Columns[:1]
		}
		o.Database.Tables[strings.ToLower(a.Table)] = mssql.Table{
			Schema:      schema,
			Name:        name,
			PrimaryKey:  key,
			Compression: "NONE",
		}
		o.Database.Sizes[strings.ToLower(a.Table)] = mssql.TableSize{}
	}
	return o
}
