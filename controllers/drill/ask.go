// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/workload/history"
)

const (
	// askTimeout bounds one question to a server or a pod.
	askTimeout = 8 * time.Second
	// engineTimeout bounds one look at an engine: it may be frozen.
	engineTimeout = 3 * time.Second
	// probeCount and probeTimeout are those of one look at the network. Connections that lose a packet take a second more.
	probeCount   = 5
	probeTimeout = 1500 * time.Millisecond
	// maxSamples bounds what is kept of one run.
	maxSamples = 200_000
)

// observeReplicas asks every server with data for its view of the group, and keeps it among the samples.
func (r *Reconciler) observeReplicas(ctx context.Context, w *Observed) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, name := range w.target.data {
		wait.Go(func() {
			s := r.replica(ctx, w, name)
			mu.Lock()
			defer mu.Unlock()
			w.replicas[name] = s
		})
	}
	wait.Wait()
	at := r.now()
	for _, name := range w.target.data {
		if len(w.runs.Replicas) < maxSamples {
			w.runs.Replicas = append(w.runs.Replicas, w.sample(at, name))
		}
	}
}

func (r *Reconciler) replica(ctx context.Context, w *Observed, name v1alpha1.ServerName) replicaState {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	db, err := r.connector.Open(
		ctx,
		mssql.Target{Namespace: w.drill.Namespace, Server: name, Role: credentials.RoleOperator},
	)
	if err != nil {
		return replicaState{err: err}
	}
	if w.target.group == nil {
		_, err := mssql.ReadGroupNames(ctx, db)
		return replicaState{err: err}
	}
	g, err := mssql.ReadGroup(ctx, db, w.target.group.Name)
	if err == nil && g == nil {
		err = fmt.Errorf("%s has no group %s", credentials.HostName(name), w.target.group.Name)
	}
	return replicaState{group: g, err: err}
}

// sample is what is seen of a server now: what it says itself, what the primary has yet to send to it, and what the
// primary knows it has yet to redo. Both are in the primary's rows of the others (sys.dm_hadr_database_replica_states,
// log_send_queue_size and redo_queue_size), and count though the server itself is silent: one that has much to redo may
// be.
func (w *Observed) sample(at time.Time, name v1alpha1.ServerName) archive.ReplicaSample {
	one := archive.ReplicaSample{At: at, Server: string(name), Site: string(w.target.site(name))}
	for _, other := range w.replicas {
		if other.group == nil || other.group.Role != "PRIMARY" {
			continue
		}
		for _, state := range other.group.States {
			if !state.Local && sameServer(name, state.Server) {
				one.SendQueueKB = greater(one.SendQueueKB, state.SendQueueKB)
				one.RedoQueueKB = greater(one.RedoQueueKB, state.RedoQueueKB)
			}
		}
	}
	s := w.replicas[name]
	if s.group == nil {
		return one
	}
	one.Role = s.group.Role
	for _, state := range s.group.States {
		if !state.Local {
			continue
		}
		if one.Synchronization == "" || worse(state.State, one.Synchronization) {
			one.Synchronization = state.State
		}
		one.RedoQueueKB = greater(one.RedoQueueKB, state.RedoQueueKB)
	}
	return one
}

var synchronization = []string{"SYNCHRONIZED", "SYNCHRONIZING", "INITIALIZING", "REVERTING", "NOT SYNCHRONIZING"}

func worse(a, b string) bool {
	return slices.Index(synchronization, a) > slices.Index(synchronization, b)
}

func greater(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// ask runs what has to be asked in pods at this moment.
func (r *Reconciler) ask(ctx context.Context, w *Observed) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	if within := w.newestWithin(); within > 0 {
		w.runs.clocksAsked = w.now
		w.runs.readOwnClock()
		for site, pod := range w.clients {
			if pod.Status.Phase != "Running" {
				continue
			}
			wait.Go(func() {
				newest, clock, err := r.newest(ctx, w, site, within)
				mu.Lock()
				defer mu.Unlock()
				w.latest[site], w.askErr[site] = newest, err
				if clock.Boot != "" {
					w.clocks[site] = clock
				}
			})
		}
	}
	for _, f := range w.drill.Status.Faults {
		o, ok := occurrence(w.drill.Spec, f.Name)
		if !ok {
			continue
		}
		if probes := w.due(f, o); len(probes) > 0 {
			wait.Go(func() {
				figures := r.probe(ctx, w, probes)
				mu.Lock()
				defer mu.Unlock()
				w.probes[f.Name] = figures
			})
		}
		if measure := fault.MeasureOf(fault.MeasuredAs(o)); measure != "" && w.toMeasure(f) {
			wait.Go(func() {
				figures, machine := r.measure(ctx, w, f, measure)
				mu.Lock()
				defer mu.Unlock()
				w.figures[f.Name] = figures
				w.machine.Processors, w.machine.Memory = max(w.machine.Processors, machine.Processors),
					max(w.machine.Memory, machine.Memory)
			})
		}
	}
	wait.Go(func() { r.askFrozen(ctx, w) })
	wait.Wait()
	for _, clock := range w.clocks {
		if len(w.runs.Clocks) < maxSamples {
			w.runs.Clocks = append(w.runs.Clocks, clock)
		}
	}
	for _, figures := range w.probes {
		for _, p := range figures {
			link := archive.LinkSample{At: w.now, From: p.From, To: p.To, Sent: int(p.Attempts), Lost: int(p.Failures)}
			if p.Connect != nil {
				link.RTT = &p.Connect.Duration
			}
			if len(w.runs.Links) < maxSamples {
				w.runs.Links = append(w.runs.Links, link)
			}
		}
	}
}

// askFrozen asks in the pods of servers that may be frozen how many processes are stopped.
func (r *Reconciler) askFrozen(ctx context.Context, w *Observed) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, f := range w.drill.Status.Faults {
		if !mayFreeze(f) || f.State == v1alpha1.FaultInjecting && w.running() && w.drill.DeletionTimestamp == nil {
			continue
		}
		for _, name := range struckBy(f) {
			wait.Go(func() {
				f, err := r.stopped(ctx, w, name)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					w.frozen[name], w.runOn[name] = len(f.Stopped), len(f.Processes)-len(f.Stopped)
				}
			})
		}
	}
	wait.Wait()
}

// acknowledgementsMatter says whether it must be known when clients were last served, or what their clocks show: those
// are compared before the faults and after them, when histories are about to be fetched.
func (w *Observed) acknowledgementsMatter() bool {
	switch w.drill.Status.Phase {
	case v1alpha1.DrillPreparing, v1alpha1.DrillBaseline, v1alpha1.DrillRecovering, v1alpha1.DrillJudging:
		return true
	case v1alpha1.DrillRunning:
		return w.drill.Spec.AbortWhen != nil && w.drill.Spec.AbortWhen.UnservedFor != nil
	}
	return false
}

// newest asks a site's clients for their newest acknowledgement, and compares their machine's clock with this one's.
func (r *Reconciler) newest(
	ctx context.Context,
	w *Observed,
	site v1alpha1.SiteName,
	within time.Duration,
) (history.Newest, history.ClockReading, error) {
	var newest history.Newest
	sent, began := r.now(), time.Now()
	out, err := r.inClients(ctx, w, site, within, "history", "latest")
	if err != nil {
		return newest, history.ClockReading{}, err
	}
	received := sent.Add(time.Since(began)) // whatever becomes of the wall clock meanwhile
	if err := json.Unmarshal(out, &newest); err != nil {
		return newest, history.ClockReading{}, fmt.Errorf("read what the clients at %s said: %w", site, err)
	}
	newest, clock := newest.AnsweredBetween(sent, received)
	return newest, clock, nil
}

// inClients runs the operator's program in a site's pod of clients.
func (r *Reconciler) inClients(
	ctx context.Context,
	w *Observed,
	site v1alpha1.SiteName,
	timeout time.Duration,
	arguments ...string,
) ([]byte, error) {
	member := w.members[site]
	if member == nil {
		return nil, w.unusable(site)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.pods.Run(
		ctx,
		member.RESTConfig,
		w.drill.Namespace,
		clientsName(w.drill),
		clientContainer,
		append([]string{"/geosql"}, arguments...)...)
}

// inServer runs it beside a server's engine, in the namespaces of its pod.
func (r *Reconciler) inServer(
	ctx context.Context,
	w *Observed,
	server v1alpha1.ServerName,
	timeout time.Duration,
	arguments ...string,
) ([]byte, error) {
	if w.target == nil {
		return nil, fmt.Errorf("where %s runs is not known", server)
	}
	site := w.target.site(server)
	member := w.members[site]
	if member == nil {
		return nil, w.unusable(site)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.pods.Run(
		ctx,
		member.RESTConfig,
		w.drill.Namespace,
		credentials.HostName(server),
		fault.AgentContainer,
		append([]string{"/geosql"}, arguments...)...)
}

// afterwards is how long after a fault what it changed is looked at, until it is as it was.
const afterwards = time.Minute
