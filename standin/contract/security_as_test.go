// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestGrantAs: docs/t-sql/statements/grant-object-permissions-transact-sql.md, AS: the principal has to be there and to
// have the right to grant, and is the grantor.
func TestGrantAs(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int); CREATE USER u WITHOUT LOGIN; CREATE USER v WITHOUT LOGIN; CREATE ROLE givers", "ok"},
		{
			"GRANT SELECT ON t TO u AS nosuch",
			"!15151/16/1/1",
		}, {"DENY SELECT ON t TO u AS nosuch", "!15151/16/1/1"}, {"REVOKE SELECT ON t FROM u AS nosuch", "!15151/16/1/1"},
		{"GRANT SELECT ON t TO u AS v", "!4613/16/1/1"},
		{
			"GRANT SELECT ON t TO givers WITH GRANT OPTION; GRANT SELECT ON t TO u AS givers; GRANT INSERT ON t TO u AS dbo",
			"ok",
		},
		{
			"SELECT permission_name, USER_NAME(grantor_principal_id) FROM sys.database_permissions WHERE " +
				"grantee_principal_id = USER_ID('u') AND class = 1 ORDER BY 1",
			"INSERT dbo; SELECT givers",
		},
	})
}

// TestOptionsWithoutTheirValues: the options of the pages of CREATE and ALTER LOGIN, USER, CERTIFICATE, ENDPOINT and
// DATABASE need their =.
func TestOptionsWithoutTheirValues(t *testing.T) {
	t.Parallel()
	list := []say{}
	for _, text := range []string{"ALTER LOGIN sa WITH NAME", "ALTER LOGIN sa WITH DEFAULT_DATABASE master",
		"CREATE USER nobody WITHOUT LOGIN WITH DEFAULT_SCHEMA",
		"ALTER USER dbo WITH NAME x", "CREATE CERTIFICATE nothing WITH SUBJECT 'x'",
		"CREATE DATABASE nowhere ON (NAME x, FILENAME = 'y')",
		"CREATE DATABASE nowhere ON (NAME = x, FILENAME = 'y', SIZE 5)"} {
		list = append(list, say{text, "!102/15/1/1"})
	}
	list = append(list, say{"CREATE LOGIN nobody WITH PASSWORD = 'C0mplex!pw', CHECK_POLICY OFF", "!156/15/1/1"})
	converse(t, connection(t, newDatabase(t)), list)
}
