// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
)

// addError is sp_MSadd_repl_error. An error that is in MSrepl_errors is in the history of its agent, too.
func (e *Extension) addError(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	var command any
	seqno := call.Bytes("@xact_seqno")
	if len(seqno) > 0 {
		found, err := s.Query(
			ctx,
			`SELECT c.command_id FROM dbo.MSrepl_commands AS c JOIN dbo.MSsubscriptions AS m ON m.publisher_database_id = c.publisher_database_id AND m.article_id = c.article_id
			WHERE m.agent_id = @p1 AND c.xact_seqno = @p2 AND c.partial_command = 0 ORDER BY c.command_id OFFSET @p3 ROWS FETCH NEXT 1 ROWS ONLY`,
			call.Int("@agent_id"),
			seqno,
			max(call.Int("@nth")-1, 0),
		)
		if err != nil {
			return err
		}
		command = found.Value(0, "command_id")
	}
	id, err := writeError(ctx, s, call, seqno, command)
	if err != nil {
		return err
	}
	table := map[string]string{"sp_MSadd_distribution_history": "MSdistribution_history",
		"sp_MSadd_logreader_history": "MSlogreader_history",
		"sp_MSadd_snapshot_history":  "MSsnapshot_history"}[call.String("@history")]
	if table == "" {
		return nil
	}
	// It is what the newest row tells of.
	return s.Exec(
		ctx,
		fmt.Sprintf(
			"UPDATE dbo.%[1]s SET error_id = @p2 WHERE agent_id = @p1 AND timestamp = (SELECT MAX(x.timestamp) FROM "+
				"dbo.%[1]s AS x WHERE x.agent_id = @p1)",
			table,
		),
		call.Int("@agent_id"),
		id,
	)
}
