// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

// TestUsersOfLoginsInAllDatabases: docs/relational-databases/system-stored-procedures/sp-helplogins-transact-sql.md
// (Remarks: all databases are looked at), and sp_MSloginmappings, by which HashiCorp Vault finds what to drop before a
// login.
func TestUsersOfLoginsInAllDatabases(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	i.newDatabase(t, "one")
	i.newDatabase(t, "two's")
	admin := connection(t, i.open(t, "master"))
	converse(t, admin, []say{
		{"CREATE LOGIN mapped WITH PASSWORD = 'C0ntract-Suite'; CREATE LOGIN bare WITH PASSWORD = 'C0ntract-Suite'", "ok"},
		{
			"USE one; CREATE USER [in one] FOR LOGIN mapped; ALTER ROLE db_datareader ADD MEMBER [in one]; ALTER ROLE " +
				"db_datawriter ADD MEMBER [in one]",
			"ok",
		},
		{"USE [two's]; CREATE USER mapped FOR LOGIN mapped; USE master", "ok"},
		{"EXEC master.dbo.sp_msloginmappings 'mapped'", "mapped one in one NULL; mapped two's mapped NULL"},
		{"EXEC sp_MSloginmappings @loginname = N'bare'", "bare NULL NULL NULL"},
		{"EXEC sp_MSloginmappings 'mapped', 1", "mapped NULL NULL NULL"},
		{"EXEC one.dbo.sp_MSloginmappings 'mapped', 1", "mapped one in one NULL"},
		{"EXEC sp_MSloginmappings 'nobody'", ""},
		{
			"CREATE TABLE #all (l nvarchar(128), d nvarchar(128), u nvarchar(128), a nvarchar(128)); INSERT #all EXEC " +
				"master..sp_msloginmappings",
			"ok",
		},
		{
			"SELECT l, d, u FROM #all WHERE l IN ('mapped', 'bare') OR l = 'sa' AND d IN ('master', 'one') ORDER BY l, d",
			"bare NULL NULL; mapped one in one; mapped two's mapped; sa master dbo; sa one dbo",
		},
		{"SELECT COUNT(*) FROM #all WHERE l IS NULL", "0"},
	})
	rows, err := admin.QueryContext(context.Background(), "EXEC sp_helplogins 'mapped'")
	g.Expect(err).NotTo(HaveOccurred())
	defer rows.Close()
	var login, defaults, language, user, remote string
	var sid []byte
	for rows.Next() {
		g.Expect(rows.Scan(&login, &sid, &defaults, &language, &user, &remote)).To(Succeed())
	}
	g.Expect([]string{login, defaults, language, user, remote}).
		To(Equal([]string{"mapped", "master", "us_english", "YES  ", "NO     "}))
	g.Expect(rows.NextResultSet()).To(BeTrue())
	var mapped [][3]string
	for rows.Next() {
		var m [3]string
		g.Expect(rows.Scan(&login, &m[0], &m[1], &m[2])).To(Succeed())
		mapped = append(mapped, m)
	}
	g.Expect(rows.Err()).NotTo(HaveOccurred())
	g.Expect(mapped).
		To(Equal([][3]string{{"one", "in one", "User    "}, {"one", "db_datareader", "MemberOf"},
			{"one", "db_datawriter", "MemberOf"}, {"two's", "mapped", "User    "}}))
}

// TestUsersOfLoginsWhileDatabasesAreDropped: a database that is gone when it is looked at has no users.
func TestUsersOfLoginsWhileDatabasesAreDropped(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	admin, other := connection(t, i.open(t, "master")), connection(t, i.open(t, "master"))
	mustExec(t, other, "CREATE LOGIN mapped WITH PASSWORD = 'C0ntract-Suite'")
	dropped := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < 40 && err == nil; n++ {
			_, err = admin.ExecContext(context.Background(), "CREATE DATABASE gone; DROP DATABASE gone")
		}
		dropped <- err
	}()
	for {
		select {
		case err := <-dropped:
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			return
		default:
			mustExec(t, other, "EXEC sp_helplogins; EXEC sp_MSloginmappings 'mapped'")
		}
	}
}
