// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// viewsOfDatabases are catalog and compatibility views with rows of the database that they are of.
const viewsOfDatabases = `all_columns all_objects all_parameters all_sql_modules all_views assembly_types certificates check_constraints column_type_usages columns computed_columns
	database_files database_permissions database_principals database_role_members data_spaces default_constraints extended_properties filegroups foreign_key_columns foreign_keys
	identity_columns index_columns indexes key_constraints key_encryptions objects parameters partition_functions partition_parameters partition_range_values partition_schemes partitions
	procedures schemas sequences sql_dependencies sql_expression_dependencies sql_modules stats stats_columns symmetric_keys synonyms sysconstraints sysdepends sysindexes sysmembers
	sysobjects sysprotects sysusers table_types tables trigger_events triggers types views`

// inOrder are rows as texts, sorted: the order of a view is none.
func inOrder(rows [][]any) []string {
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = fmt.Sprint(row...)
	}
	slices.Sort(texts)
	return texts
}

// TestCatalogViewsOfAnotherDatabase: [database].sys.view has the rows of that database, whichever is the current one:
// its users and their roles and permissions, its certificates and keys, what its modules refer to
// (docs/relational-databases/system-catalog-views/catalog-views-transact-sql.md).
func TestCatalogViewsOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	there := connection(t, i.newDatabase(t, "there"))
	for _, statement := range []string{
		"CREATE SCHEMA s",
		"CREATE TABLE s.t (a int IDENTITY PRIMARY KEY, b nvarchar(10) UNIQUE DEFAULT 'x', c AS a * 2, d int CHECK (d > 0) " +
			"REFERENCES s.t (a))",
		"CREATE INDEX ix ON s.t (d) INCLUDE (b) WHERE d > 3; CREATE STATISTICS st ON s.t (d, b)",
		"CREATE VIEW v AS SELECT a FROM s.t", "CREATE PROCEDURE p @x int = 3 AS SELECT a FROM s.t WHERE a = @x",
		"CREATE TYPE word FROM nvarchar(9); CREATE TYPE list AS TABLE (a int PRIMARY KEY); CREATE SEQUENCE q; CREATE " +
			"SYNONYM y FOR s.t", "CREATE TRIGGER tr ON s.t AFTER INSERT AS RETURN",
		"CREATE USER u WITHOUT LOGIN; CREATE ROLE r; ALTER ROLE r ADD MEMBER u; GRANT SELECT ON s.t TO r",
		"CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'C0ntract-Suite'; CREATE CERTIFICATE c WITH SUBJECT = 'x'",
		"EXEC sp_addextendedproperty 'p', 'v', 'SCHEMA', 's'",
		"CREATE PARTITION FUNCTION pf (int) AS RANGE LEFT FOR VALUES (1, 2)",
		"CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
	} {
		mustExec(t, there, statement)
	}
	here := connection(t, i.open(t, "master"))
	for _, view := range strings.Fields(viewsOfDatabases) {
		g.Expect(inOrder(query(t, here, "SELECT * FROM there.sys."+view))).
			To(Equal(inOrder(query(t, there, "SELECT * FROM sys."+view))), view)
	}
	converse(t, here, []say{
		{"SELECT name FROM there.sys.database_principals WHERE name IN ('u', 'r') ORDER BY name", "r; u"},
		{
			"SELECT OBJECT_NAME(referencing_id, DB_ID('there')), referenced_entity_name FROM " +
				"there.sys.sql_expression_dependencies WHERE referenced_id IS NOT NULL ORDER BY 1",
			"p t; v t",
		},
	})
}
