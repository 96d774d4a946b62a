// SPDX-License-Identifier: Apache-2.0

//go:build integration

package workload_test

import (
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
)

// Users buy, and one copy and another are read with every row of every table; what is then changed by hand is found.
func TestReadingOfCopies(t *testing.T) {
	s := openShop(t)
	g := NewWithT(t)
	o := workload.RecordOptions{Workers: 2, Rate: 50, Registers: 3, Profile: workload.Bookstore,
		Payload: workload.Payload{Table: tsql.ArticlePayload, Bytes: 64}}
	s.work(t, o, "buy") // an earlier run
	var after int64
	g.Expect(s.db.Handle().QueryRowContext(t.Context(), tsql.GreatestRecorded().Text).Scan(&after)).To(Succeed())
	sold, err := workload.ReadSold(t.Context(), s.db, workload.Bookstore)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*sold).NotTo(BeEmpty())
	runs := s.work(t, o, "buy")

	w := workload.Wants{After: after, Profile: o.Profile, Payload: o.Payload, Sold: workload.ParseSold(sold)}
	subscriber := workload.Source{DB: s.db, Subscriber: true,
		Tables: []string{string(tsql.ArticlePayload), history.TableRecorded}}
	check := func() history.Verdict {
		t.Helper()
		read, err := workload.ReadCopies(t.Context(), []workload.Source{{DB: s.db}, {DB: s.db}, subscriber}, w)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read[0].Rows).NotTo(BeEmpty())
		g.Expect(read[2].Rows).To(HaveLen(len(read[0].Rows)))
		g.Expect(read[2].Tables).To(HaveLen(2))
		return history.Check(history.Evidence{Runs: runs, Replicas: read[:2], Subscribers: read[2:]})
	}
	v := check()
	g.Expect(v.Contents).To(Equal(history.Contents{Copies: 3, Tables: 12}), v.Contents.Wrong())
	g.Expect(v.Counts.Phantom + v.Counts.Lost).To(BeZero())

	row := history.RowID{}
	g.Expect(s.db.Handle().QueryRowContext(t.Context(),
		"SELECT TOP (1) Run, Op FROM dbo.Recorded WHERE Id > @p1 ORDER BY Id", after).
		Scan(&row.Run, &row.Number)).To(Succeed())
	for _, c := range []struct{ change, want string }{
		{"UPDATE dbo.Article SET Body = STUFF(Body, 60, 1, '~') WHERE Id = (SELECT MAX(Id) FROM dbo.Article WHERE Id < 0)",
			"3 payloads are not what was written: dbo.Article of tukpub-0: run "},
		{"DELETE FROM dbo.Article WHERE Id = (SELECT MAX(Id) FROM dbo.Article WHERE Id < 0)",
			"3 transactions are there in part: "},
		{"UPDATE dbo.Article SET Body = 'x' WHERE Id = (SELECT MIN(Id) FROM dbo.Article WHERE Id < 0)",
			" names no row"},
		{"UPDATE dbo.Book SET Sold = Sold + 1 WHERE Id = 17", "dbo.Book of tukpub-0: book 17 says that "},
		{"DELETE FROM dbo.Book WHERE Id = (SELECT TOP (1) BookId FROM dbo.Purchase WHERE Run = " + text(row.Run) + ")",
			" is not there, and there are "},
		{"DELETE FROM dbo.Purchase WHERE Run = " + text(row.Run) + " AND Op = " + text(row.Number),
			"tukpub-0: run " + text(row.Run) + " operation " + text(row.Number) +
				" is in dbo.Recorded with 0 of 1 rows in dbo.Purchase"},
		{"INSERT INTO dbo.Purchase (Run, Op, Line, CustomerId, BookId, Amount, SoldAt) " +
			"VALUES (5, 1, 1, 1, 1, 1, SYSUTCDATETIME())",
			"dbo.Purchase of tukpub-0: run 5 operation 1 is of nobody"},
	} {
		_, err := s.db.Handle().ExecContext(t.Context(), c.change)
		g.Expect(err).NotTo(HaveOccurred())
		v := check()
		g.Expect(v.Result).To(Equal(history.Failed))
		g.Expect(v.Contents.Wrong()).To(ContainSubstring(c.want))
	}
}

func text(n int64) string { return strconv.FormatInt(n, 10) }
