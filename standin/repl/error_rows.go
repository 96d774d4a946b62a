// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
)

// processFailed is the number of an agent's own message about a statement that failed.
const processFailed = 20011

// writeError writes an error's rows into MSrepl_errors, all with one id that it returns: what was attempted, which has
// no code, the agent's own message, and the server's error.
func writeError(
	ctx context.Context,
	s *engine.Session,
	call *engine.ProcCall,
	seqno []byte,
	command any,
) (int64, error) {
	attempted := "Command attempted: a statement of the agent"
	if len(seqno) > 0 {
		attempted = fmt.Sprintf("Command attempted: (Transaction sequence number: 0x%X, Command ID: %v)", seqno, command)
	}
	source := stored.Clip(call.String("@source"), 100)
	r, err := s.Query(ctx, `DECLARE @id int = (SELECT ISNULL(MAX(id), 0) + 1 FROM dbo.MSrepl_errors WITH (TABLOCKX));
		INSERT INTO dbo.MSrepl_errors (id, time, error_type_id, source_type_id, source_name, error_code, error_text, xact_seqno, command_id)
		VALUES (@id, GETDATE(), 0, 0, @p1, NULL, @p6, @p4, @p5), (@id, GETDATE(), 0, 0, @p1, @p7, @p8, @p4, @p5),
			(@id, GETDATE(), 1, 1, @p1, @p2, @p3, @p4, @p5);
		SELECT @id AS id`, source, stored.Clip(call.String("@code"), 128), call.String("@message"), seqno, command, attempted,
		fmt.Sprintf("MSSQL_REPL%d", processFailed), "The process could not execute a statement of "+source+".")
	return r.Int(0, "id"), err
}
