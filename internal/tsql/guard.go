// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// ReadOnlyTable is the number that a guard throws.
const ReadOnlyTable = 50002

// GuardPrefix begins the names of the triggers that guard the tables of a subscription, by the object's namespace and
// name.
func GuardPrefix(namespace, subscription string) string {
	return "geosql_read_only_" + short(namespace+"/"+subscription) + "_"
}

// GuardName is the name of the trigger on one table: triggers are named within their schema, as tables are.
func GuardName(prefix, schema, table string) string { return prefix + short(schema+"."+table) }

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// guardPatience is how long a change of a guard waits for its table.
const guardPatience = 2 * time.Second

// soon begins a batch that changes the schema of a table which others use. The lock that it takes (Sch-M) goes with no
// other, so it waits for whoever has read the table in a transaction, and all who come later wait behind it, the agent
// among them: without a bound, until the connection gives up. After it the engine refuses (1222), and nothing was done.
// The setting ends with the use of the connection, which is reset before the next. Sources:
// docs/t-sql/statements/set-lock-timeout-transact-sql.md,
// docs/relational-databases/sql-server-transaction-locking-and-row-versioning-guide.md (schema locks).
func (b *builder) soon() *builder {
	return b.sql("SET LOCK_TIMEOUT ", strconv.FormatInt(guardPatience.Milliseconds(), 10), ";\n")
}

// GuardTable refuses what writes a table of the current database and is no replication agent: a trigger NOT FOR
// REPLICATION is not executed when an agent modifies the table, and an error that it throws rolls back what the
// statement did, as XACT_ABORT is ON in a trigger. CREATE TRIGGER is the first statement of its batch (111), hence
// EXEC. Sources: docs/t-sql/statements/create-trigger-transact-sql.md, set-xact-abort-transact-sql.md,
// docs/t-sql/language-elements/execute-transact-sql.md,
// docs/relational-databases/replication/control-behavior-of-triggers-and-constraints-in-synchronization.md.
func GuardTable(guard, schema, table string) Statement {
	trigger := "CREATE OR ALTER TRIGGER " + Qualified(schema, guard) + " ON " + Qualified(schema, table) +
		" AFTER INSERT, UPDATE, DELETE NOT FOR REPLICATION AS THROW " + strconv.Itoa(ReadOnlyTable) + ", " +
		String("The table is a read-only copy: it is written at the publisher.") + ", 1;"
	return new(builder).soon().sql("EXEC (").str(trigger).sql(")").
		done("let nobody but replication write " + schema + "." + table)
}

// EnableGuard lets a guard that was disabled refuse again. Source: docs/t-sql/statements/enable-trigger-transact-sql.md.
func EnableGuard(guard, schema, table string) Statement {
	return new(builder).soon().sql("ENABLE TRIGGER ", Qualified(schema, guard), " ON ", Qualified(schema, table)).
		done("let nobody but replication write " + schema + "." + table + " again")
}

// DropGuard lets everybody write a table again whom its permissions let. Source:
// docs/t-sql/statements/drop-trigger-transact-sql.md.
func DropGuard(guard, schema string) Statement {
	return new(builder).soon().sql("DROP TRIGGER IF EXISTS ", Qualified(schema, guard)).
		done("drop the trigger " + schema + "." + guard)
}

// Guards reads the guards of the current database whose names begin so, each with its table, and whether it is
// disabled. Sources:
// docs/relational-databases/system-catalog-views/sys-triggers-transact-sql.md, sys-objects-transact-sql.md.
func Guards(prefix string) Statement {
	return new(builder).
		sql("SELECT t.name, s.name, o.name, t.is_disabled\nFROM sys.triggers AS t\n"+
			"JOIN sys.objects AS o ON o.object_id = t.parent_id\nJOIN sys.schemas AS s ON s.schema_id = o.schema_id\n"+
			"WHERE LEFT(t.name, LEN(@prefix)) = @prefix").
		arg("prefix", prefix).done("read which tables are guarded")
}
