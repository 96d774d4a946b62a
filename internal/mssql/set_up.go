// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"bytes"
	"context"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// SetUpLogin is the login with which log readers connect to the distributor while they set subscribers up, as it is
// there.
type SetUpLogin struct {
	SID []byte
	// PasswordRight tells that it has the password that was asked for, Sysadmin that it is in sysadmin.
	PasswordRight, Sysadmin bool
	// Age since it was made, by the server's clock, in whole seconds.
	Age time.Duration
}

// Is tells that it has a SID, the right password and the right itself.
func (l *SetUpLogin) Is(sid []byte) bool {
	return l != nil && bytes.Equal(l.SID, sid) && l.PasswordRight && l.Sysadmin
}

// ReadSetUpLogin reads the login; nil when there is none.
func ReadSetUpLogin(ctx context.Context, q Querier, login, password string) (*SetUpLogin, error) {
	var have *SetUpLogin
	err := q.Query(ctx, tsql.SetUpLogin(login, password), func(r Row) error {
		var l SetUpLogin
		var seconds int64
		err := r.Scan(&l.SID, &l.PasswordRight, &l.Sysadmin, &seconds)
		l.Age, have = time.Duration(seconds)*time.Second, &l
		return err
	})
	return have, err
}

// ReadPendingSetUps reads how much the log reader of a published database has still to set up, 0 when nothing.
func ReadPendingSetUps(ctx context.Context, q Querier, publisher, database string) (pending int, err error) {
	err = q.Query(ctx, tsql.PendingSetUps(publisher, database), func(r Row) error { return r.Scan(&pending) })
	return pending, err
}

// ReadLogReadersAs reads how many log readers of a distributor connect there with a login.
func ReadLogReadersAs(ctx context.Context, q Querier, login string) (readers int, err error) {
	err = q.Query(ctx, tsql.LogReadersAs(login), func(r Row) error { return r.Scan(&readers) })
	return readers, err
}
