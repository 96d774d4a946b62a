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
func ReadSetUpLogin(ctx context.Context, q Querier, login, password string) (have *SetUpLogin, err error) {
	err = readSetUpLogin(login, password, &have).by(ctx, q)
	return have, err
}

func readSetUpLogin(login, password string, into **SetUpLogin) read {
	return read{tsql.SetUpLogin(login, password), func(r Row) error {
		var l SetUpLogin
		var seconds int64
		err := r.Scan(&l.SID, &l.PasswordRight, &l.Sysadmin, &seconds)
		l.Age, *into = time.Duration(seconds)*time.Second, &l
		return err
	}}
}

// ReadLogReadersAs reads how many log readers of a distributor connect there with a login.
func ReadLogReadersAs(ctx context.Context, q Querier, login string) (readers int, err error) {
	err = q.Query(ctx, tsql.LogReadersAs(login), func(r Row) error { return r.Scan(&readers) })
	return readers, err
}
