// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/metrics"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	// measureTimeout bounds one reading of the engine's views.
	measureTimeout = 10 * time.Second
	// diagnoseTimeout bounds sp_server_diagnostics, which gathers for some seconds on a busy instance.
	diagnoseTimeout = 20 * time.Second
	// measureStale is when figures are too old to be shown, and findings to be acted on.
	measureStale = 30 * time.Second
	kilobyte     = 1024
)

// measurer reads the engine's views and lets it examine itself, each again and again whoever asks for metrics, so that
// many readers cost the engine no more than one, and none waits for an engine that is frozen.
type measurer struct {
	target    mssql.Target
	connector *mssql.Connector
	interval  time.Duration
	log       *slog.Logger
	// answers tells whether the engine is worth asking: a login that is refused is a line in its error log.
	answers func() bool

	mu        sync.Mutex
	figures   *mssql.Measurements
	figuresAt time.Time
	diagnosis mssql.Diagnosis
	diagnosed time.Time
}

var _ prometheus.Collector = (*measurer)(nil)

// run measures until ctx ends.
func (m *measurer) run(ctx context.Context) {
	defer m.connector.Close()
	tasks := errgroup.Group{}
	tasks.Go(func() error { m.repeat(ctx, "read the engine's views", measureTimeout, m.measure); return nil })
	tasks.Go(func() error { m.repeat(ctx, "run sp_server_diagnostics", diagnoseTimeout, m.diagnose); return nil })
	_ = tasks.Wait()
}

// repeat logs what keeps f from its work when that changes.
func (m *measurer) repeat(
	ctx context.Context,
	doing string,
	timeout time.Duration,
	f func(context.Context, *mssql.DB) error,
) {
	ticker := time.NewTicker(m.interval)
	defer ticker.Stop()
	last := ""
	for {
		var err error
		if m.answers() {
			err = m.ask(ctx, timeout, f)
		}
		if ctx.Err() != nil {
			return
		}
		now := ""
		if err != nil {
			now = err.Error()
		}
		if now != last {
			m.log.Info("measure", "doing", doing, "error", now)
		}
		last = now
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (m *measurer) ask(ctx context.Context, timeout time.Duration, f func(context.Context, *mssql.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db, err := m.connector.Open(ctx, m.target)
	if err != nil {
		return err
	}
	return f(ctx, db)
}

func (m *measurer) measure(ctx context.Context, db *mssql.DB) error {
	figures, err := mssql.ReadMeasurements(ctx, db)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.figures, m.figuresAt = figures, time.Now()
	return nil
}

func (m *measurer) diagnose(ctx context.Context, db *mssql.DB) error {
	diagnosis, err := mssql.ReadDiagnosis(ctx, db)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.diagnosis, m.diagnosed = diagnosis, time.Now()
	return nil
}

// failing is the component whose error meets the level, by a diagnosis that is not stale; empty when there is none.
func (m *measurer) failing(level int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.diagnosed) > measureStale {
		return ""
	}
	return m.diagnosis.Failing(level)
}

// fresh tells that there are figures, and that the engine is one of which they may still be true.
func (m *measurer) fresh() bool {
	return m.figures != nil && time.Since(m.figuresAt) < measureStale && m.answers()
}

// roles of the engine's own replicas by group, by figures that are not stale.
func (m *measurer) roles() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.fresh() {
		return nil
	}
	roles := map[string]string{}
	for _, r := range m.figures.Replicas {
		if r.Role != "" && strings.EqualFold(r.Server, credentials.HostName(m.target.Server)) {
			roles[r.Group] = r.Role
		}
	}
	return roles
}

// Describe implements prometheus.Collector.
func (m *measurer) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range measuredFamilies {
		descs <- f.Desc()
	}
}

// Collect implements prometheus.Collector. It asks nobody.
func (m *measurer) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := metrics.Sink(out)
	if time.Since(m.diagnosed) < measureStale {
		for _, c := range m.diagnosis {
			s.Set(diagnostics, float64(c.State), c.Type, c.Name)
		}
	}
	if !m.fresh() {
		return
	}
	s.Set(measured, float64(m.figuresAt.UnixMilli())/1000)
	for _, r := range m.figures.Replicas {
		tellReplica(s, r)
	}
	for _, c := range m.figures.Copies {
		tellCopy(s, c)
	}
	for _, d := range m.figures.Databases {
		s.Set(databaseState, 1, d.Name, d.State)
		s.Set(logReuseWait, 1, d.Name, d.LogReuseWait)
		if size, known := m.figures.Logs[d.Name]; known {
			s.Set(logSize, float64(size.TotalKB)*kilobyte, d.Name)
			s.Set(logUsed, float64(size.UsedKB)*kilobyte, d.Name)
			if room, known := size.RoomKB(); known {
				s.Set(logRoom, float64(room)*kilobyte, d.Name)
			}
		}
	}
}

func tellReplica(s metrics.Sink, r mssql.MeasuredReplica) {
	if r.Role != "" {
		s.Set(replicaRole, 1, r.Group, r.Server, r.Role)
	}
	if r.Connected != "" {
		s.SetBool(replicaConnected, r.Connected == "CONNECTED", r.Group, r.Server)
	}
	if r.Health != "" {
		s.Set(replicaHealth, 1, r.Group, r.Server, r.Health)
	}
}

func tellCopy(s metrics.Sink, c mssql.MeasuredCopy) {
	if c.State != "" {
		s.Set(copyState, 1, c.Group, c.Server, c.Database, c.State)
	}
	s.SetBool(copySuspended, c.Suspended, c.Group, c.Server, c.Database)
	for _, x := range []struct {
		family *metrics.Family
		value  *int64
		unit   float64
	}{
		{copySendQueue, c.SendQueueKB, kilobyte}, {copySendRate, c.SendRateKBps, kilobyte},
		{copyRedoQueue, c.RedoQueueKB, kilobyte}, {copyRedoRate, c.RedoRateKBps, kilobyte}, {copyLag, c.LagSeconds, 1},
	} {
		if x.value != nil {
			s.Set(x.family, float64(*x.value)*x.unit, c.Group, c.Server, c.Database)
		}
	}
	for family, at := range map[*metrics.Family]*time.Time{copyHardened: c.Hardened, copyRedone: c.Redone,
		copyCommitted: c.Committed} {
		if at != nil {
			s.Set(family, float64(at.UnixMilli())/1000, c.Group, c.Server, c.Database)
		}
	}
}
