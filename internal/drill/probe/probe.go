// SPDX-License-Identifier: Apache-2.0

// Package probe is what a drill runs in the pods of servers: probes of the network as the pod sees it, and the freezing
// of an engine.
package probe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Result is what one address was seen to do.
type Result struct {
	// To is host:port.
	To string `json:"to"`
	// Attempts to open a TCP connection, and Failures of them: unreachable or too slow. One that was refused is no
	// attempt: a process that does not listen, or a node that knows no pod of the name, answered, and the way was not
	// tried.
	Attempts int `json:"attempts"`
	Failures int `json:"failures"`
	// Connect is the median time of those that succeeded, one round trip, and Slowest the longest; 0 without any.
	Connect time.Duration `json:"connect"`
	Slowest time.Duration `json:"slowest"`
	// Reason of the last failure.
	Reason string `json:"reason,omitempty"`
}

// Options of a probe.
type Options struct {
	// To are the addresses, host:port.
	To []string
	// Count of attempts for each address; the addresses are probed at the same time.
	Count int
	// Timeout of one attempt.
	Timeout time.Duration
	// Pause between the beginnings of attempts.
	Pause time.Duration
}

// Run opens TCP connections and closes them again. A name is looked up once for each attempt, and its time does not
// count.
func Run(ctx context.Context, o Options) []Result {
	results := make([]Result, len(o.To))
	var wait sync.WaitGroup
	for i, to := range o.To {
		wait.Go(func() { results[i] = ask(ctx, o, to) })
	}
	wait.Wait()
	return results
}

// ask begins the attempts one after another and does not wait for the answer of one before the next.
func ask(ctx context.Context, o Options, to string) Result {
	type answer struct {
		took time.Duration
		err  error
	}
	answers := make([]answer, o.Count)
	var wait sync.WaitGroup
	for n := range o.Count {
		if n > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(o.Pause):
			}
		}
		wait.Go(func() { answers[n].took, answers[n].err = connect(ctx, to, o.Timeout) })
	}
	wait.Wait()
	r := Result{To: to, Attempts: o.Count}
	var times []time.Duration
	for _, a := range answers {
		if a.err != nil {
			if errors.Is(a.err, syscall.ECONNREFUSED) {
				r.Attempts--
			} else {
				r.Failures++
			}
			r.Reason = a.err.Error()
			continue
		}
		times = append(times, a.took)
	}
	if len(times) > 0 {
		slices.SortFunc(times, cmp.Compare[time.Duration])
		r.Connect, r.Slowest = times[(len(times)-1)/2], times[len(times)-1]
	}
	return r
}

func connect(ctx context.Context, to string, timeout time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return 0, err
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(addresses[0], port))
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	_ = conn.Close()
	return took, nil
}
