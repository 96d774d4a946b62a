// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/probe"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

const (
	// sendFor is how long a transfer may take: a slow and lossy way needs some time until anything can be said of it.
	sendFor = 4 * time.Second
	// usageFor is how long processes are watched.
	usageFor = time.Second
)

// toMeasure says whether a fault is to be looked at now: before it is injected, while it lasts, and after it until all
// is as it was.
func (w *Observed) toMeasure(f v1alpha1.FaultStatus) bool {
	if f.Effect == nil {
		return false
	}
	before := len(f.Effect.Before)+len(f.Effect.Figures) > 0
	return f.State == v1alpha1.FaultInjecting && !before || f.State == v1alpha1.FaultActive || w.lookedAfter(f)
}

// measure looks at the servers that a fault strikes, if something is measured there.
func (r *Reconciler) measure(
	ctx context.Context,
	w *Observed,
	f v1alpha1.FaultStatus,
	measure v1alpha1.EffectMeasure,
) ([]v1alpha1.EffectFigure, fault.Machine) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	var list []v1alpha1.EffectFigure
	var machine fault.Machine
	for _, name := range struckBy(f) {
		wait.Go(func() {
			figure := v1alpha1.EffectFigure{Server: string(name), Measure: measure}
			var value int64
			var there fault.Machine
			var err error
			if measure == v1alpha1.MeasureClock {
				value, err = r.clockOffset(ctx, w, name)
			} else {
				value, there, err = r.usage(ctx, w, name, measure)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				figure.During = &value
				list = append(list, figure)
				machine.Processors, machine.Memory = max(machine.Processors, there.Processors), max(machine.Memory, there.Memory)
			}
		})
	}
	wait.Wait()
	return list, machine
}

// usage is what stressors take in a server's pod.
func (r *Reconciler) usage(
	ctx context.Context,
	w *Observed,
	server v1alpha1.ServerName,
	measure v1alpha1.EffectMeasure,
) (int64, fault.Machine, error) {
	out, err := r.inServer(ctx, w, server, usageFor+askTimeout, "drill", "usage", "--for", usageFor.String())
	if err != nil {
		return 0, fault.Machine{}, err
	}
	var u probe.Usage
	if err := json.Unmarshal(out, &u); err != nil {
		return 0, fault.Machine{}, fmt.Errorf("read what stressors take at %s: %w", server, err)
	}
	machine := fault.Machine{Processors: u.MachineProcessors, Memory: u.MachineMemory}
	if measure == v1alpha1.MeasureMemory {
		return u.Memory / 1000, machine, nil
	}
	return int64(u.Processors * 1000), machine, nil
}

// clockOffset is by how many milliseconds an engine's clock is ahead of this process's.
func (r *Reconciler) clockOffset(ctx context.Context, w *Observed, server v1alpha1.ServerName) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	db, err := r.connector.Open(
		ctx,
		mssql.Target{Namespace: w.drill.Namespace, Server: server, Role: credentials.RoleOperator},
	)
	if err != nil {
		return 0, err
	}
	var clock time.Time
	began := r.now()
	if err := db.Query(ctx, tsql.Clock(), func(row mssql.Row) error { return row.Scan(&clock) }); err != nil {
		return 0, err
	}
	ended := r.now()
	return clock.Sub(began.Add(ended.Sub(began) / 2)).Milliseconds(), nil
}

// send sends data from one server to others, to see what becomes of it on the way.
func (r *Reconciler) send(
	ctx context.Context,
	w *Observed,
	from v1alpha1.ServerName,
	to []string,
	bytes int,
) []v1alpha1.ProbeFigures {
	return figures(
		ctx,
		r,
		w,
		from,
		to,
		sendFor,
		transferFigures,
		"send",
		"--bytes",
		fmt.Sprint(bytes),
		"--for",
		sendFor.String(),
	)
}

// transferFigures are one attempt. What could not be sent over a connection that was opened says nothing of loss.
func transferFigures(from v1alpha1.ServerName, s probe.Sent) v1alpha1.ProbeFigures {
	f := v1alpha1.ProbeFigures{From: string(from), To: s.To, Attempts: 1}
	if s.Connect == 0 {
		f.Failures = 1
		return f
	}
	f.Connect = &metav1.Duration{Duration: s.Connect.Round(time.Microsecond)}
	f.Slowest = f.Connect
	if s.Segments > 0 && s.Time > 0 {
		f.Transfer = &v1alpha1.TransferFigures{
			Segments:          int64(s.Segments),
			Resent:            int64(s.Resent),
			Duplicates:        int64(s.Duplicates),
			KilobitsPerSecond: int64(float64(s.Bytes) * 8 / 1000 / s.Time.Seconds()),
		}
	}
	return f
}

// again are the probes of a fault whose figures are known, to look once more.
func again(known []v1alpha1.ProbeFigures, m drill.Occurrence) []fault.Probe {
	var list []fault.Probe
	for _, p := range known {
		one := fault.Probe{From: v1alpha1.ServerName(p.From), To: p.To}
		if host, _, err := net.SplitHostPort(p.To); err == nil && p.To == credentials.AgentAddress(host) &&
			fault.Transfers(m) {
			one.Send = fault.TransferBytes(*m.Network)
		}
		list = append(list, one)
	}
	return list
}
