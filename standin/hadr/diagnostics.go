// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

// The states of a component of sp_server_diagnostics.
const (
	componentUnknown = 0
	componentClean   = 1
	componentWarning = 2
)

var componentStates = [...]string{"unknown", "clean", "warning", "error"}

const minRepeat = 5

// diagnostics is sp_server_diagnostics (docs/relational-databases/system-stored-procedures/
// sp-server-diagnostics-transact-sql.md): once, or every @repeat_interval seconds until it is cancelled.
func (e *Extension) diagnostics(ctx context.Context, call *engine.ProcCall) error {
	if err := call.Session.Require(ctx, engine.Permission{Name: viewState}); err != nil {
		return err
	}
	repeat := call.Int("@repeat_interval")
	if repeat != 0 && repeat < minRepeat {
		return failure(15600, "sp_server_diagnostics")
	}
	for {
		if err := call.ResultSet(diagnosticColumns, e.components()); err != nil {
			return err
		}
		if f, ok := call.Writer.(interface{ Flush() error }); ok {
			if err := f.Flush(); err != nil {
				return err
			}
		}
		if repeat == 0 {
			return nil
		}
		select {
		case <-time.After(time.Duration(repeat) * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var sysname = sqltype.Type{Kind: sqltype.NVarChar, Length: 128}

var diagnosticColumns = []tds.Column{
	{Name: "create_time", Type: sqltype.Type{Kind: sqltype.DateTime}},
	{Name: "component_type", Type: sysname},
	{Name: "component_name", Type: sysname},
	{Name: "state", Type: sqltype.Type{Kind: sqltype.Int}},
	{Name: "state_desc", Type: sysname},
	{Name: "data", Type: sqltype.Type{Kind: sqltype.VarChar, Length: sqltype.MaxLength}, Nullable: true},
}

// components measures what this process can know of itself.
func (e *Extension) components() [][]any {
	at := now()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	var out [][]any
	add := func(kind, name string, state int, data string) {
		out = append(out, []any{at, kind, name, int64(state), componentStates[state], data})
	}
	add(
		"instance",
		"system",
		componentClean,
		fmt.Sprintf(
			`<system systemCpuUtilization="0" sqlCpuUtilization="0" pageFaults="0" latchWarnings="0" spinlockBackoffs="0" sickSpinlockType="none" nonYieldingTasksReported="0" writeAccessViolationCount="0" totalDumpRequests="0" intervalDumpRequests="0" BadPagesDetected="0" BadPagesFixed="0" goroutines="%d"/>`,
			runtime.NumGoroutine(),
		),
	)
	resource := componentClean
	if limit := e.inst.Config().MemoryLimitMB; limit > 0 && mem.Sys > uint64(limit)<<20 {
		resource = componentWarning
	}
	add(
		"instance",
		"resource",
		resource,
		fmt.Sprintf(
			`<resource lastNotification="RESOURCE_MEM_STEADY" outOfMemoryExceptions="0" isAnyPoolOutOfMemory="0" workingSetBytes="%d"/>`,
			mem.Sys,
		),
	)
	add(
		"instance",
		"query_processing",
		componentClean,
		fmt.Sprintf(
			`<queryProcessing maxWorkers="0" workersCreated="0" tasksCompletedWithinInterval="0" pendingTasks="0" oldestPendingTaskWaitingTime="0" hasUnresolvableDeadlockOccurred="0" hasDeadlockedSchedulersOccurred="0" sessions="%d"/>`,
			len(e.inst.Sessions()),
		),
	)
	add("instance", "io_subsystem", e.ioState(), `<ioSubsystem ioLatchTimeouts="0" intervalLongIos="0" totalLongIos="0"/>`)
	add("instance", "events", componentUnknown, `<events/>`)
	for _, g := range e.replicas().Groups() {
		st := g.States()
		state := componentClean
		if st.Role == replica.Resolving {
			state = componentWarning
		}
		add("Always On:AvailabilityGroup", g.Name(), state, fmt.Sprintf(`<availabilityGroup role=%q/>`, st.Role.String()))
	}
	return out
}

// ioState is warning when a database's redo has stopped for an error of its files.
func (e *Extension) ioState() int {
	for _, db := range e.inst.Databases() {
		if st := db.Storage(); st != nil && st.Mode() == storage.Redo && st.RedoError() != nil {
			return componentWarning
		}
	}
	return componentClean
}
