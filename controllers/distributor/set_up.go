// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"bytes"
	"context"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
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
// one that is gone or has moved, which would look no more.
func planSetUp(d Desired, o Observed, p *replication.Plan) bool {
	if s, err := o.SetUp.Get(); err != nil || s.Login == nil || s.Readers > 0 || s.Login.Age < setUpRests {
		return true
	}
	endSetUp(d, o, p)
	return p.Proceed("login %s, which was in sysadmin on %s, is being dropped: no log reader sets subscribers up any more",
		d.System.SetUpLogin, d.System.Host())
}

// endSetUp ends the sessions of the login and drops it. One of the name with another SID is somebody else's.
func endSetUp(d Desired, o Observed, p *replication.Plan) {
	s, err := o.SetUp.Get()
	if s.Login == nil || !bytes.Equal(s.Login.SID, d.System.SetUpSID) {
		return
	}
	unused := reconcile.Seen("no log reader connects with the login", err)
	for _, id := range s.Sessions {
		p.Destroy(unused, mssql.EndLoginSession(d.System.Server, d.System.SetUpLogin, id))
	}
	p.Destroy(unused, replication.Execute{Server: d.System.Server, Database: replication.Master,
		Statement: tsql.DropLogin(d.System.SetUpLogin)})
}
