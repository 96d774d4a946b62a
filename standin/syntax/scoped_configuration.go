// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strconv"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// AlterScopedConfiguration is ALTER DATABASE SCOPED CONFIGURATION
// (docs/t-sql/statements/alter-database-scoped-configuration-transact-sql.md).
type AlterScopedConfiguration struct {
	own
	// Secondary is FOR SECONDARY.
	Secondary bool
	// Clear is CLEAR PROCEDURE_CACHE, PlanHandle the plan that it names.
	Clear      bool
	PlanHandle []byte
	// Name and Value are those of SET: ON, OFF, PRIMARY, another word or a number.
	Name, Value string
}

// ScopedConfiguration is one of them, with its number in sys.database_scoped_configurations and what it is unless it is
// set.
type ScopedConfiguration struct {
	ID            int32
	Name, Default string
	// Secondary tells that FOR SECONDARY takes it.
	Secondary bool
	// words are its values; none is a number.
	words []string
	// refused are values that ask for what this server does not have.
	refused string
}

var onOff, elevated = []string{"ON", "OFF"}, []string{"OFF", "WHEN_SUPPORTED", "FAIL_UNSUPPORTED"}

// ScopedConfigurations are those of SQL Server 2022, in the order of their numbers.
var ScopedConfigurations = []ScopedConfiguration{
	{1, "MAXDOP", "0", true, nil, ""},
	{2, "LEGACY_CARDINALITY_ESTIMATION", "OFF", true, onOff, ""},
	{3, "PARAMETER_SNIFFING", "ON", true, onOff, ""},
	{4, "QUERY_OPTIMIZER_HOTFIXES", "OFF", true, onOff, ""},
	{6, "IDENTITY_CACHE", "ON", false, onOff, ""},
	{7, "INTERLEAVED_EXECUTION_TVF", "ON", false, onOff, ""},
	{8, "BATCH_MODE_MEMORY_GRANT_FEEDBACK", "ON", false, onOff, ""},
	{9, "BATCH_MODE_ADAPTIVE_JOINS", "ON", false, onOff, ""},
	{10, "TSQL_SCALAR_UDF_INLINING", "ON", false, onOff, ""},
	{11, "ELEVATE_ONLINE", "OFF", false, elevated, "FAIL_UNSUPPORTED"},
	{12, "ELEVATE_RESUMABLE", "OFF", false, elevated, "FAIL_UNSUPPORTED"},
	{13, "OPTIMIZE_FOR_AD_HOC_WORKLOADS", "OFF", false, onOff, ""},
	{14, "XTP_PROCEDURE_EXECUTION_STATISTICS", "OFF", false, onOff, ""},
	{15, "XTP_QUERY_EXECUTION_STATISTICS", "OFF", false, onOff, ""},
	{16, "ROW_MODE_MEMORY_GRANT_FEEDBACK", "ON", false, onOff, ""},
	{17, "ISOLATE_SECURITY_POLICY_CARDINALITY", "OFF", false, onOff, ""},
	{18, "BATCH_MODE_ON_ROWSTORE", "ON", false, onOff, ""},
	{19, "DEFERRED_COMPILATION_TV", "ON", false, onOff, ""},
	{20, "ACCELERATED_PLAN_FORCING", "ON", false, onOff, ""},
	{21, "GLOBAL_TEMPORARY_TABLE_AUTO_DROP", "ON", false, onOff, "OFF"},
	{22, "LIGHTWEIGHT_QUERY_PROFILING", "ON", false, onOff, ""},
	{23, "VERBOSE_TRUNCATION_WARNINGS", "ON", false, onOff, ""},
	{24, "LAST_QUERY_PLAN_STATS", "OFF", false, onOff, "ON"},
	{25, "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES", "1440", false, nil, ""},
	{27, "EXEC_QUERY_STATS_FOR_SCALAR_FUNCTIONS", "ON", false, onOff, ""},
	{28, "PARAMETER_SENSITIVE_PLAN_OPTIMIZATION", "ON", false, onOff, ""},
	{29, "ASYNC_STATS_UPDATE_WAIT_AT_LOW_PRIORITY", "OFF", false, onOff, ""},
	{31, "CE_FEEDBACK", "ON", false, onOff, ""},
	{33, "MEMORY_GRANT_FEEDBACK_PERSISTENCE", "ON", false, onOff, ""},
	{34, "MEMORY_GRANT_FEEDBACK_PERCENTILE_GRANT", "ON", false, onOff, ""},
	{35, "OPTIMIZED_PLAN_FORCING", "ON", false, onOff, ""},
	{37, "DOP_FEEDBACK", "OFF", false, onOff, ""},
	{38, "LEDGER_DIGEST_STORAGE_ENDPOINT", "OFF", false, []string{"OFF"}, ""},
	{39, "FORCE_SHOWPLAN_RUNTIME_PARAMETER_COLLECTION", "OFF", false, onOff, "ON"},
}

// maxPausedIndexAbort is the page's limit, in minutes.
const maxPausedIndexAbort = 71582

// parseScopedConfiguration parses what follows ALTER DATABASE SCOPED CONFIGURATION.
func (p *parser) parseScopedConfiguration() ast.Statement {
	n := &AlterScopedConfiguration{}
	if p.accept("CLEAR", "PROCEDURE_CACHE") {
		n.Clear = true
		if p.peek().Kind == token.Binary {
			n.PlanHandle = p.binary()
		}
		return n
	}
	n.Secondary = p.accept("FOR", "SECONDARY")
	p.expect("SET")
	if p.is("DW_COMPATIBILITY_LEVEL") {
		p.unsupported("DW_COMPATIBILITY_LEVEL, which is Azure Synapse Analytics',")
	}
	for _, c := range ScopedConfigurations {
		if p.accept(c.Name) {
			n.Name = c.Name
			p.scopedValue(n, c)
			return n
		}
	}
	p.refuse()
	return nil
}

// scopedValue parses the value. Whether MAXDOP is in its limits, and whether the value may be set where it is, is
// judged when it is set.
func (p *parser) scopedValue(n *AlterScopedConfiguration, c ScopedConfiguration) {
	p.expect("=")
	switch {
	case c.Secondary && p.accept("PRIMARY"):
		n.Value = "PRIMARY"
	case c.words == nil:
		sign := ""
		if p.accept("-") {
			sign = "-"
		}
		n.Value = sign + strconv.FormatInt(p.integer(), 10)
		if v, err := strconv.Atoi(n.Value); c.Name != "MAXDOP" && (err != nil || v < 0 || v > maxPausedIndexAbort) {
			p.refuseWith(12121, n.Value, maxPausedIndexAbort)
		}
	case c.Name == "LEDGER_DIGEST_STORAGE_ENDPOINT" && p.peek().Kind == token.String:
		p.unsupported(c.Name + ", which uploads digests to Azure,")
	default:
		n.Value = p.oneOf(c.words...)
	}
	if n.Value == c.refused {
		p.unsupported(c.Name + " = " + n.Value)
	}
}
