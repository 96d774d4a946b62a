// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"math"
	"strconv"

	"geosql.dev/standin/syntax/token"
)

// flagOptions are the options of ALTER DATABASE ... SET without a value.
var flagOptions = []string{
	"ONLINE",
	"OFFLINE",
	"EMERGENCY",
	"READ_ONLY",
	"READ_WRITE",
	"SINGLE_USER",
	"RESTRICTED_USER",
	"MULTI_USER",
	"ENABLE_BROKER",
	"DISABLE_BROKER",
	"NEW_BROKER",
}

// switchOptions are those with ON or OFF, which only what is among equalled has a = before
// (docs/t-sql/statements/alter-database-transact-sql-set-options.md).
var switchOptions = []string{"AUTO_CLOSE", "AUTO_CREATE_STATISTICS", "AUTO_SHRINK", "AUTO_UPDATE_STATISTICS",
	"AUTO_UPDATE_STATISTICS_ASYNC", "CURSOR_CLOSE_ON_COMMIT", "DATE_CORRELATION_OPTIMIZATION", "DB_CHAINING",
	"TRUSTWORTHY",
	"ALLOW_SNAPSHOT_ISOLATION", "READ_COMMITTED_SNAPSHOT", "ANSI_NULL_DEFAULT", "ANSI_NULLS", "ANSI_PADDING",
	"ANSI_WARNINGS",
	"ARITHABORT", "CONCAT_NULL_YIELDS_NULL", "QUOTED_IDENTIFIER", "NUMERIC_ROUNDABORT", "RECURSIVE_TRIGGERS",
	"HONOR_BROKER_PRIORITY", "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT", "MIXED_PAGE_ALLOCATION",
	"ACCELERATED_DATABASE_RECOVERY", "TEMPORAL_HISTORY_RETENTION", "TORN_PAGE_DETECTION"}

// wordOptions are those with one of some words.
var wordOptions = map[string][]string{
	"RECOVERY":           {"FULL", "BULK_LOGGED", "SIMPLE"},
	"PAGE_VERIFY":        {"CHECKSUM", "TORN_PAGE_DETECTION", "NONE"},
	"PARAMETERIZATION":   {"SIMPLE", "FORCED"},
	"CURSOR_DEFAULT":     {"LOCAL", "GLOBAL"},
	"DELAYED_DURABILITY": {"DISABLED", "ALLOWED", "FORCED"},
	"ENCRYPTION":         {"ON", "OFF", "SUSPEND", "RESUME"},
}

// equalled are the options that the page has with a = before their value.
var equalled = token.Words("ACCELERATED_DATABASE_RECOVERY DELAYED_DURABILITY MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT")

// refusedOptions are the others of the page: what they are about does not exist here.
var refusedOptions = token.Words(
	`AUTOMATIC_TUNING CHANGE_TRACKING DATA_RETENTION DEFAULT_FULLTEXT_LANGUAGE DEFAULT_LANGUAGE ERROR_BROKER_CONVERSATIONS FILESTREAM LEDGER
	NESTED_TRIGGERS PARTNER PERSISTENT_LOG_BUFFER REMOTE_DATA_ARCHIVE SUSPEND_FOR_SNAPSHOT_BACKUP TRANSFORM_NOISE_WORDS
	TWO_DIGIT_YEAR_CUTOFF WITNESS`,
)

func (p *parser) databaseOptions() []DatabaseOption { return p.optionList(p.databaseOption) }

func (p *parser) optionList(option func() DatabaseOption) []DatabaseOption {
	var all []DatabaseOption
	seen := map[string]bool{}
	for {
		o := option()
		if seen[o.Name] && o.Name == "QUERY_STORE" {
			p.refuseWith(12417)
		}
		p.once(seen, o.Name)
		all = append(all, o)
		if !p.accept(",") {
			return all
		}
	}
}

// createOption is an option of CREATE DATABASE (docs/t-sql/statements/create-database-transact-sql.md, WITH <option>).
func (p *parser) createOption() DatabaseOption {
	for _, name := range []string{"DB_CHAINING", "TRUSTWORTHY"} {
		if p.accept(name) {
			p.accept("=")
			return DatabaseOption{Name: name, Value: p.oneOf("ON", "OFF")}
		}
	}
	if p.accept("CATALOG_COLLATION") {
		p.expect("=")
		if collation := p.name(); token.Upper(collation) != "DATABASE_DEFAULT" {
			p.unsupported("CATALOG_COLLATION = " + collation)
		}
		return DatabaseOption{Name: "CATALOG_COLLATION", Value: "DATABASE_DEFAULT"}
	}
	if p.accept("LEDGER", "=") {
		return p.neverOn("LEDGER", "OFF", "ON")
	}
	if refusedOptions[p.peek().Fold] {
		p.unsupported("The database option " + p.peek().Fold)
	}
	p.unknownOption("CREATE DATABASE")
	return DatabaseOption{}
}

// neverOn is an option that says that something is off which does not exist here; its other values are refused.
func (p *parser) neverOn(name, off string, others ...string) DatabaseOption {
	value := p.oneOf(append(others, off)...)
	if value != off {
		p.unsupported("The database option " + name + " = " + value)
	}
	return DatabaseOption{Name: name, Value: value}
}

// attachOption is an option of FOR ATTACH (docs/t-sql/statements/create-database-transact-sql.md,
// <attach_database_option>).
func (p *parser) attachOption() DatabaseOption {
	for _, name := range []string{"RESTRICTED_USER", "ENABLE_BROKER", "NEW_BROKER"} {
		if p.accept(name) {
			return DatabaseOption{Name: name}
		}
	}
	if p.is("ERROR_BROKER_CONVERSATIONS") || p.is("FILESTREAM") {
		p.unsupported("The option " + p.peek().Fold + " of FOR ATTACH")
	}
	p.unknownOption("CREATE DATABASE")
	return DatabaseOption{}
}

func (p *parser) databaseOption() DatabaseOption {
	for _, name := range flagOptions {
		if p.accept(name) {
			return DatabaseOption{Name: name}
		}
	}
	for _, name := range switchOptions {
		if p.accept(name) {
			return p.switchOption(name)
		}
	}
	for name, values := range wordOptions {
		if p.accept(name) {
			if equalled[name] {
				p.expect("=")
			}
			return DatabaseOption{Name: name, Value: p.oneOf(values...)}
		}
	}
	return p.otherOption()
}

func (p *parser) switchOption(name string) DatabaseOption {
	if equalled[name] {
		p.expect("=")
	}
	o := DatabaseOption{Name: name, Value: p.oneOf("ON", "OFF")}
	switch {
	case name == "AUTO_CREATE_STATISTICS" && o.Value == "ON" && p.accept("("):
		p.expect("INCREMENTAL", "=")
		p.neverOn("INCREMENTAL", "OFF", "ON")
		p.expect(")")
	case name == "ACCELERATED_DATABASE_RECOVERY" && o.Value == "ON" && p.is("("):
		p.unsupported("PERSISTENT_VERSION_STORE_FILEGROUP")
	}
	return o
}

// otherOption is an option that has a form of its own.
func (p *parser) otherOption() DatabaseOption {
	switch {
	case p.accept("QUERY_STORE"):
		return p.queryStore()
	case p.accept("CONTAINMENT"):
		p.expect("=")
		return p.neverOn("CONTAINMENT", "NONE", "PARTIAL")
	case p.accept("COMPATIBILITY_LEVEL"):
		p.expect("=")
		return DatabaseOption{Name: "COMPATIBILITY_LEVEL", Value: strconv.FormatInt(p.integer(), 10)}
	case p.accept("TARGET_RECOVERY_TIME"):
		p.expect("=")
		n := p.integer()
		if p.oneOf("SECONDS", "MINUTES") == "MINUTES" && n < math.MaxInt32 {
			n *= 60
		}
		return DatabaseOption{Name: "TARGET_RECOVERY_TIME", Value: strconv.FormatInt(n, 10)}
	case p.accept("FILESTREAM", "(", "NON_TRANSACTED_ACCESS", "="):
		o := p.neverOn("NON_TRANSACTED_ACCESS", "OFF", "READ_ONLY", "FULL")
		p.expect(")")
		return o
	}
	if refusedOptions[p.peek().Fold] {
		p.unsupported("The database option " + p.peek().Fold)
	}
	p.unknownOption("ALTER DATABASE SET")
	return DatabaseOption{}
}
