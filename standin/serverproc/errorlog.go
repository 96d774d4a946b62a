// SPDX-License-Identifier: Apache-2.0

package serverproc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// installErrorLog registers what reads the error logs and begins a new one.
func installErrorLog(r *engine.Registry) {
	log := engine.ParameterList(
		"@p1 int = 0, @p2 int = 1, @p3 nvarchar(4000), @p4 nvarchar(4000), @p5 datetime, @p6 datetime, @p7 " +
			"nvarchar(10) = asc",
	)
	r.Procedure(engine.Procedure{Name: "sp_readerrorlog", Parameters: log[:4], Run: readErrorLog})
	r.Procedure(engine.Procedure{Name: "xp_readerrorlog", Parameters: log, Run: readErrorLog})
	for _, name := range []string{"sp_enumerrorlogs", "xp_enumerrorlogs"} {
		r.Procedure(engine.Procedure{Name: name, Parameters: engine.ParameterList("@p1 int = 1"), Run: listErrorLogs})
	}
	r.Procedure(engine.Procedure{Name: "sp_cycle_errorlog", Parameters: []engine.Parameter{}, Run: cycleErrorLog})
}

// listErrorLogs are the error logs that there are, the current one first.
func listErrorLogs(ctx context.Context, c *engine.ProcCall) error {
	if err := c.Session.Require(ctx, engine.Permission{Name: "VIEW SERVER STATE"}); err != nil {
		return err
	}
	path, _ := c.Session.Instance().ServerProperty("ErrorLogFileName").(string)
	listColumns := []tds.Column{
		{Name: "Archive #", Type: sqltype.IntType, Nullable: true},
		{Name: "Date", Type: sqltype.NVarCharOf(30), Nullable: true},
		{Name: "Log File Size (Byte)", Type: sqltype.BigIntType, Nullable: true},
	}
	var rows [][]any
	for i := range 100 {
		name := path
		if i > 0 {
			name += "." + strconv.Itoa(i)
		}
		info, err := os.Stat(name)
		if err != nil || path == "" {
			break
		}
		rows = append(rows, []any{int64(i), info.ModTime().UTC().Format("01/02/2006 15:04"), info.Size()})
	}
	return c.ResultSet(listColumns, rows)
}

// readErrorLog is sp_readerrorlog (docs/relational-databases/system-stored-procedures/sp-readerrorlog-transact-sql.md):
// the lines of one of the logs that have both texts in them.
func readErrorLog(ctx context.Context, c *engine.ProcCall) error {
	if err := c.Session.Require(ctx, engine.Permission{Name: "VIEW SERVER STATE"}); err != nil {
		return err
	}
	if c.Int("@p2") == 2 {
		return &sqlerr.Error{
			Number:  22004,
			Class:   16,
			State:   1,
			Message: "the log of SQL Server Agent is in msdb.dbo.sysjobhistory only",
		}
	}
	path, _ := c.Session.Instance().ServerProperty("ErrorLogFileName").(string)
	if n := c.Int("@p1"); n > 0 {
		path += fmt.Sprintf(".%d", n)
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return &sqlerr.Error{Number: 22004, Class: 16, State: 1, Message: "the error log cannot be opened"}
	}
	defer f.Close()
	var rows [][]any
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		// 2026-01-02 03:04:05.67 Server      text
		if len(line) < 35 {
			continue
		}
		at, err := time.Parse("2006-01-02 15:04:05.00", line[:22])
		text := line[35:]
		if err != nil || !containsFold(text, c.String("@p3")) || !containsFold(text, c.String("@p4")) {
			continue
		}
		rows = append(rows, []any{at, strings.TrimSpace(line[23:35]), text})
	}
	return c.ResultSet(engine.ColumnList("LogDate datetime, ProcessInfo nvarchar(50), Text nvarchar(4000)"), rows)
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// cycleErrorLog begins a new error log
// (docs/relational-databases/system-stored-procedures/sp-cycle-errorlog-transact-sql.md).
func cycleErrorLog(_ context.Context, c *engine.ProcCall) error {
	inst := c.Session.Instance()
	if !c.Session.Login().Sysadmin {
		return sqlerr.New(15247, 1)
	}
	cycle := inst.Config().CycleErrorLog
	if cycle == nil {
		return sqlerr.Unsupported("sp_cycle_errorlog of a server without an error log")
	}
	if err := cycle(); err != nil {
		return err
	}
	inst.Log().Info("The error log has been reinitialized. See the previous log for older entries.")
	return nil
}
