// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// Sizes of tempdb's data files in MB, those of a new instance; files of equal size are filled evenly.
const (
	tempDBSizeMB   = 8
	tempDBGrowthMB = 64
)

// planEngine waits for the engine to answer and checks that it is the one that is meant.
func planEngine(d Desired, o Observed, p *reconcile.Plan) bool {
	engine := o.Engine
	switch {
	case !engine.Asked:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonPodPending, "the pod starts"))
	case mssql.Shut(engine.Err, credentials.RoleSA.Login()) != "" && !mssql.PasswordRefused(engine.Err):
		return p.Settle(
			conditions.Stalled(v1alpha1.ReasonLoginFailed, fmt.Sprintf(
				"the engine lets the operator in neither as %s (%v) nor as sa: %s",
				credentials.RoleOperator.Login(),
				engine.Refused[credentials.RoleOperator],
				mssql.Shut(engine.Err, credentials.RoleSA.Login()),
			)),
		)
	case mssql.Is(engine.Err, mssql.LoginFailed):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonLoginFailed, fmt.Sprintf(
			"the engine takes neither the password of %s nor that of sa in Secret %s: %v; put the right %s into the Secret "+
				"at site %s",
			credentials.RoleOperator.Login(),
			credentials.PasswordsName(d.name()),
			engine.Err,
			credentials.KeySA,
			d.Server.Spec.Site,
		)))
	case mssql.Is(engine.Err, mssql.Unknown):
		return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, engine.Err.Error()))
	case engine.Err != nil:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonEngineNotAnswering, engine.Err.Error()))
	}
	for _, name := range []string{engine.Instance.ServerName, engine.Instance.NetworkName} {
		if !strings.EqualFold(name, d.host()) {
			return p.Settle(conditions.Stalled(v1alpha1.ReasonServerNameMismatch, fmt.Sprintf(
				"the instance calls itself %s (@@SERVERNAME %s, SERVERPROPERTY('ServerName') %s) instead of %s: its volumes are "+
					"of another server; correct the name with sp_dropserver and sp_addserver and restart it",
				name,
				engine.Instance.ServerName,
				engine.Instance.NetworkName,
				d.host(),
			)))
		}
	}
	return true
}

// planAdministrator gives the engine a sa password that was changed in the Secret. Only sa itself can do that, with the
// password that the engine has; so all that it may have are kept until it is seen to take the new one.
func planAdministrator(_ Desired, o Observed, p *reconcile.Plan) bool {
	changing := slices.ContainsFunc(credentials.FormerAdministrators(),
		func(role credentials.Role) bool { return o.HubPasswords.Of(role) != "" })
	if !changing {
		return true
	}
	if o.Engine.takes(credentials.RoleSA) {
		p.Add(ForgetPreviousSA{})
		return p.Settle(inProgress("the engine takes the new sa password"))
	}
	if has := o.formerAdministrator(); has != "" {
		present := tsql.AlterLoginPassword(tsql.Login{
			Name: credentials.RoleSA.Login(), Password: o.HubPasswords.Of(credentials.RoleSA)})
		p.Add(mssql.Execute{Role: has, Database: "master", Statement: present})
		return p.Settle(inProgress("the sa password is being changed"))
	}
	return true
}

// administered settles steps that are executed as sa. It stops them when the engine does not let sa in.
func administered(d Desired, o Observed, p *reconcile.Plan, message string) bool {
	if why := administrator(d, o); why != "" {
		p.Steps = nil
		return p.Settle(conditions.Stalled(v1alpha1.ReasonLoginFailed, message+", and that takes sa: "+why))
	}
	return p.Settle(inProgress(message))
}

// planTempDB moves tempdb to its own volume and adds data files. What is moved takes effect with the next start of the
// engine, which happens at once when the server is in no group. Nothing depends on it: where the engine refuses it, or
// sa, all else goes on, and it is tried again beside that (TempDBArranged).
func planTempDB(d Desired, o Observed, p *reconcile.Plan) bool {
	steps := tempDBSteps(d, o)
	switch {
	case len(steps) == 0 || administrator(d, o) != "":
	case d.TempDBRefused:
		for _, s := range steps {
			p.Beside(s, "")
		}
	default:
		for _, s := range steps {
			p.Add(s)
		}
		return p.Settle(inProgress("the files of tempdb are being arranged"))
	}
	moved := tempDBMoves(o)
	if moved == "" || o.Pod == nil {
		return true
	}
	once := hashOf(o.Engine.TempDB)
	if o.StatefulSet.Annotations[annotationRestarted] == once {
		// It did not help; again and again would not either.
		waitFor(p, moved+" with the next start of the engine")
		return true
	}
	step := restartOf(o.Pod, moved)
	step.Once = once
	return replace(d, o, p, step)
}

// tempDBSteps say where the files of tempdb are to be, and add those that are missing.
func tempDBSteps(d Desired, o Observed) []ArrangeTempDB {
	var steps []ArrangeTempDB
	add := func(s tsql.Statement) {
		steps = append(steps, ArrangeTempDB{mssql.Execute{Role: credentials.RoleSA, Database: "master", Statement: s}})
	}
	data := 0
	for _, f := range o.Engine.TempDB {
		if !f.Log {
			data++
		}
		if path.Dir(f.Next) != conf.TempDBDir {
			add(tsql.MoveTempDBFile(f.Name, conf.TempDBDir+"/"+path.Base(f.Next)))
		}
	}
	for n := data + 1; data > 0 && n <= d.tempDBFiles(); n++ {
		name := "temp" + strconv.Itoa(n)
		add(tsql.AddTempDBFile(name, conf.TempDBDir+"/tempdb_mssql_"+strconv.Itoa(n)+".ndf", tempDBSizeMB, tempDBGrowthMB))
	}
	return steps
}

// tempDBIsNew tells that an engine answers and has tempdb where it makes it at its first start. Where tempdb is to be
// can be said by a statement alone, not in mssql.conf or the pod: it takes effect with the next start.
func tempDBIsNew(o Observed) bool {
	return o.Engine.Asked && o.Engine.Err == nil && slices.ContainsFunc(o.Engine.TempDB,
		func(f mssql.TempDBFile) bool { return path.Dir(f.Next) != conf.TempDBDir })
}

// tempDBMoves says that a file of tempdb will be on its volume with the engine's next start; empty when none will.
func tempDBMoves(o Observed) string {
	for _, f := range o.Engine.TempDB {
		if path.Dir(f.Next) == conf.TempDBDir && f.Path != f.Next {
			return "tempdb moves to its volume"
		}
	}
	return ""
}
