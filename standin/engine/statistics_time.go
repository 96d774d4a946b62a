// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"syscall"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// meter measures what SET STATISTICS TIME tells of (docs/t-sql/statements/set-statistics-time-transact-sql.md). The
// time of the processor is that of the whole process, which others share, and never more than what has passed on all
// processors.
type meter struct {
	began time.Time
	cpu   time.Duration
}

// startMeter begins to measure; it is nil while the option is OFF.
func (s *Session) startMeter() *meter {
	if !s.settings.statisticsTime {
		return nil
	}
	return &meter{began: time.Now(), cpu: processTime()}
}

func processTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// taken are the milliseconds of processor and clock since then.
func (m *meter) taken() (cpu, elapsed int64) {
	passed := time.Since(m.began)
	return min(processTime()-m.cpu, passed).Milliseconds(), passed.Milliseconds()
}

// tellTimes tells what a statement of the client's batch took; those that have others in them tell nothing of their
// own, and what modules execute is told of with the statement that calls them: a function is called while rows are
// sent.
func (s *Session) tellTimes(m *meter, node ast.Statement, w tds.Writer) error {
	switch node.(type) {
	case *ast.BeginEndBlockStatement, *ast.IfStatement, *ast.WhileStatement, *ast.TryCatchStatement,
		*ast.SetStatisticsStatement:
		return nil
	}
	if m == nil || !s.settings.statisticsTime || s.nest != 1 {
		return nil
	}
	cpu, elapsed := m.taken()
	return w.Message(
		&sqlerr.Error{
			Number:  3612,
			State:   1,
			Line:    s.line,
			Message: fmt.Sprintf("\n SQL Server Execution Times:\n   CPU time = %d ms,  elapsed time = %d ms.", cpu, elapsed),
		},
	)
}

// tellCompileTime tells what the parsing of a client's batch took.
func (s *Session) tellCompileTime(m *meter, w tds.Writer) error {
	if m == nil || s.nest > 1 {
		return nil
	}
	cpu, elapsed := m.taken()
	return w.Message(
		&sqlerr.Error{
			Number: 3613,
			State:  1,
			Line:   1,
			Message: fmt.Sprintf(
				"SQL Server parse and compile time: \n   CPU time = %d ms, elapsed time = %d ms.",
				cpu,
				elapsed,
			),
		},
	)
}
