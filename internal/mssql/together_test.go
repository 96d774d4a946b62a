// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"context"
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// counted counts the round trips of a connection that is open.
type counted struct {
	mssql.Querier
	trips int
}

func (c *counted) Exec(ctx context.Context, s tsql.Statement) error {
	c.trips++
	return c.Querier.Exec(ctx, s)
}

func (c *counted) Query(ctx context.Context, s tsql.Statement, scan func(mssql.Row) error) error {
	c.trips++
	return c.Querier.Query(ctx, s, scan)
}

func (c *counted) QueryEach(ctx context.Context, s tsql.Statement, scans ...func(mssql.Row) error) error {
	c.trips++
	return c.Querier.QueryEach(ctx, s, scans...)
}

// The manager is up to a fifth of a second away from an instance: what it looks at every few seconds takes one round
// trip.
func TestWhatIsReadInOneRoundTrip(t *testing.T) {
	master := open(t, engine.Start(t, "web", "tukpub"))
	for name, read := range map[string]func(q mssql.Querier) error{
		"the instance's part in groups": func(q mssql.Querier) error {
			_,
				err := mssql.ReadMirroring(t.Context(), q)
			return err
		},
		"a group that is not there": func(q mssql.Querier) error {
			_,
				err := mssql.ReadGroup(t.Context(), q, "content")
			return err
		},
		"a subscriber's database": func(q mssql.Querier) error {
			_,
				err := mssql.ReadSubscriptionDatabase(t.Context(), q, "agents", tsql.PullSubscription{})
			return err
		},
		"a publisher's database": func(q mssql.Querier) error {
			_,
				err := mssql.ReadPublishedDatabase(t.Context(), q, "agents", "articles", false)
			return err
		},
		"the logs": func(q mssql.Querier) error { _, err := mssql.ReadLogs(t.Context(), q); return err },
		"the principals": func(q mssql.Querier) error {
			_,
				err := mssql.ReadPrincipals(t.Context(), q)
			return err
		},
	} {
		q := &counted{Querier: master}
		NewWithT(t).Expect(read(q)).To(Succeed(), name)
		NewWithT(t).Expect(q.trips).To(Equal(1), name)
	}
	q := &counted{Querier: master}
	server, role, err := mssql.ReadReplicationServer(t.Context(), q, "agents", "Str0ng-and-long.secret", "content")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(q.trips).To(Equal(2), "and one for a procedure")
	NewWithT(t).Expect(role).To(BeEmpty())
	NewWithT(t).Expect(server.ProductVersion).NotTo(BeEmpty())
}

// Each result set goes to its own function; one that is missing, and an error within the batch, are told.
func TestQueryEach(t *testing.T) {
	g := NewWithT(t)
	master := open(t, engine.Start(t, "web", "tukpub"))
	var first, second []int
	into := func(list *[]int) func(mssql.Row) error {
		return func(r mssql.Row) error {
			var n int
			err := r.Scan(&n)
			*list = append(*list, n)
			return err
		}
	}
	g.Expect(master.QueryEach(t.Context(), statement("SELECT 1 UNION ALL SELECT 2; SELECT 3"), into(&first),
		into(&second))).
		To(Succeed())
	g.Expect(first).To(Equal([]int{1, 2}))
	g.Expect(second).To(Equal([]int{3}))

	first, second = nil, nil
	g.Expect(master.QueryEach(t.Context(), statement("SELECT 1 WHERE 1 = 0; SELECT 3"), into(&first), into(&second))).
		To(Succeed(), "an empty one is one")
	g.Expect(first).To(BeEmpty())
	g.Expect(second).To(Equal([]int{3}))

	g.Expect(master.QueryEach(t.Context(), statement("SELECT 1"), into(&first), into(&second))).
		To(MatchError(ContainSubstring("1 result sets instead of 2")))
	err := master.QueryEach(t.Context(), statement("SELECT 1; SELECT 1 / (1 - 1)"), into(&first), into(&second))
	g.Expect(err).To(MatchError(ContainSubstring("8134")))

	// A statement without a result set fails in the midst: what follows is read in its place.
	midst := statement("SELECT @n; RAISERROR(N'in the midst', 16, 1); SELECT 3, 4", sql.Named("n", 1))
	err = master.QueryEach(t.Context(), midst, into(&first), into(&second))
	g.Expect(err).To(MatchError(ContainSubstring("in the midst")), "and not how many columns there are")
	g.Expect(mssql.HasNumber(err, 50000)).To(BeTrue())
}
