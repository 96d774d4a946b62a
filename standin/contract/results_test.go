// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/golang-sql/sqlexp"
	. "github.com/onsi/gomega"
)

// events are what a client is told while it reads a statement's results: n a message, c a column set, r a count of
// rows, | the end of a result.
func events(t *testing.T, db executor, text string) string {
	t.Helper()
	out, _ := listen(t, db, text)
	return out
}

// notices are the texts of the messages that a statement sends beside its results.
func notices(t *testing.T, db executor, text string) []string {
	t.Helper()
	_, texts := listen(t, db, text)
	return texts
}

func listen(t *testing.T, db executor, text string) (out string, texts []string) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	said := &sqlexp.ReturnMessage{}
	rows, err := db.QueryContext(ctx, text, said)
	g.Expect(err).NotTo(HaveOccurred(), text)
	defer rows.Close()
	for more := true; more; {
		switch m := said.Message(ctx).(type) {
		case sqlexp.MsgNotice:
			out, texts = out+"n", append(texts, m.Message.String())
		case sqlexp.MsgNext:
			out += "c"
			for rows.Next() {
				g.Expect(rows.Scan(new(sql.RawBytes))).To(Succeed())
			}
		case sqlexp.MsgRowsAffected:
			out += "r"
		case sqlexp.MsgNextResultSet:
			out += "|"
			more = rows.NextResultSet()
		case sqlexp.MsgError:
			g.Expect(m.Error).NotTo(HaveOccurred(), text)
		}
	}
	g.Expect(rows.Err()).NotTo(HaveOccurred())
	return out, texts
}

// TestMessagesAreResults: each statement has an end of its own, so that a message is told apart from the results beside
// it ([MS-TDS] 2.2.7.6; docs/t-sql/statements/set-nocount-transact-sql.md).
func TestMessagesAreResults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	const loop = `DECLARE @i int = 0; DECLARE steps CURSOR LOCAL FOR SELECT 1 UNION SELECT 2; OPEN steps; FETCH NEXT FROM steps INTO @i
WHILE @@FETCH_STATUS = 0 BEGIN PRINT @i; FETCH NEXT FROM steps INTO @i END; CLOSE steps; DEALLOCATE steps`
	converse(
		t,
		db,
		[]say{{"CREATE PROCEDURE counts AS " + loop, "ok"}, {"CREATE PROCEDURE quiet AS SET NOCOUNT ON; " + loop, "ok"}},
	)
	g.Expect(events(t, db, "PRINT 'one'; SELECT 100 AS c; PRINT 'two'")).To(Equal("n|cr|n|"))
	g.Expect(events(t, db, "RAISERROR('one', 10, 1); SELECT 100 AS c")).To(Equal("n|cr|"))
	// DECLARE, OPEN, FETCH and the condition; PRINT, FETCH and the condition, twice; CLOSE, DEALLOCATE and the end of the
	// procedure.
	g.Expect(events(t, db, "EXEC counts")).To(Equal("||||n|||n||||||"))
	g.Expect(events(t, db, "EXEC quiet")).To(Equal("nn||"))
	g.Expect(events(t, db, "USE master; SELECT 100 AS c")).To(Equal("n|cr|"))
	g.Expect(events(t, db, "SET LANGUAGE us_english; SET NOCOUNT OFF; USE tempdb; SELECT 100 AS c")).To(Equal("n|n|cr|"))
}
