// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"bytes"
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// A subscriber that begins without a snapshot is set up by the log reader, which must be in sysadmin at the distributor
// for that (docs/relational-databases/replication/security/replication-agent-security-model.md). The agents' login
// never is: while there is something to set up, the log reader of that database connects to the distributor with a
// login of its own, which is in sysadmin and is there for that time only. The Publication makes it and gives it to the
// log reader; the Subscription registers once the log reader runs with it; the Distributor drops it when no log reader
// has it any more.

// sysadmin is the server role that may do everything.
const sysadmin = "sysadmin"

// SetsUp tells that a log reader's job can set subscribers up: it connects to the distributor with the login for that.
func (s *System) SetsUp(job *mssql.Job) bool {
	return job != nil && tsql.ConnectsToDistributorAs(job.Command, s.SetUpLogin)
}

// SetUpLogin makes the login with which a log reader sets subscribers up, or corrects it. It returns false, with the
// outcome set, when a login of that name has another SID.
func (p *Plan) SetUpLogin(s System, have *mssql.SetUpLogin) bool {
	login := tsql.Login{Name: s.SetUpLogin, SID: s.SetUpSID, Password: s.SetUpPassword}
	switch {
	case have == nil:
		p.Execute(s.Server, Master, tsql.CreateLogin(login), loginExists)
	case !bytes.Equal(have.SID, s.SetUpSID):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonLoginConflict, fmt.Sprintf(
			"login %s exists on server %s with another SID than %s: drop it there, it is made again",
			login.Name, credentials.HostName(s.Server), tsql.Binary(s.SetUpSID))))
	case !have.PasswordRight:
		p.Execute(s.Server, Master, tsql.AlterLoginPassword(login))
	}
	if have == nil || !have.Sysadmin {
		p.Execute(s.Server, Master, tsql.AddServerRoleMember(sysadmin, login.Name))
	}
	return true
}

// TakeSetUp has a log reader's job run without the right from its next start on, and stops it: a session has the rights
// with which it connected.
func (p *Plan) TakeSetUp(s System, name string, without tsql.Command, have *mssql.Job) {
	p.setCommand(s.Server, nameOf(have, name), without, have)
}

// NotRetained says how a deletion goes on that cannot end the right: a login in sysadmin is left to nobody.
func (s *System) NotRetained() string {
	return fmt.Sprintf("reclaimPolicy Retain does not leave login %s in sysadmin; %s", s.SetUpLogin,
		sites.GoneForGood(s.Server))
}
