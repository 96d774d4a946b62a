// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// endings keeps the ends of statements.
type endings struct{ ends []tds.Completion }

func (*endings) Columns([]tds.Column) error                  { return nil }
func (*endings) Row([]any) error                             { return nil }
func (*endings) Message(*sqlerr.Error) error                 { return nil }
func (*endings) ReturnStatus(int32) error                    { return nil }
func (*endings) ReturnValue(string, sqltype.Type, any) error { return nil }
func (*endings) Database(string, string) error               { return nil }
func (*endings) Language(string, string) error               { return nil }
func (w *endings) Done(end tds.Completion) error {
	w.ends = append(w.ends, end)
	return nil
}

// TestStatementsTellWhatTheyAre: the end of each statement tells its kind ([MS-TDS] 2.2.7.6, CurCmd), by which
// mssql-jdbc and SqlClient know what counts.
func TestStatementsTellWhatTheyAre(t *testing.T) {
	s := newServer(t)
	session, err := s.inst.Login(
		context.Background(),
		tds.LoginRequest{User: "sa", Password: "Str0ng!pass", Database: "tempdb"},
	)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { session.Close() })
	end := func(c tds.Command, count int64) tds.Completion { return tds.Completion{Command: c, Count: count} }
	fired := func(c tds.Command, count int64) tds.Completion {
		return tds.Completion{Command: c, Count: count, InTrigger: true}
	}
	for _, c := range []struct {
		text string
		want []tds.Completion
	}{
		{"CREATE TABLE t (a int PRIMARY KEY, b int); CREATE TABLE log (a int); CREATE INDEX i ON t (b)",
			[]tds.Completion{end(tds.CommandCreateTable, -1), end(tds.CommandCreateTable, -1), end(tds.CommandCreateIndex, -1)}},
		{"ALTER TABLE t ADD c int", []tds.Completion{end(tds.CommandAlterTable, -1)}},
		{"INSERT t VALUES (1, 1, 1), (2, 2, 2); UPDATE t SET b = 3; SELECT a FROM t; DELETE t WHERE a = 1", []tds.Completion{
			end(tds.CommandInsert, 2), end(tds.CommandUpdate, 2), end(tds.CommandSelect, 2), end(tds.CommandDelete, 1)}},
		{"INSERT t OUTPUT inserted.a VALUES (7, 7, 7)", []tds.Completion{end(tds.CommandInsert, 1)}},
		{"MERGE t USING (SELECT 7 AS a) AS s ON t.a = s.a WHEN MATCHED THEN DELETE;",
			[]tds.Completion{end(tds.CommandMerge, 1)}},
		{"SELECT a INTO copied FROM t; DROP TABLE copied",
			[]tds.Completion{end(tds.CommandSelectInto, 1), end(tds.CommandDropTable, -1)}},
		{"BEGIN TRANSACTION; COMMIT; BEGIN TRANSACTION; ROLLBACK", []tds.Completion{
			end(tds.CommandBegin, -1), end(tds.CommandCommit, -1), end(tds.CommandBegin, -1), end(tds.CommandRollback, -1)}},
		{"IF 1 = 1 INSERT t VALUES (3, 3, 3) ELSE DELETE t", []tds.Completion{end(tds.CommandInsert, 1)}},
		{"INSERT t VALUES (3, 3, 3)", []tds.Completion{end(tds.CommandInsert, -1)}}, // 2627
		{"SET NOCOUNT ON; UPDATE t SET b = 1; SET NOCOUNT OFF", []tds.Completion{end(tds.CommandUpdate, -1)}},
		{"CREATE TRIGGER tr ON t AFTER INSERT AS INSERT log SELECT a FROM inserted UNION ALL SELECT a FROM inserted",
			[]tds.Completion{end(tds.CommandCreateTrigger, -1)}},
		{"INSERT t VALUES (4, 4, 4)", []tds.Completion{fired(tds.CommandInsert, 2), end(tds.CommandInsert, 1)}},
		{"CREATE VIEW v AS SELECT a FROM t", []tds.Completion{end(tds.CommandCreateView, -1)}},
		{"CREATE PROCEDURE p AS DELETE log", []tds.Completion{end(tds.CommandCreateProcedure, -1)}},
		{"EXEC p", []tds.Completion{end(tds.CommandDelete, 2)}},
		{"DROP VIEW v; DROP PROCEDURE p", []tds.Completion{end(tds.CommandDropView, -1), end(tds.CommandDropProcedure, -1)}},
	} {
		w := &endings{}
		NewWithT(t).Expect(session.Batch(context.Background(), c.text, w)).To(Succeed(), c.text)
		NewWithT(t).Expect(w.ends).To(Equal(c.want), c.text)
	}
}
