// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// There are no plans, and so nothing that a Query Store would collect: one that is ON keeps its options and is
// read-only.

// storeDefaults are the parts of QUERY_STORE that nobody has set
// (docs/t-sql/statements/alter-database-transact-sql-set-options.md).
var storeDefaults = map[string]string{
	"OPERATION_MODE":                 "READ_WRITE",
	"STALE_QUERY_THRESHOLD_DAYS":     "30",
	"DATA_FLUSH_INTERVAL_SECONDS":    "900",
	"MAX_STORAGE_SIZE_MB":            "1000",
	"INTERVAL_LENGTH_MINUTES":        "60",
	"SIZE_BASED_CLEANUP_MODE":        "AUTO",
	"QUERY_CAPTURE_MODE":             "AUTO",
	"MAX_PLANS_PER_QUERY":            "200",
	"WAIT_STATS_CAPTURE_MODE":        "ON",
	"STALE_CAPTURE_POLICY_THRESHOLD": "24",
	"EXECUTION_COUNT":                "30",
	"TOTAL_COMPILE_CPU_TIME_MS":      "1000",
	"TOTAL_EXECUTION_CPU_TIME_MS":    "100",
}

// storeIntervals are the values of INTERVAL_LENGTH_MINUTES.
const storeIntervals = " 1 5 10 15 30 60 1440 "

// maxPolicyHours is the greatest STALE_CAPTURE_POLICY_THRESHOLD, seven days; the least is an hour.
const maxPolicyHours = 7 * 24

// storePart begins the names under which the parts are kept among a database's options.
const storePart = "QUERY_STORE "

func installQueryStore(r *Registry) {
	r.RecordView(
		"",
		"sys",
		"database_query_store_options",
		"desired_state smallint, desired_state_desc nvarchar(60), actual_state smallint, actual_state_desc nvarchar(60), "+
			"readonly_reason int, current_storage_size_mb bigint, "+
			"flush_interval_seconds bigint, interval_length_minutes bigint, max_storage_size_mb bigint, "+
			"stale_query_threshold_days bigint, max_plans_per_query bigint, query_capture_mode smallint, "+
			"query_capture_mode_desc nvarchar(60), "+
			"size_based_cleanup_mode smallint, size_based_cleanup_mode_desc nvarchar(60), wait_stats_capture_mode smallint, "+
			"wait_stats_capture_mode_desc nvarchar(60), actual_state_additional_info nvarchar(4000), "+
			"capture_policy_execution_count int, capture_policy_total_compile_cpu_time_ms bigint, "+
			"capture_policy_total_execution_cpu_time_ms bigint, capture_policy_stale_threshold_hours int",
		storeRecords,
	)
	for name, parameters := range map[string]string{"sp_query_store_flush_db": "",
		"sp_query_store_force_plan":   "@query_id! bigint, @plan_id! bigint, @disable_optimized_plan_forcing bit",
		"sp_query_store_unforce_plan": "@query_id! bigint, @plan_id! bigint",
		"sp_query_store_remove_plan":  "@plan_id! bigint", "sp_query_store_remove_query": "@query_id! bigint",
		"sp_query_store_reset_exec_stats": "@plan_id! bigint"} {
		r.Procedure(Procedure{Name: name, Parameters: ParameterList(parameters), Run: changeStore})
	}
}

// settableStore judges the options of QUERY_STORE.
func settableStore(db *Database, o syntax.DatabaseOption) error {
	if db.ID() <= 2 && o.Value != "OFF" {
		return sqlerr.New(12438, 1, db.Name())
	}
	for _, part := range o.Parts {
		switch n, _ := strconv.ParseInt(part.Value, 10, 64); {
		case part.Name == "INTERVAL_LENGTH_MINUTES" && !strings.Contains(storeIntervals, " "+part.Value+" "):
			return sqlerr.New(12432, 1)
		case part.Name == "STALE_CAPTURE_POLICY_THRESHOLD" && (n < 1 || n > maxPolicyHours):
			return sqlerr.New(12453, 1, "Query Store", part.Name, 1, "hours", 7, "days")
		}
	}
	return nil
}

// setQueryStore keeps what a statement says of the store.
func (i *DatabaseInfo) setQueryStore(o syntax.DatabaseOption) {
	if o.Value == "ON" || o.Value == "OFF" {
		i.Options["QUERY_STORE"] = o.Value
	}
	for _, part := range o.Parts {
		i.Options[storePart+part.Name] = part.Value
	}
}

func (i *DatabaseInfo) storeOption(name string) string {
	if v, set := i.Options[storePart+name]; set {
		return v
	}
	return storeDefaults[name]
}

func (i *DatabaseInfo) storeOn() bool { return i.Options["QUERY_STORE"] == "ON" }

func storeRecords(_ context.Context, s *Session) ([]record, error) {
	i := s.viewDatabase().Info()
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(i.storeOption(name), 10, 64)
		return n
	}
	desired, actual := "OFF", "OFF"
	if i.storeOn() {
		desired, actual = i.storeOption("OPERATION_MODE"), "READ_ONLY"
	}
	states := map[string]int64{"OFF": 0, "READ_ONLY": 1, "READ_WRITE": 2}
	capture := i.storeOption("QUERY_CAPTURE_MODE")
	rec := record{
		"desired_state":           states[desired],
		"desired_state_desc":      desired,
		"actual_state":            states[actual],
		"actual_state_desc":       actual,
		"readonly_reason":         0,
		"current_storage_size_mb": 0,
		"flush_interval_seconds": number(
			"DATA_FLUSH_INTERVAL_SECONDS",
		),
		"interval_length_minutes": number("INTERVAL_LENGTH_MINUTES"),
		"max_storage_size_mb":     number("MAX_STORAGE_SIZE_MB"),
		"stale_query_threshold_days": number(
			"STALE_QUERY_THRESHOLD_DAYS",
		),
		"max_plans_per_query":     number("MAX_PLANS_PER_QUERY"),
		"query_capture_mode":      map[string]int64{"ALL": 1, "AUTO": 2, "NONE": 3, "CUSTOM": 4}[capture],
		"query_capture_mode_desc": capture,
		"size_based_cleanup_mode": asBit(
			i.storeOption("SIZE_BASED_CLEANUP_MODE") == "AUTO",
		),
		"size_based_cleanup_mode_desc": i.storeOption("SIZE_BASED_CLEANUP_MODE"),
		"wait_stats_capture_mode": asBit(
			i.storeOption("WAIT_STATS_CAPTURE_MODE") == "ON",
		),
		"wait_stats_capture_mode_desc": i.storeOption("WAIT_STATS_CAPTURE_MODE"),
		"actual_state_additional_info": "",
	}
	if capture == "CUSTOM" {
		rec["capture_policy_execution_count"], rec["capture_policy_stale_threshold_hours"] = number("EXECUTION_COUNT"),
			number("STALE_CAPTURE_POLICY_THRESHOLD")
		rec["capture_policy_total_compile_cpu_time_ms"],
			rec["capture_policy_total_execution_cpu_time_ms"] = number("TOTAL_COMPILE_CPU_TIME_MS"),
			number("TOTAL_EXECUTION_CPU_TIME_MS")
	}
	return []record{rec}, nil
}

// changeStore is any of the procedures that change the store: it is off or read-only.
func changeStore(ctx context.Context, c *ProcCall) error {
	db := c.Session.db
	if err := c.Session.require(ctx, Permission{Name: "ALTER", Database: db}); err != nil {
		return sqlerr.New(12421, 1)
	}
	if i := db.Info(); !i.storeOn() {
		return sqlerr.New(12405, 1, db.ID())
	}
	return sqlerr.New(12404, 1, db.ID())
}
