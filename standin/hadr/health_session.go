// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// healthSessionName is the event session that every instance has, which the documents have people start with the server
// (docs/linux/availability-group/configure-read-scale.md and its neighbours). What it would record, changes of role and
// errors of replicas, is in the error log.
const healthSessionName = "AlwaysOn_health"

// healthSession is whether the session starts with the server, which a file says, and whether it runs.
type healthSession struct {
	mu      sync.Mutex
	running bool
}

func (e *Extension) installHealthSession(r *engine.Registry) {
	r.Statement((*syntax.AlterEventSession)(nil), e.alterEventSession)
	r.OnStart(func(context.Context) error {
		startup, err := e.healthStartup()
		e.health.running = startup
		return err
	})
	column := func(name string, t sqltype.Type) tds.Column { return tds.Column{Name: name, Type: t, Nullable: true} }
	mode := sqltype.Type{Kind: sqltype.NChar, Length: 1}
	// docs/relational-databases/system-catalog-views/sys-server-event-sessions-transact-sql.md
	e.healthView(
		r,
		"server_event_sessions",
		"VIEW SERVER SECURITY STATE",
		[]tds.Column{column("event_session_id", sqltype.IntType), column("name", sqltype.NVarCharOf(128)),
			column(
				"event_retention_mode",
				mode,
			), column("event_retention_mode_desc", sqltype.NVarCharOf(60)), column("max_dispatch_latency", sqltype.IntType),
			column(
				"max_memory",
				sqltype.IntType,
			), column("max_event_size", sqltype.IntType), column("memory_partition_mode", mode),
			column(
				"memory_partition_mode_desc",
				sqltype.NVarCharOf(60),
			), column("track_causality", sqltype.BitType), column("startup_state", sqltype.BitType)},
		func(startup, _ bool) [][]any {
			return [][]any{
				{
					int64(65536),
					healthSessionName,
					"S",
					"ALLOW_SINGLE_EVENT_LOSS",
					int64(30000),
					int64(4096),
					int64(0),
					"N",
					"NONE",
					false,
					startup,
				},
			}
		},
	)
	// docs/relational-databases/system-dynamic-management-views/sys-dm-xe-sessions-transact-sql.md. It has no buffers.
	text := sqltype.NVarCharOf(256)
	e.healthView(
		r,
		"dm_xe_sessions",
		viewState,
		[]tds.Column{
			column("address", sqltype.VarBinaryOf(8)),
			column("name", text),
			column("pending_buffers", sqltype.IntType),
			column("total_regular_buffers", sqltype.IntType),
			column(
				"regular_buffer_size",
				sqltype.BigIntType,
			),
			column("total_large_buffers", sqltype.IntType),
			column("large_buffer_size", sqltype.BigIntType),
			column("total_buffer_size", sqltype.BigIntType),
			column(
				"buffer_policy_flags",
				sqltype.IntType,
			),
			column("buffer_policy_desc", text),
			column("flags", sqltype.IntType),
			column("flag_desc", text),
			column("dropped_event_count", sqltype.IntType),
			column(
				"dropped_buffer_count",
				sqltype.IntType,
			),
			column("blocked_event_fire_time", sqltype.IntType),
			column("create_time", sqltype.DateTimeType),
			column("largest_event_dropped_size", sqltype.IntType),
			column("session_source", text),
		},
		func(_, running bool) [][]any {
			if !running {
				return nil
			}
			none := int64(0)
			return [][]any{
				{
					[]byte{0, 0, 0, 0, 0, 0, 0, 1},
					healthSessionName,
					none,
					none,
					none,
					none,
					none,
					none,
					none,
					"drop_event",
					none,
					"flush_on_close",
					none,
					none,
					none,
					e.inst.StartTime().UTC(),
					none,
					"server",
				},
			}
		},
	)
}

func (e *Extension) healthView(
	r *engine.Registry,
	name, permission string,
	columns []tds.Column,
	rows func(startup, running bool) [][]any,
) {
	r.View(
		engine.View{
			Schema:  "sys",
			Name:    name,
			Columns: columns,
			Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
				if err := s.Require(ctx, engine.Permission{Name: permission}); err != nil {
					return nil, err
				}
				e.health.mu.Lock()
				defer e.health.mu.Unlock()
				startup, err := e.healthStartup()
				return rows(startup, e.health.running), err
			},
		},
	)
}

func (e *Extension) healthFile() string {
	return filepath.Join(e.inst.Config().DataDir, "hadr", healthSessionName)
}

func (e *Extension) healthStartup() (bool, error) {
	_, err := os.Stat(e.healthFile())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the state of event session %s: %w", healthSessionName, err)
	}
	return true, nil
}

// alterEventSession is ALTER EVENT SESSION: 25705 for one that runs already, 25704 for one that does not.
func (e *Extension) alterEventSession(ctx context.Context, s *engine.Session, st syntax.Statement, _ tds.Writer) error {
	n := st.Node.(*syntax.AlterEventSession)
	if !e.security.MayServer(ctx, s, "ALTER ANY EVENT SESSION") || !equal(n.Name, healthSessionName) {
		return failure(15151, "alter", "event session", n.Name)
	}
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	if n.State != "" && (n.State == "START") == e.health.running {
		if e.health.running {
			return &sqlerr.Error{Number: 25705, Class: 16, State: 1, Message: "The event session has already been started."}
		}
		return &sqlerr.Error{Number: 25704, Class: 16, State: 1, Message: "The event session has already been stopped."}
	}
	if n.StartupState != nil {
		if err := e.setHealthStartup(*n.StartupState); err != nil {
			return fmt.Errorf("set STARTUP_STATE of event session %s: %w", healthSessionName, err)
		}
	}
	if n.State != "" {
		e.health.running = n.State == "START"
	}
	return nil
}

func (e *Extension) setHealthStartup(on bool) error {
	if on {
		return disk.Replace(e.healthFile(), nil, 0o640)
	}
	if err := os.Remove(e.healthFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return disk.SyncFolder(filepath.Dir(e.healthFile()))
}
