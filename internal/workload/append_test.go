// SPDX-License-Identifier: Apache-2.0

//go:build integration

package workload_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// Users append to lists that they have in common and read them; what they saw has an order, the engine's lists are what
// they appended, and an element that is taken away, or put into another place, is found.
func TestAppend(t *testing.T) {
	g, s := NewWithT(t), openShop(t)
	const from = 7 * workload.ListRange
	o := workload.RecordOptions{Workers: 4, Profile: workload.Append, ListsFrom: from, ThinkTime: 2 * time.Millisecond}
	runs := s.workUntil(t, o, func(seen map[string]int) bool { return seen["append"] >= 300 })
	evidence := func() history.Evidence {
		t.Helper()
		replica, err := workload.Recorded(t.Context(), s.options, workload.Wants{Profile: workload.Append}, from)
		g.Expect(err).NotTo(HaveOccurred())
		return history.Evidence{Runs: runs, Replicas: []history.Replica{replica}}
	}
	check := func() history.Order {
		t.Helper()
		return history.Check(evidence()).Order
	}
	order := check()
	g.Expect(order.Result).To(Equal(history.Passed), order.Reason)
	g.Expect(order.Transactions).To(BeNumerically(">=", 300))
	g.Expect(order.Lists).To(BeNumerically(">", 4), "who sees a long list goes on to the next")
	// What users do is enough to plant each anomaly in, but for those of subscribers, and each is found.
	for _, p := range listappend.Plants() {
		with, planted := p.Into(evidence().Lists())
		found := history.JudgeOrder(with)
		t.Logf("%s: planted %t: %s", p.Name, planted, found.Reason)
		g.Expect(planted).To(Equal(!strings.Contains(p.Name, "subscriber")), p.Name)
		g.Expect(!planted || slices.ContainsFunc(p.Kinds, found.Has)).To(BeTrue(), p.Name)
	}
	exec := func(text string) {
		t.Helper()
		_, err := s.db.Handle().ExecContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred())
	}
	longest := "(SELECT TOP (1) Id FROM dbo.List ORDER BY LEN(Elements) DESC)"
	exec("UPDATE dbo.List SET Elements = SUBSTRING(Elements, CHARINDEX(',', Elements) + 1, LEN(Elements)) WHERE Id = " +
		longest)
	order = check()
	g.Expect(order.Result).To(Equal(history.Failed))
	g.Expect(order.Counts).To(HaveKeyWithValue(BeEquivalentTo("lost append"), 1))
	exec("DELETE FROM dbo.List WHERE Id = " + longest)
	g.Expect(check().Counts).To(HaveKeyWithValue(BeEquivalentTo("lost append"), BeNumerically(">", 1)))
	// Lists of another recording are none of this one's.
	exec("INSERT INTO dbo.List (Id, Elements) VALUES (1, '9.9.9')")
	g.Expect(check().Counts).NotTo(HaveKey(BeEquivalentTo("phantom")))
}
