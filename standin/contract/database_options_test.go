// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestOptionsOfCreateDatabase goes by docs/t-sql/statements/create-database-transact-sql.md (WITH <option>,
// <attach_database_option>), create-master-key-transact-sql.md and docs/t-sql/language-elements/kill-transact-sql.md.
func TestOptionsOfCreateDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin := shared.open(t, "")
	name := uniqueName("d")
	mustExec(
		t,
		admin,
		"CREATE DATABASE "+name+" WITH TRUSTWORTHY ON, DB_CHAINING ON, CATALOG_COLLATION = DATABASE_DEFAULT",
	)
	t.Cleanup(func() { mustExec(t, admin, "DROP DATABASE "+name) })
	g.Expect(query(t, admin,
		"SELECT is_trustworthy_on, is_db_chaining_on, catalog_collation_type_desc FROM sys.databases "+
			"WHERE name = '"+name+"'")).
		To(Equal([][]any{{true, true, "DATABASE_DEFAULT"}}))
	for text, number := range map[string]int32{
		"CREATE DATABASE x WITH CATALOG_COLLATION = SQL_Latin1_General_CP1_CI_AS":               40517,
		"CREATE DATABASE x WITH CATALOG_COLLATION":                                              102,
		"CREATE DATABASE x WITH RECOVERY SIMPLE":                                                155,
		"CREATE DATABASE x WITH TRUSTWORTHY":                                                    102,
		"CREATE DATABASE x WITH NESTED_TRIGGERS = ON":                                           40517,
		"CREATE DATABASE x WITH DB_CHAINING ON, DB_CHAINING OFF":                                1039,
		"CREATE DATABASE x ON (FILENAME = '/x.mdf') FOR ATTACH WITH HURRY":                      155,
		"CREATE DATABASE x ON (FILENAME = '/x.mdf') FOR ATTACH WITH":                            102,
		"CREATE DATABASE x ON (FILENAME = '/x.mdf') FOR ATTACH WITH ERROR_BROKER_CONVERSATIONS": 40517,
		"CREATE MASTER KEY":            40517,
		"CREATE MASTER KEY ENCRYPTION": 102,
		"KILL -1":                      6101,
		"KILL - 2":                     6101,
		"KILL 0 WITH STATUSONLY":       6101,
		"KILL 32768":                   6101,
		"KILL -":                       102,
	} {
		g.Expect(failure(t, admin, text).Number).To(Equal(number), text)
	}
}

// TestRecordedOptionsAreShown: docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md; the
// defaults are those of docs/t-sql/statements/alter-database-transact-sql-set-options.md.
func TestRecordedOptionsAreShown(t *testing.T) {
	t.Parallel()
	const shown = "SELECT delayed_durability, delayed_durability_desc, is_accelerated_database_recovery_on, " +
		"target_recovery_time_in_seconds FROM sys.databases WHERE database_id = DB_ID()"
	converse(t, connection(t, newDatabase(t)), []say{
		{shown, "0 DISABLED false 60"},
		{"ALTER DATABASE CURRENT SET DELAYED_DURABILITY = ALLOWED", "ok"},
		{"ALTER DATABASE CURRENT SET TARGET_RECOVERY_TIME = 2 MINUTES", "ok"},
		{"ALTER DATABASE CURRENT SET ACCELERATED_DATABASE_RECOVERY = ON", "ok"},
		{shown, "1 ALLOWED true 120"},
		{"ALTER DATABASE CURRENT SET DELAYED_DURABILITY = DISABLED", "ok"},
		{shown, "0 DISABLED true 120"},
	})
}
