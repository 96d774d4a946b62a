// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"time"

	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// previewVersion is the engine that a preview assumes where none has answered: SQL Server 2022.
const previewVersion = "16.0.0.0"

// Preview is everything that would be done until the server runs, if each step went well and nothing else happened:
// what `kubectl geosql plan` prints. It does nothing and makes no password or key; a secret in a step is a placeholder.
// The outcome is what stands in the way, or what the plan says now. With a zero Observed it is the preview of a new
// server; storage classes and nodes are looked at only when the observation has any.
func Preview(d Desired, o Observed) ([]reconcile.Step, conditions.Outcome) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if len(o.Clocks) == 0 {
		// Nothing is issued by it.
		o.Clocks = []Clock{{Of: theHub}}
	}
	d = chooseImage(d, o)
	offline := len(o.Cluster.Nodes) == 0 && len(o.Cluster.Classes) == 0
	first := plan(d, o)
	outcome := first.Outcome
	var steps []reconcile.Step
	take := func(s reconcile.Stage[Desired, Observed, reconcile.Plan]) bool {
		var p reconcile.Plan
		going := s(d, o, &p)
		steps = append(steps, p.All()...)
		if !going && len(p.Steps) == 0 {
			outcome = p.Outcome
			return false
		}
		return true
	}
	decision, placementErr := decide(d, o)
	if offline {
		decision, placementErr = previewDecision(d), nil
		outcome = inProgress("nothing was observed")
	}
	stages := []struct {
		plan   reconcile.Stage[Desired, Observed, reconcile.Plan]
		follow func(*Observed)
	}{
		{planSite, nil},
		{planPasswords, previewPasswords},
		{func(d Desired, o Observed, p *reconcile.Plan) bool {
			// Of a certificate that others issue nothing is known before it is.
			return planCertificate(d, o, p) || offline && d.issuer() != nil
		}, nil},
		{planVersion, nil},
		{func(d Desired, o Observed, p *reconcile.Plan) bool {
			return planVolumes(d, o, decision, placementErr, p)
		}, nil},
		{planNetwork, nil},
		{func(d Desired, o Observed, p *reconcile.Plan) bool { return planWorkload(d, o, decision, p) }, previewEngine},
		{planLogins, nil},
		{planTempDB, nil},
		{planDatabases, nil},
	}
	for _, s := range stages {
		if !take(s.plan) {
			return steps, outcome
		}
		if s.follow != nil {
			s.follow(&o)
		}
	}
	return steps, outcome
}

// previewDecision takes the classes as they are written.
func previewDecision(d Desired) placement.Decision {
	decision := placement.Decision{Claims: map[placement.Role]string{}}
	for _, v := range d.volumes() {
		decision.Claims[v.role] = v.class
	}
	return decision
}

// previewPasswords are never made: a plan that is printed has placeholders.
func previewPasswords(o *Observed) {
	if len(o.SitePasswords) > 0 {
		return
	}
	o.SitePasswords = credentials.Passwords{}
	for _, role := range credentials.Roles() {
		o.SitePasswords[role.Key()] = []byte("placeholder")
	}
}

// previewEngine is a new instance where none has answered.
func previewEngine(o *Observed) {
	if o.Engine.Asked && o.Engine.Err == nil {
		return
	}
	o.Engine = Engine{
		Asked:    true,
		Instance: mssql.Instance{ProductVersion: previewVersion},
		TempDB: []mssql.TempDBFile{
			{Name: "tempdev", Path: conf.DataDir + "/tempdb.mdf", Next: conf.DataDir + "/tempdb.mdf"},
			{Name: "templog", Log: true, Path: conf.DataDir + "/templog.ldf", Next: conf.DataDir + "/templog.ldf"},
		},
	}
}
