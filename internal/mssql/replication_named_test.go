// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// execution is a server whose sp_help_job has these columns; the job runs.
type execution struct {
	mssql.Querier
	columns []string
	status  int
}

func (q execution) Query(_ context.Context, s tsql.Statement, scan func(mssql.Row) error) error {
	if strings.HasPrefix(s.Reason, "read job") {
		return scan(row{true, 2, "-Publisher [a]", 1, 1, 1, int64(7), ""})
	}
	return scan(namedRow(q))
}

type namedRow execution

func (r namedRow) Columns() ([]string, error) { return r.columns, nil }

func (r namedRow) Scan(dest ...any) error {
	if len(dest) != len(r.columns) {
		return errors.New("another number of columns")
	}
	if i := slices.IndexFunc(r.columns, func(c string) bool {
		return strings.EqualFold(c, "current_execution_status")
	}); i >= 0 {
		*dest[i].(*int) = r.status
	}
	return nil
}

// A version of the engine may have another column in what its procedures return, or have them in another order: what a
// job does is read by the column's name.
func TestColumnsOfAProcedureAreReadByName(t *testing.T) {
	documented := make([]string, 32)
	documented[25] = "current_execution_status"
	for name, c := range map[string]struct {
		columns []string
		fails   bool
	}{
		"as documented":    {documented, false},
		"one more":         {append([]string{"tenant"}, documented...), false},
		"one more, behind": {append(slices.Clone(documented), "tenant"), false},
		"fewer":            {documented[20:28], false},
		"in capitals":      {[]string{"CURRENT_EXECUTION_STATUS"}, false},
		"without it":       {documented[:25], true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for status, between := range map[int]bool{1: false, 3: true} {
				job, err := mssql.ReadJob(t.Context(), execution{columns: c.columns, status: status}, "agent")
				if c.fails {
					g.Expect(err).To(MatchError(ContainSubstring("of the columns")))
					continue
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(job.BetweenRetries).To(Equal(between))
			}
		})
	}
}

// pending is a distribution database whose procedure says this, in columns of which some may be unknown.
type pending struct {
	mssql.Querier
	values []int64
}

func (q pending) Query(_ context.Context, _ tsql.Statement, scan func(mssql.Row) error) error {
	return scan(numbers(q.values))
}

type numbers []int64

func (r numbers) Columns() ([]string, error) { return make([]string, len(r)), nil }

func (r numbers) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return errors.New("another number of columns")
	}
	for i := range dest {
		if to, ok := dest[i].(*int64); ok {
			*to = r[i]
		}
	}
	return nil
}

// What a procedure has behind the columns that its page has is left alone.
func TestColumnsThatFollowAreDropped(t *testing.T) {
	for _, values := range [][]int64{{7, 3}, {7, 3, 1}, {7, 3, 1, 2}} {
		g := NewWithT(t)
		commands, seconds, err := mssql.ReadPending(t.Context(), pending{values: values}, tsql.Statement{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect([]int64{commands, seconds}).To(Equal([]int64{7, 3}))
	}
}

// streams is a subscription database with these transaction_timestamps.
type streams struct {
	mssql.Querier
	rows []timestamped
}

type timestamped struct {
	publisher string
	last      []byte
	at        time.Time
}

func (q streams) Query(_ context.Context, _ tsql.Statement, scan func(mssql.Row) error) error {
	for _, r := range q.rows {
		if err := scan(r); err != nil {
			return err
		}
	}
	return nil
}

func (r timestamped) Scan(dest ...any) error {
	*dest[0].(*string), *dest[1].(*string), *dest[2].(*string), *dest[3].(*int) = r.publisher, "Content", "articles", 1
	*dest[4].(*[]byte), *dest[5].(*time.Time) = r.last, r.at
	return nil
}

// An agent with several streams tells them apart by the last byte, and may have a row for each: the subscription is as
// far as the one that is behind, and a stream's number alone says that nothing was applied.
func TestStreamsOfASubscription(t *testing.T) {
	g := NewWithT(t)
	number := func(n, stream byte) []byte {
		b := make([]byte, 16)
		b[9], b[15] = n, stream
		return b
	}
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	read := func(rows ...timestamped) []mssql.SubscriptionHere {
		all, err := mssql.ReadSubscriptionsHere(t.Context(), streams{rows: rows})
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	all := read(timestamped{"tukpub-0", number(9, 1), at}, timestamped{"TUKPUB-0", number(7, 2), at.Add(-time.Minute)},
		timestamped{"tukpub-0", number(8, 3), at}, timestamped{"other-0", number(3, 0), at})
	g.Expect(all).To(HaveLen(2))
	g.Expect(all[0].Last).To(Equal(number(7, 0)[:10]))
	g.Expect(all[0].Time).To(Equal(at.Add(-time.Minute)))
	g.Expect(all[0].Applied).To(BeTrue())
	g.Expect(read(timestamped{"tukpub-0", number(0, 4), at})[0].Applied).To(BeFalse())
	g.Expect(read(timestamped{"tukpub-0", nil, at})[0].Applied).To(BeFalse())
	snapshot := number(0, 0)
	snapshot[13] = 2
	g.Expect(read(timestamped{"tukpub-0", snapshot, at})[0].Applied).To(BeTrue(), "a snapshot's number is longer")
}
