// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// Measurements are figures of one instance, as its DMVs give them.
type Measurements struct {
	Replicas  []MeasuredReplica
	Copies    []MeasuredCopy
	Databases []MeasuredDatabase
	// Logs by database.
	Logs map[string]LogSize
}

// MeasuredReplica is a replica of a group as the instance knows it. What it does not know is empty.
type MeasuredReplica struct{ Group, Server, Role, Connected, Health string }

// MeasuredCopy is a copy of a group's database as the instance knows it. Queues are KB, rates KB per second, lag
// seconds; nil is NULL.
type MeasuredCopy struct {
	Group, Server, Database, State string
	Suspended                      bool
	SendQueueKB, SendRateKBps      *int64
	RedoQueueKB, RedoRateKBps      *int64
	LagSeconds                     *int64
	Hardened, Redone, Committed    *time.Time
}

// MeasuredDatabase is a database with what keeps its log from being truncated, NOTHING when nothing does.
type MeasuredDatabase struct{ Name, State, LogReuseWait string }

// ReadMeasurements reads the figures of an instance.
func ReadMeasurements(ctx context.Context, q Querier) (*Measurements, error) {
	m := &Measurements{}
	err := readAll(ctx, q, "measure replicas and databases", []read{
		{tsql.MeasuredReplicas(), func(r Row) error {
			var x MeasuredReplica
			err := r.Scan(&x.Group, &x.Server, &x.Role, &x.Connected, &x.Health)
			m.Replicas = append(m.Replicas, x)
			return err
		}},
		{tsql.MeasuredCopies(), m.scanCopy},
		{tsql.MeasuredDatabases(), func(r Row) error {
			var x MeasuredDatabase
			err := r.Scan(&x.Name, &x.State, &x.LogReuseWait)
			m.Databases = append(m.Databases, x)
			return err
		}},
	}...)
	if err != nil {
		return nil, err
	}
	m.Logs, err = ReadLogs(ctx, q)
	return m, err
}

func (m *Measurements) scanCopy(r Row) error {
	var x MeasuredCopy
	var send, sendRate, redo, redoRate, lag sql.NullInt64
	var hardened, redone, committed sql.NullTime
	if err := r.Scan(&x.Group, &x.Server, &x.Database, &x.State, &x.Suspended, &send, &sendRate, &redo, &redoRate, &lag,
		&hardened, &redone, &committed); err != nil {
		return err
	}
	x.SendQueueKB, x.SendRateKBps, x.RedoQueueKB, x.RedoRateKBps, x.LagSeconds = known(send), known(sendRate), known(redo),
		known(redoRate), known(lag)
	for into, from := range map[**time.Time]sql.NullTime{&x.Hardened: hardened, &x.Redone: redone,
		&x.Committed: committed} {
		if from.Valid {
			*into = &from.Time
		}
	}
	m.Copies = append(m.Copies, x)
	return nil
}

// ComponentState is what sp_server_diagnostics says of a component: 0 unknown, 1 clean, 2 warning, 3 error.
type ComponentState int

const (
	// ComponentWarning is a component that works with less than it should.
	ComponentWarning ComponentState = 2
	// ComponentError is a component that fails.
	ComponentError ComponentState = 3
)

// Component is one row of sp_server_diagnostics. Its data are not read: they are for people, and large.
type Component struct {
	// Type is "instance" or "Always On:AvailabilityGroup".
	Type string
	// Name is system, resource, query_processing, io_subsystem or events, or the name of a group.
	Name  string
	State ComponentState
}

// Diagnosis is one answer of sp_server_diagnostics.
type Diagnosis []Component

// ReadDiagnosis lets an instance examine itself.
func ReadDiagnosis(ctx context.Context, q Querier) (Diagnosis, error) {
	var d Diagnosis
	err := q.Query(ctx, tsql.ServerDiagnostics(), func(r Row) error {
		var c Component
		var at, state, data any
		err := r.Scan(&at, &c.Type, &c.Name, &c.State, &state, &data)
		d = append(d, c)
		return err
	})
	return d, err
}

// Failing is the component whose error meets the failure-condition level, empty when none does. Levels 1 and 2 are
// about an instance that does not answer at all; 3 adds system, 4 resource and 5 query_processing
// (docs/database-engine/availability-groups/windows/configure-flexible-automatic-failover-policy.md,
// FAILURE_CONDITION_LEVEL).
func (d Diagnosis) Failing(level int) string {
	from := map[string]int{"system": 3, "resource": 4, "query_processing": 5}
	for _, c := range d {
		if least, counts := from[c.Name]; c.Type == "instance" && counts && level >= least && c.State == ComponentError {
			return c.Name
		}
	}
	return ""
}
