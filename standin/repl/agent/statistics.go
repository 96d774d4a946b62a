// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	"geosql.dev/standin/repl/stored"
)

// statisticsEvery is how often an agent that runs on writes what its threads did into its history, as XML.
const statisticsEvery = 5 * time.Minute

// statistics of a run: when they were written last, or the run began, and how many commands there were then.
type statistics struct {
	at       time.Time
	commands int64
}

// due is the line for the history when it is time for one, with commands in all; empty when it is not.
func (s *statistics) due(now time.Time, commands int64) string {
	if s.at.IsZero() {
		s.at = now
	}
	elapsed := now.Sub(s.at)
	if elapsed < statisticsEvery {
		return ""
	}
	fresh := commands - s.commands
	s.at, s.commands = now, commands
	seconds := int64(elapsed.Seconds())
	return fmt.Sprintf(`<stats state="1" work="0" idle="%[1]d"><reader fetch="0" wait="0"/><writer write="0" wait="0"/>`+
		`<sincelaststats elapsedtime="%[1]d" work="0" cmds="%[2]d" cmdspersec="%.6[3]f"><reader fetch="0" wait="0"/>`+
		`<writer write="0" wait="0"/></sincelaststats></stats>`, seconds, fresh, float64(fresh)/float64(seconds))
}

// noteStatistics writes them when it is time. A snapshot agent does not run on, and has none.
func (r *agentRun) noteStatistics(ctx context.Context) {
	if r.history == "sp_MSadd_snapshot_history" {
		return
	}
	text := r.statistics.due(time.Now(), r.delivered.commands)
	if text == "" {
		return
	}
	if err := r.writeLine(context.WithoutCancel(ctx), r.distConn,
		line{status: stored.RunInProgress, comments: text, seqno: r.seqno, delivered: r.delivered}); err != nil {
		r.runner.inst.Log().Warn("replication: statistics could not be written", "agent", r.name, "error", err.Error())
	}
}
