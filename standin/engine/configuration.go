// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sort"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

// option is a server configuration option
// (docs/database-engine/configure-windows/server-configuration-options-sql-server.md).
type option struct {
	id                int64
	name              string
	min, max, def     int64
	dynamic, advanced bool
}

var options = []option{
	{101, "recovery interval (min)", 0, 32767, 0, true, true},
	{102, "allow updates", 0, 1, 0, true, false},
	{103, "user connections", 0, 32767, 0, false, true},
	{106, "locks", 5000, 2147483647, 0, false, true},
	{107, "open objects", 0, 2147483647, 0, false, true},
	{109, "fill factor (%)", 0, 100, 0, false, true},
	{115, "nested triggers", 0, 1, 1, true, false},
	{117, "remote access", 0, 1, 1, false, false},
	{124, "default language", 0, 9999, 0, true, false},
	{400, "cross db ownership chaining", 0, 1, 0, true, false},
	{503, "max worker threads", 128, 65535, 0, true, true},
	{505, "network packet size (B)", 512, 32767, 4096, true, true},
	{518, "show advanced options", 0, 1, 0, true, false},
	{542, "remote proc trans", 0, 1, 0, true, false},
	{544, "c2 audit mode", 0, 1, 0, false, true},
	{1126, "default full-text language", 0, 2147483647, 1033, true, true},
	{1127, "two digit year cutoff", 1753, 9999, 2049, true, true},
	{1505, "index create memory (KB)", 704, 2147483647, 0, true, true},
	{1517, "priority boost", 0, 1, 0, false, true},
	{1519, "remote login timeout (s)", 0, 2147483647, 10, true, false},
	{1520, "remote query timeout (s)", 0, 2147483647, 600, true, false},
	{1531, "cursor threshold", -1, 2147483647, -1, true, true},
	{1532, "set working set size", 0, 1, 0, false, true},
	{1534, "user options", 0, 32767, 0, true, false},
	{1535, "affinity mask", -2147483648, 2147483647, 0, true, true},
	{1536, "max text repl size (B)", -1, 2147483647, 65536, true, false},
	{1537, "media retention", 0, 365, 0, true, true},
	{1538, "cost threshold for parallelism", 0, 32767, 5, true, true},
	{1539, "max degree of parallelism", 0, 32767, 0, true, true},
	{1540, "min memory per query (KB)", 512, 2147483647, 1024, true, true},
	{1541, "query wait (s)", -1, 2147483647, -1, true, true},
	{1543, "min server memory (MB)", 0, 2147483647, 0, true, true},
	{1544, "max server memory (MB)", 128, 2147483647, 2147483647, true, true},
	{1545, "query governor cost limit", 0, 2147483647, 0, true, true},
	{1546, "lightweight pooling", 0, 1, 0, false, true},
	{1547, "scan for startup procs", 0, 1, 0, false, true},
	{1556, "disallow results from triggers", 0, 1, 0, true, true},
	{1562, "clr enabled", 0, 1, 0, true, false},
	{1568, "default trace enabled", 0, 1, 1, true, true},
	{1569, "blocked process threshold (s)", 0, 86400, 0, true, true},
	{1570, "in-doubt xact resolution", 0, 2, 0, true, true},
	{1576, "remote admin connections", 0, 1, 0, true, false},
	{1579, "backup compression default", 0, 2, 0, true, false},
	{1580, "filestream access level", 0, 2, 0, true, false},
	{1581, "optimize for ad hoc workloads", 0, 1, 0, true, true},
	{1582, "access check cache bucket count", 0, 65536, 0, true, true},
	{1583, "contained database authentication", 0, 1, 0, true, false},
	{1584, "backup checksum default", 0, 1, 0, true, false},
	{16384, "Agent XPs", 0, 1, 0, true, true},
	{16386, "Database Mail XPs", 0, 1, 0, true, true},
	{16387, "SMO and DMO XPs", 0, 1, 1, true, true},
	{16388, "Ole Automation Procedures", 0, 1, 0, true, true},
	{16390, "xp_cmdshell", 0, 1, 0, true, true},
	{16391, "Ad Hoc Distributed Queries", 0, 1, 0, true, true},
	{16392, "Replication XPs", 0, 1, 0, true, true},
}

// Configuration is an option's value in use; ok is false for a name that is no option.
func (inst *Instance) Configuration(name string) (value int64, ok bool) {
	for _, o := range options {
		if strings.EqualFold(o.name, name) {
			inst.mu.RLock()
			defer inst.mu.RUnlock()
			if v, set := inst.inUse[o.id]; set {
				return v, true
			}
			return inst.defaultOption(o), true
		}
	}
	return 0, false
}

func (inst *Instance) defaultOption(o option) int64 {
	switch {
	case o.name == "max server memory (MB)" && inst.config.MemoryLimitMB > 0:
		return inst.config.MemoryLimitMB
	case o.name == "Agent XPs" && inst.config.AgentEnabled:
		return 1
	}
	return o.def
}

// configured are the values that sp_configure has set.
func (s *Session) configured(ctx context.Context) (map[int64]int64, error) {
	values := map[int64]int64{}
	conn, release, err := s.readConn(ctx, s.inst.DatabaseByID(1))
	if err != nil {
		return nil, err
	}
	defer release()
	err = sqlitex.Execute(
		conn,
		"SELECT id, value FROM __configurations",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			values[stmt.ColumnInt64(0)] = stmt.ColumnInt64(1)
			return nil
		}},
	)
	return values, err
}

// configure is sp_configure.
func configure(ctx context.Context, c *ProcCall) error {
	s := c.Session
	values, err := s.configured(ctx)
	if err != nil {
		return err
	}
	advanced, _ := s.inst.Configuration("show advanced options")
	name := c.String("@configname")
	var matches []option
	for _, o := range options {
		if o.advanced && advanced == 0 {
			continue
		}
		if name == "" || strings.HasPrefix(lower(o.name), lower(name)) {
			matches = append(matches, o)
		}
		if name != "" && strings.EqualFold(o.name, name) {
			matches = []option{o}
			break
		}
	}
	if name != "" && len(matches) == 0 {
		return sqlerr.New(15123, 1, name)
	}
	if name != "" && len(matches) > 1 {
		return sqlerr.New(15124, 1, name)
	}
	if c.IsNull("@configvalue") {
		return s.showConfiguration(c, matches, values)
	}
	if name == "" {
		return sqlerr.New(15600, 1, "sp_configure")
	}
	if err := s.require(ctx, Permission{Name: "ALTER SETTINGS"}); err != nil {
		return sqlerr.New(15247, 1)
	}
	o, v := matches[0], c.Int("@configvalue")
	if v < o.min && v != o.def || v > o.max {
		return sqlerr.New(15129, 1, v, o.name)
	}
	old, set := values[o.id]
	if !set {
		old = s.inst.defaultOption(o)
	}
	err = s.write(ctx, s.inst.DatabaseByID(1), func(tx *storage.Tx) error {
		return sqlitex.Execute(
			tx.Conn(),
			"INSERT OR REPLACE INTO __configurations VALUES (?, ?)",
			&sqlitex.ExecOptions{Args: []any{o.id, v}},
		)
	})
	if err != nil {
		return err
	}
	return c.Writer.Message(sqlerr.New(15457, 1, o.name, old, v))
}

func (s *Session) showConfiguration(c *ProcCall, list []option, values map[int64]int64) error {
	list = append([]option(nil), list...)
	sort.Slice(list, func(i, j int) bool { return lower(list[i].name) < lower(list[j].name) })
	cols := []tds.Column{
		Column("name", sqltype.NVarCharOf(35)),
		Column("minimum", sqltype.IntType),
		Column("maximum", sqltype.IntType),
		Column("config_value", sqltype.IntType),
		Column("run_value", sqltype.IntType),
	}
	var rows [][]any
	for _, o := range list {
		v, set := values[o.id]
		if !set {
			v = s.inst.defaultOption(o)
		}
		run, _ := s.inst.Configuration(o.name)
		rows = append(rows, []any{o.name, o.min, o.max, v, run})
	}
	return c.ResultSet(cols, rows)
}

// reconfigure is RECONFIGURE: configured values come into use, those of options that are not dynamic at the next start.
func (s *Session) reconfigure(ctx context.Context) error {
	values, err := s.configured(ctx)
	if err != nil {
		return err
	}
	s.inst.mu.Lock()
	defer s.inst.mu.Unlock()
	if s.inst.inUse == nil {
		s.inst.inUse = map[int64]int64{}
	}
	for _, o := range options {
		if v, set := values[o.id]; set && o.dynamic {
			s.inst.inUse[o.id] = v
		}
	}
	return nil
}

// loadConfiguration puts all configured values into use, at the start.
func (inst *Instance) loadConfiguration(ctx context.Context) error {
	inst.inUse = map[int64]int64{}
	return inst.readMaster(ctx, "SELECT id, value FROM __configurations", func(stmt *sqlite.Stmt) error {
		inst.inUse[stmt.ColumnInt64(0)] = stmt.ColumnInt64(1)
		return nil
	})
}

func configurationRows(ctx context.Context, s *Session) ([][]any, error) {
	values, err := s.configured(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, o := range options {
		v, set := values[o.id]
		if !set {
			v = s.inst.defaultOption(o)
		}
		run, _ := s.inst.Configuration(o.name)
		rows = append(rows, []any{o.id, o.name, v, o.min, o.max, run, o.name, o.dynamic, o.advanced})
	}
	return rows, nil
}
