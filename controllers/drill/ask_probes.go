// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/probe"
)

// due are the probes of a fault that belong to this moment.
func (w *Observed) due(f v1alpha1.FaultStatus, o drill.Occurrence) []fault.Probe {
	if !w.toMeasure(f) {
		return nil
	}
	if f.State != v1alpha1.FaultInjecting {
		return again(f.Effect.Before, fault.MeasuredAs(o))
	}
	resolved, err := fault.Resolve(w.resolved, o)
	if err != nil {
		return nil
	}
	return resolved.Probes
}

// lookedAfter says whether a fault is to be looked at since it is over and what it changed is not seen to be as it was.
func (w *Observed) lookedAfter(f v1alpha1.FaultStatus) bool {
	return f.State == v1alpha1.FaultRemoved && f.Removed != nil && w.now.Sub(f.Removed.Time) < afterwards &&
		f.Effect != nil &&
		len(f.Effect.Before)+len(f.Effect.Figures) > 0 &&
		fault.StillThere(f) != ""
}

// occurrence of a spec by its name.
func occurrence(s v1alpha1.DrillSpec, name string) (drill.Occurrence, bool) {
	list := drill.Expand(s.Faults)
	i := slices.IndexFunc(list, func(o drill.Occurrence) bool { return o.Name == name })
	if i < 0 {
		return drill.Occurrence{}, false
	}
	return list[i], true
}

// probe runs probes, those from one server together. One that could not be run is left out.
func (r *Reconciler) probe(ctx context.Context, w *Observed, probes []fault.Probe) []v1alpha1.ProbeFigures {
	type together struct {
		connect, send []string
		bytes         int
	}
	from := map[v1alpha1.ServerName]*together{}
	var order []v1alpha1.ServerName
	for _, p := range probes {
		if from[p.From] == nil {
			from[p.From], order = &together{}, append(order, p.From)
		}
		one := from[p.From]
		if p.Send > 0 {
			one.send, one.bytes = append(one.send, p.To), p.Send
		} else {
			one.connect = append(one.connect, p.To)
		}
	}
	figures := make([][]v1alpha1.ProbeFigures, 2*len(order))
	var wait sync.WaitGroup
	for i, server := range order {
		if one := from[server]; len(one.connect) > 0 {
			wait.Go(func() { figures[2*i] = r.connect(ctx, w, server, one.connect) })
		}
		if one := from[server]; len(one.send) > 0 {
			wait.Go(func() { figures[2*i+1] = r.send(ctx, w, server, one.send, one.bytes) })
		}
	}
	wait.Wait()
	return slices.Concat(figures...)
}

// connect opens connections from one server to others.
func (r *Reconciler) connect(
	ctx context.Context,
	w *Observed,
	from v1alpha1.ServerName,
	to []string,
) []v1alpha1.ProbeFigures {
	return figures(
		ctx,
		r,
		w,
		from,
		to,
		probeTimeout,
		probeFigures,
		"probe",
		"--count",
		fmt.Sprint(probeCount),
		"--timeout",
		probeTimeout.String(),
	)
}

// figures are what a command of `geosql drill` in a server's pod says of others, at most so long after it began; none
// when it does not answer.
func figures[T any](
	ctx context.Context,
	r *Reconciler,
	w *Observed,
	from v1alpha1.ServerName,
	to []string,
	limit time.Duration,
	figuresOf func(v1alpha1.ServerName, T) v1alpha1.ProbeFigures,
	command ...string,
) []v1alpha1.ProbeFigures {
	arguments := append([]string{"drill"}, command...)
	for _, one := range to {
		arguments = append(arguments, "--to", one)
	}
	out, err := r.inServer(ctx, w, from, limit+askTimeout, arguments...)
	if err != nil {
		return nil
	}
	var seen []T
	if json.Unmarshal(out, &seen) != nil {
		return nil
	}
	var list []v1alpha1.ProbeFigures
	for _, s := range seen {
		list = append(list, figuresOf(from, s))
	}
	return list
}

func probeFigures(from v1alpha1.ServerName, r probe.Result) v1alpha1.ProbeFigures {
	//nolint:gosec // a few attempts
	f := v1alpha1.ProbeFigures{From: string(from), To: r.To, Attempts: int32(r.Attempts), Failures: int32(r.Failures)}
	if r.Failures < r.Attempts {
		f.Connect, f.Slowest = &metav1.Duration{
			Duration: r.Connect.Round(time.Microsecond),
		}, &metav1.Duration{
			Duration: r.Slowest.Round(time.Microsecond),
		}
	}
	return f
}

// stopped is how many processes of a server's engine are stopped.
func (r *Reconciler) stopped(ctx context.Context, w *Observed, server v1alpha1.ServerName) (probe.Frozen, error) {
	var f probe.Frozen
	out, err := r.inServer(ctx, w, server, askTimeout, "drill", "state")
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(out, &f); err != nil {
		return f, fmt.Errorf("read the state of %s: %w", server, err)
	}
	return f, nil
}
