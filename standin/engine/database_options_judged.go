// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// optionGroups are options of which a database has one.
var optionGroups = [][]string{
	{"ONLINE", "OFFLINE", "EMERGENCY"},
	{"READ_ONLY", "READ_WRITE"},
	{"SINGLE_USER", "RESTRICTED_USER", "MULTI_USER"},
	{"ENABLE_BROKER", "DISABLE_BROKER", "NEW_BROKER"},
	{"PAGE_VERIFY", "TORN_PAGE_DETECTION"},
}

// stateGroups is how many of these are a database's state.
const stateGroups = 3

// fixedOptions are those that cannot be changed in system databases, by their database_id
// (docs/relational-databases/databases, the table of options on the page of each).
var fixedOptions = map[int32]string{
	1: " ALLOW_SNAPSHOT_ISOLATION AUTO_CLOSE AUTO_SHRINK OFFLINE EMERGENCY ONLINE SINGLE_USER RESTRICTED_USER " +
		"MULTI_USER READ_ONLY READ_WRITE DB_CHAINING MIXED_PAGE_ALLOCATION READ_COMMITTED_SNAPSHOT " +
		"ENABLE_BROKER DISABLE_BROKER NEW_BROKER ",
	2: " AUTO_CLOSE AUTO_SHRINK OFFLINE EMERGENCY ONLINE SINGLE_USER RESTRICTED_USER MULTI_USER READ_ONLY READ_WRITE " +
		"DB_CHAINING MIXED_PAGE_ALLOCATION READ_COMMITTED_SNAPSHOT RECOVERY TRUSTWORTHY ",
	3: " OFFLINE EMERGENCY ONLINE DB_CHAINING MIXED_PAGE_ALLOCATION ENABLE_BROKER DISABLE_BROKER NEW_BROKER TRUSTWORTHY ",
	4: " ALLOW_SNAPSHOT_ISOLATION OFFLINE EMERGENCY ONLINE MIXED_PAGE_ALLOCATION READ_COMMITTED_SNAPSHOT ",
}

// together judges whether the options of a statement go together
// (docs/t-sql/statements/alter-database-transact-sql-set-options.md, the table of categories).
func together(db *Database, a syntax.DBSet) error {
	given := map[string]bool{}
	for _, o := range a.Options {
		given[o.Name] = true
	}
	for at, group := range optionGroups {
		first := ""
		for _, o := range a.Options {
			switch within := slices.Contains(group, o.Name); {
			case within && first != "":
				return sqlerr.New(5062, 1, o.Name)
			case within && at < stateGroups && given["QUERY_STORE"]:
				return sqlerr.New(12418, 1)
			case within:
				first = o.Name
			}
		}
	}
	terminated := a.NoWait || a.RollbackImmediate || a.RollbackAfter > 0
	switch {
	case (given["ALLOW_SNAPSHOT_ISOLATION"] || given["READ_COMMITTED_SNAPSHOT"]) && len(a.Options) > 1:
		return sqlerr.New(5082, 1, db.Name())
	case given["ALLOW_SNAPSHOT_ISOLATION"] && terminated:
		return sqlerr.New(5083, 1)
	}
	return nil
}

// settable judges an option by itself.
func settable(db *Database, o syntax.DatabaseOption) error {
	if strings.Contains(fixedOptions[db.ID()], " "+o.Name+" ") {
		return sqlerr.New(5058, 1, o.Name, db.Name())
	}
	switch o.Name {
	case "ENCRYPTION":
		if db.System() {
			return sqlerr.New(33102, 1)
		}
		return sqlerr.New(33106, 1) // no database has a key
	case "EMERGENCY":
		return unsupported("SET EMERGENCY")
	case "QUERY_STORE":
		return settableStore(db, o)
	case "TARGET_RECOVERY_TIME":
		if n, err := strconv.ParseInt(o.Value, 10, 64); err != nil || n > math.MaxInt32 {
			return sqlerr.New(5005, 1, o.Value, math.MaxInt32)
		}
	case "COMPATIBILITY_LEVEL":
		if level, err := strconv.Atoi(o.Value); err != nil || level < 100 || level > 160 || level%10 != 0 {
			return sqlerr.New(15048, 1, "100, 110, 120, 130, 140, 150, 160")
		}
	case "RECOVERY",
		"READ_ONLY",
		"READ_WRITE",
		"SINGLE_USER",
		"RESTRICTED_USER",
		"MULTI_USER",
		"OFFLINE",
		"ONLINE",
		"ALLOW_SNAPSHOT_ISOLATION",
		"READ_COMMITTED_SNAPSHOT",
		"NEW_BROKER",
		"TORN_PAGE_DETECTION":
	default:
		if !recordedOptions[o.Name] {
			return unsupported("The database option " + o.Name)
		}
	}
	return nil
}
