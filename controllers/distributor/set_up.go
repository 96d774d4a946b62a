// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// SetUp is the login with which log readers set up subscribers that begin without a snapshot, in sysadmin.
type SetUp struct {
	// Login is nil while there is none; the rest is read where there is one.
	Login *mssql.SetUpLogin
	// Readers is how many log readers connect with it, Sessions are its sessions.
	Readers  int
	Sessions []int
}

// setUpRests is how long the login is left alone after it was made: a Publication makes it before it gives it to its
// log reader.
const setUpRests = 20 * time.Second

func observeSetUp(ctx context.Context, engines replication.Engines, d Desired) (SetUp, error) {
	var s SetUp
	err := engines.Read(ctx, d.System.Server, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		s.Login, err = mssql.ReadSetUpLogin(ctx, db, d.System.SetUpLogin, d.System.SetUpPassword)
		if err != nil || s.Login == nil {
			return err
		}
		if s.Readers, err = mssql.ReadLogReadersAs(ctx, db, d.System.SetUpLogin); err != nil {
			return err
		}
		s.Sessions, err = mssql.ReadSessions(ctx, db, tsql.LoginSessions(d.System.SetUpLogin))
		return err
	})
	return s, err
}

// planSetUp drops the login once no log reader has it: whoever had it is a Publication whose subscribers are set up, or
// one that is gone or has moved, which would look no more. It comes before everything that may wait for something else.
func planSetUp(d Desired, o Observed, p *replication.Plan) bool {
	s, err := o.SetUp.Get()
	_, answers := replication.Usable(d.System.Server, o.Servers[d.System.Server])
	if err != nil || !answers || s.Login == nil || s.Readers > 0 || s.Login.Age < setUpRests {
		return true
	}
	endSetUp(d, o, "no log reader connects with the login", p)
	return p.Proceed("login %s, which was in sysadmin on %s, is being dropped: no log reader sets subscribers up any more",
		d.System.SetUpLogin, d.System.Host())
}

// planYield is the plan of a suspended Distributor: a login in sysadmin does not outlast its use.
func planYield(d Desired, o Observed) reconcile.Plan {
	var p replication.Plan
	planSetUp(d, o, &p)
	return p.Plan
}

// planRetained drops the login of a Distributor that keeps everything else; false while that has to wait. Publications
// take it from their log readers when they see that their Distributor is being deleted. Each is stopped for that and
// started again, and its Publication's record is there until it runs.
func planRetained(d Desired, o Observed, p *replication.Plan) bool {
	server := d.System.Server
	why := o.gone(d, server)
	outcome, answers := replication.Usable(server, o.Servers[server])
	s, err := o.SetUp.Get()
	switch {
	case !answers && why == "" && len(d.Raised) > 0:
		outcome.Message = fmt.Sprintf("log readers of Publications %s may have login %s, in sysadmin: %s",
			strings.Join(d.Raised, ", "), d.System.SetUpLogin, outcome.Message)
		return p.Await(outcome, d.System.NotRetained())
	case !answers && len(d.Raised) > 0:
		p.Leave("on %s login %s, in sysadmin, which log readers of Publications %s may have (%s)", d.System.Host(),
			d.System.SetUpLogin, strings.Join(d.Raised, ", "), why)
		return true
	case !answers:
		return true
	case err != nil:
		return p.Await(replication.Unanswered(err, ""), d.System.NotRetained())
	case s.Login != nil && s.Readers > 0:
		return p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, fmt.Sprintf(
			"%d log readers have login %s, in sysadmin on %s, and give it back first", s.Readers, d.System.SetUpLogin,
			d.System.Host())), "where one does not, disable its job there; "+d.System.NotRetained())
	}
	endSetUp(d, o, "no log reader connects with the login", p)
	if len(d.Raised) > 0 {
		// One that was stopped to take it back is started by its Publication, which finds it by this object.
		return p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, fmt.Sprintf(
			"log readers of Publications %s, which had login %s or were to have it, run on without it first",
			strings.Join(d.Raised, ", "), d.System.SetUpLogin)), fmt.Sprintf("where one does not, see to its job on %s, then "+
			"delete its Publication, with reclaimPolicy Retain; ", d.System.Host())+d.System.NotRetained())
	}
	if len(p.Steps) > 0 {
		p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, "login "+d.System.SetUpLogin+" is being dropped"))
	}
	return true
}

// endSetUp ends the sessions of the login and drops it; why says what makes that safe. One of the name with another SID
// is somebody else's.
func endSetUp(d Desired, o Observed, why string, p *replication.Plan) {
	s, err := o.SetUp.Get()
	if s.Login == nil || !bytes.Equal(s.Login.SID, d.System.SetUpSID) {
		return
	}
	unused := reconcile.Seen(why, err)
	for _, id := range s.Sessions {
		p.Destroy(unused, mssql.EndLoginSession(d.System.Server, d.System.SetUpLogin, id))
	}
	p.Destroy(unused, replication.Execute{Server: d.System.Server, Database: replication.Master,
		Statement: tsql.DropLogin(d.System.SetUpLogin)})
}
