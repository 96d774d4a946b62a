// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"geosql.dev/standin/repl/stored"
)

// waitingMessage is what the history says while a server takes long to answer
// (docs/relational-databases/replication/agents/replication-distribution-agent.md, -KeepAliveMessageInterval).
const waitingMessage = "The process is running and is waiting for a response from the server."

// keepAlive writes a line of history every -KeepAliveMessageInterval seconds in which a server has not answered a
// statement for that long, so that a long batch is not taken for a dead agent. It ends with stop.
func (r *agentRun) keepAlive(ctx context.Context, server *Conn, to *aside) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.watch(ctx, server, to)
	}()
	return func() { cancel(); <-ended }
}

func (r *agentRun) watch(ctx context.Context, server *Conn, to *aside) {
	interval := r.args.seconds("-KeepAliveMessageInterval", 300)
	if interval <= 0 {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if since := server.waitingSince(); since.IsZero() || time.Since(since) < interval {
			continue
		}
		to.note(ctx, line{status: stored.RunInProgress, comments: waitingMessage, waiting: true})
	}
}
