// SPDX-License-Identifier: Apache-2.0

// Package catalog has machine-readable facts from Microsoft's SQL Server documentation: the signatures of stored
// procedures, the columns of catalog views, DMVs and replication tables, the parameters of replication agents, and
// the numbers and severities of errors. Every entry names the page it comes from. The data are parsed on first use.
package catalog

import (
	_ "embed" // the two JSON files below
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

//go:embed tsql_catalog.json
var catalogJSON []byte

//go:embed errors.json
var errorsJSON []byte

// ProcedureInfo is a documented system stored procedure.
type ProcedureInfo struct {
	// Name is the procedure's name without a schema, in the documentation's case.
	Name string `json:"name"`
	// Schema is the documentation's: "sys" or "dbo (msdb)".
	Schema string `json:"schema"`
	// RunIn is the documentation's own phrase for server and database where it is to be run.
	RunIn string `json:"run_in"`
	// Parameters are in their documented order, which is the order of arguments given by position.
	Parameters []ParameterInfo `json:"params"`
	// ResultSets are the documented result sets; empty when there is none or the page gives none.
	ResultSets [][]ColumnInfo `json:"result_sets"`
	// ReturnCode and Permission are the documentation's phrases.
	ReturnCode string `json:"return_code"`
	Permission string `json:"permission"`
	// Doc is the page in MicrosoftDocs/sql-docs, DocVersion its date.
	Doc        string `json:"doc"`
	DocVersion string `json:"doc_version"`
	Note       string `json:"note"`
}

// ParameterInfo is a parameter of a procedure.
type ParameterInfo struct {
	// Name has its @.
	Name string `json:"name"`
	// Type is the T-SQL type as documented ("sysname", "nvarchar(5)"), empty when the page gives none.
	Type     string `json:"type"`
	Required bool   `json:"required"`
	// Default is the documented default as text; nil when the parameter is required, "NULL" for T-SQL's NULL and
	// "unknown" when the page gives none.
	Default *string `json:"default"`
	// Allowed are the documented values; empty when any value is.
	Allowed []string `json:"-"`
	// Output is true for an OUTPUT parameter.
	Output bool `json:"output"`
	// Internal parameters are marked by the page as for internal use.
	Internal bool   `json:"internal"`
	Note     string `json:"note"`

	RawAllowed []any `json:"allowed"`
}

// ColumnInfo is a column of a view, table or result set.
type ColumnInfo struct {
	Name string `json:"name"`
	// Type is the T-SQL type as documented; empty when the page gives none.
	Type string `json:"type"`
	// Values gives the meaning of coded values, by the value's text.
	Values map[string]string `json:"values"`
	// Since is the first version that has the column ("2022"), empty for all.
	Since string `json:"since"`
	Note  string `json:"note"`
}

// ViewInfo is a catalog view or dynamic management view.
type ViewInfo struct {
	// Name has its schema: "sys.databases".
	Name       string       `json:"-"`
	Kind       string       `json:"kind"`
	Columns    []ColumnInfo `json:"columns"`
	Permission string       `json:"permission"`
	Doc        string       `json:"doc"`
	DocVersion string       `json:"doc_version"`
	Note       string       `json:"note"`
}

// TableInfo is a replication table.
type TableInfo struct {
	Name string `json:"-"`
	// Database is "distribution", "msdb", "master", or the documentation's phrase for a publication or subscription
	// database.
	Database string       `json:"database"`
	Schema   string       `json:"schema"`
	Columns  []ColumnInfo `json:"columns"`
	Doc      string       `json:"doc"`
}

// ErrorInfo is a message of sys.messages.
type ErrorInfo struct {
	Number   int32 `json:"number"`
	Severity uint8 `json:"severity"`
	// Logged is sys.messages.is_event_logged.
	Logged bool `json:"logged"`
	// Parameters has one "hint:kind" for each placeholder in order; kind s is text, d a number.
	Parameters []string `json:"params"`
	// Gist says in a few words what the message is about; it is not the message's text.
	Gist   string `json:"gist"`
	Family string `json:"family"`
}

// AgentInfo is a replication agent's executable.
type AgentInfo struct {
	Executable string `json:"executable"`
	// AgentType is msdb.dbo.MSagent_profiles.agent_type: 1 snapshot, 2 log reader, 3 distribution.
	AgentType int `json:"agent_type"`
	// Subsystem is the job step's subsystem: "Snapshot", "LogReader", "Distribution" in upper case.
	Subsystem  string           `json:"subsystem"`
	Parameters []AgentParameter `json:"parameters"`
	Doc        string           `json:"doc"`
}

// AgentParameter is a command line parameter of a replication agent.
type AgentParameter struct {
	// Name has its leading dash.
	Name     string `json:"name"`
	Required bool   `json:"required"`
	// Default is nil when there is none.
	Default *string `json:"default"`
	// Range is the documentation's: "1..64", "0|1"; empty when none is given.
	Range  string            `json:"range"`
	Values map[string]string `json:"values"`
	Since  string            `json:"since"`
	Note   string            `json:"note"`
}

type data struct {
	procedures map[string]*ProcedureInfo
	views      map[string]*ViewInfo
	tables     map[string]*TableInfo
	agents     map[string]*AgentInfo
	ddl        map[string]json.RawMessage
}

var load = sync.OnceValue(func() *data {
	d, err := parse(catalogJSON)
	if err != nil {
		panic(fmt.Sprintf("catalog: tsql_catalog.json does not parse: %v", err))
	}
	return d
})

var loadErrors = sync.OnceValue(func() map[int32]*ErrorInfo {
	var file struct {
		Errors []*ErrorInfo `json:"errors"`
	}
	if err := json.Unmarshal(errorsJSON, &file); err != nil {
		panic(fmt.Sprintf("catalog: errors.json does not parse: %v", err))
	}
	byNumber := make(map[int32]*ErrorInfo, len(file.Errors))
	for _, e := range file.Errors {
		byNumber[e.Number] = e
	}
	return byNumber
})

func parse(text []byte) (*data, error) {
	var file struct {
		Procedures []*ProcedureInfo           `json:"procedures"`
		Views      map[string]*ViewInfo       `json:"dmvs"`
		Tables     map[string]*TableInfo      `json:"replication_tables"`
		Agents     map[string]json.RawMessage `json:"agent_parameters"`
		DDL        map[string]json.RawMessage `json:"ddl"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	d := &data{
		procedures: make(map[string]*ProcedureInfo, len(file.Procedures)),
		views:      make(map[string]*ViewInfo, len(file.Views)),
		tables:     make(map[string]*TableInfo, len(file.Tables)),
		agents:     make(map[string]*AgentInfo, len(file.Agents)),
		ddl:        file.DDL,
	}
	for _, p := range file.Procedures {
		p.finish()
		d.procedures[strings.ToLower(p.Name)] = p
	}
	for name, v := range file.Views {
		v.Name = name
		d.views[strings.ToLower(name)] = v
	}
	for name, t := range file.Tables {
		t.Name = name
		d.tables[strings.ToLower(name)] = t
	}
	for name, raw := range file.Agents {
		var a AgentInfo
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, fmt.Errorf("agent_parameters.%s: %w", name, err)
		}
		if a.Executable != "" {
			d.agents[strings.ToLower(name)] = &a
		}
	}
	return d, nil
}

// finish turns the loosely typed parts of the file into typed ones.
func (p *ProcedureInfo) finish() {
	for i := range p.Parameters {
		for _, v := range p.Parameters[i].RawAllowed {
			p.Parameters[i].Allowed = append(p.Parameters[i].Allowed, fmt.Sprint(v))
		}
		p.Parameters[i].RawAllowed = nil
	}
}

// Procedure returns the documented procedure of that name (without schema, in any case).
func Procedure(name string) (*ProcedureInfo, bool) {
	p, ok := load().procedures[strings.ToLower(name)]
	return p, ok
}

// Procedures returns all documented procedures, sorted by name.
func Procedures() []*ProcedureInfo { return sorted(load().procedures) }

// View returns the documented view of that name, with its schema ("sys.databases"), in any case.
func View(name string) (*ViewInfo, bool) {
	v, ok := load().views[strings.ToLower(name)]
	return v, ok
}

// Views returns all documented views, sorted by name.
func Views() []*ViewInfo { return sorted(load().views) }

// ReplicationTable returns the documented replication table of that name, without a schema, in any case.
func ReplicationTable(name string) (*TableInfo, bool) {
	t, ok := load().tables[strings.ToLower(name)]
	return t, ok
}

// ReplicationTables returns all documented replication tables, sorted by name.
func ReplicationTables() []*TableInfo { return sorted(load().tables) }

// AgentParameters returns the agent "distrib", "logread" or "snapshot" with its parameters.
func AgentParameters(agent string) (*AgentInfo, bool) {
	a, ok := load().agents[strings.ToLower(agent)]
	return a, ok
}

// DDL returns the raw facts about a statement family ("AVAILABILITY_GROUP", "CREATE_ENDPOINT", "BACKUP", ...).
func DDL(family string) (json.RawMessage, bool) {
	raw, ok := load().ddl[family]
	return raw, ok
}

// Error returns the documented message of that number.
func Error(number int32) (*ErrorInfo, bool) {
	e, ok := loadErrors()[number]
	return e, ok
}

// Errors returns all documented messages, sorted by number.
func Errors() []*ErrorInfo {
	all := make([]*ErrorInfo, 0, len(loadErrors()))
	for _, e := range loadErrors() {
		all = append(all, e)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Number < all[j].Number })
	return all
}

// Parameter returns the parameter of that name (with its @, in any case).
func (p *ProcedureInfo) Parameter(name string) (*ParameterInfo, bool) {
	for i := range p.Parameters {
		if strings.EqualFold(p.Parameters[i].Name, name) {
			return &p.Parameters[i], true
		}
	}
	return nil, false
}

// Parameter returns the agent's parameter of that name (with its dash, in any case).
func (a *AgentInfo) Parameter(name string) (*AgentParameter, bool) {
	for i := range a.Parameters {
		if strings.EqualFold(a.Parameters[i].Name, name) {
			return &a.Parameters[i], true
		}
	}
	return nil, false
}

func sorted[T any](m map[string]T) []T {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	all := make([]T, 0, len(m))
	for _, name := range names {
		all = append(all, m[name])
	}
	return all
}
