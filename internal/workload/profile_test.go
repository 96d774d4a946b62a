// SPDX-License-Identifier: Apache-2.0

//go:build integration

package workload_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/support/engine"
)

// shop is an engine on which profiles are tried, one after another.
type shop struct {
	engine  *engine.Engine
	options workload.Options
	db      *mssql.DB
}

func openShop(t *testing.T) *shop {
	t.Helper()
	g := NewWithT(t)
	s := &shop{engine: engine.Start(t, "web", "tukpub")}
	folder := t.TempDir()
	for name, data := range map[string][]byte{credentials.KeySA: s.engine.Access.Passwords[credentials.KeySA],
		credentials.KeyCA: s.engine.Access.CA} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), data, 0o600)).To(Succeed())
	}
	s.options = workload.Options{Server: "tukpub", Address: s.engine.Address, Database: "Content", Credentials: folder}
	master, err := s.engine.Connector(t).Open(t.Context(), s.engine.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(master.Exec(t.Context(), tsql.CreateDatabase("Content"))).To(Succeed())
	s.db, err = s.engine.Connector(t).
		Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Database: "Content", Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())
	return s
}

func (s *shop) count(t *testing.T, query string) (n int) {
	t.Helper()
	NewWithT(t).Expect(s.db.Handle().QueryRowContext(t.Context(), query).Scan(&n)).To(Succeed())
	return n
}

// work lets users work until each interaction of those named was acknowledged some times, and returns their runs.
func (s *shop) work(t *testing.T, o workload.RecordOptions, names ...string) []history.Run {
	t.Helper()
	runs := s.workUntil(t, o, func(seen map[string]int) bool {
		for _, name := range names {
			if seen[name] < 3 {
				return false
			}
		}
		return true
	})
	for _, run := range runs {
		for _, op := range run.Operations {
			NewWithT(t).Expect(op.Outcome).To(Equal(history.OK), "%s: %s", op.Interaction, op.Reason)
		}
	}
	return runs
}

// workUntil lets users work until enough of each interaction was seen.
func (s *shop) workUntil(t *testing.T, o workload.RecordOptions, enough func(map[string]int) bool) []history.Run {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o.Options, o.Client, o.Folder, o.Timeout = s.options, "test", t.TempDir(), 10*time.Second
	for range 2 {
		g.Expect(workload.PrepareRecording(ctx, o)).To(Succeed(), "also when all is there")
	}
	done := make(chan error, 1)
	go func() { done <- workload.Record(ctx, o) }()
	r := &recording{options: o}
	g.Eventually(func() bool {
		seen := map[string]int{}
		for _, run := range r.runs(g) {
			for _, op := range run.Operations {
				if op.Outcome == history.OK {
					seen[op.Interaction]++
				}
			}
		}
		return enough(seen)
	}, time.Minute, 50*time.Millisecond).Should(BeTrue())
	g.Expect(workload.Stop(ctx, o.Folder)).To(Succeed())
	g.Eventually(done, time.Minute).Should(Receive(BeNil()))
	return r.runs(g)
}

// Users of each profile do all that it consists of; what is acknowledged of it as a row is there, with what it stands
// for, and the checker finds a row that is taken away.
func TestProfiles(t *testing.T) {
	s := openShop(t)
	for profile, c := range map[workload.Profile]struct {
		names []string
		sold  string
	}{
		workload.Bookstore: {[]string{"login", "browse", "search", "view", "orders", "buy"},
			"SELECT COUNT(*) FROM dbo.Purchase AS p JOIN dbo.Recorded AS r ON r.Run = p.Run AND r.Op = p.Op WHERE p.Line = 1"},
		workload.DecisionSupport: {[]string{"revenueByCategory", "bestSellers", "bestCustomers", "revenueByDay",
			"unsoldBooks", "load"},
			"SELECT COUNT(*) / 20 FROM dbo.Purchase AS p JOIN dbo.Recorded AS r ON r.Run = p.Run AND r.Op = p.Op"},
	} {
		t.Run(string(profile), func(t *testing.T) {
			g := NewWithT(t)
			runs := s.work(t, workload.RecordOptions{Workers: 4, Profile: profile, ThinkTime: 5 * time.Millisecond}, c.names...)
			replica, err := workload.Recorded(t.Context(), s.options, workload.Wants{Profile: profile}, 0)
			g.Expect(err).NotTo(HaveOccurred())
			v := history.Check(history.Evidence{Runs: runs, Replicas: []history.Replica{replica}})
			g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
			g.Expect(v.Counts).
				To(And(HaveField("Acknowledged", BeNumerically(">=", 3)), HaveField("Phantom", 0), HaveField("Lost", 0)))
			g.Expect(s.count(t, c.sold)).To(Equal(v.Counts.Acknowledged), "what was acknowledged was sold")
			_, err = s.db.Handle().
				ExecContext(t.Context(), "DELETE FROM dbo.Recorded WHERE Id = (SELECT MAX(Id) FROM dbo.Recorded)")
			g.Expect(err).NotTo(HaveOccurred())
			replica, err = workload.Recorded(t.Context(), s.options, workload.Wants{Profile: profile}, 0)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(history.Check(history.Evidence{Runs: runs, Replicas: []history.Replica{replica}}).Counts.Lost).To(Equal(1))
			_, err = s.db.Handle().ExecContext(t.Context(), "DELETE FROM dbo.Recorded; DELETE FROM dbo.Purchase WHERE Run > 0")
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// Each row carries its payload, in the transaction of the row; both tables tell the same rows.
func TestPayloads(t *testing.T) {
	s := openShop(t)
	for _, p := range []workload.Payload{{Table: tsql.ArticlePayload, Bytes: 1024},
		{Table: tsql.AttachmentPayload, Bytes: 100_000}} {
		t.Run(string(p.Table), func(t *testing.T) {
			g := NewWithT(t)
			began := time.Now()
			runs := s.work(
				t,
				workload.RecordOptions{
					Stages:    workload.Stages{{Users: 2, Lasts: 500 * time.Millisecond}, {Users: 3}},
					Payload:   p,
					ThinkTime: 20 * time.Millisecond,
				},
				"",
			)
			recorded, err := workload.Recorded(t.Context(), s.options, workload.Wants{}, 0)
			g.Expect(err).NotTo(HaveOccurred())
			read := func(since time.Time) history.Replica {
				copies, err := workload.ReadCopies(t.Context(), []workload.Source{{DB: s.db}},
					workload.Wants{Since: since, Payload: p})
				g.Expect(err).NotTo(HaveOccurred())
				return copies[0]
			}
			whole := read(began)
			carried := history.Rows(whole.Table(string(p.Table)).Spans)
			g.Expect(whole.Rows).To(ConsistOf(recorded.Rows))
			g.Expect(carried).To(ConsistOf(recorded.Rows))
			v := history.Check(history.Evidence{Runs: runs, Replicas: []history.Replica{whole}})
			g.Expect(v.Contents).To(Equal(history.Contents{Copies: 1, Tables: 3}), v.Contents.Wrong())
			g.Expect(v.Counts).
				To(And(HaveField("Lost", 0), HaveField("Diverging", 0), HaveField("Acknowledged", BeNumerically(">", 0))))
			column := map[tsql.PayloadTable]string{tsql.ArticlePayload: "Body", tsql.AttachmentPayload: "Content"}[p.Table]
			g.Expect(s.count(t,
				"SELECT COUNT(*) FROM "+string(p.Table)+" WHERE DATALENGTH("+column+") = "+tsql.Integer(p.Bytes))).
				To(Equal(len(carried)))
			g.Expect(read(time.Now().Add(time.Minute)).Table(string(p.Table)).Rows).To(BeZero())
			// Rows of a drill are not those that demonstrations compare.
			verified, err := workload.Verify(t.Context(), s.options)
			if p.Table == tsql.AttachmentPayload {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(verified.Attachment.Rows + verified.Article.Rows).To(BeZero())
			}
			_, err = s.db.Handle().ExecContext(t.Context(), "DELETE FROM dbo.Recorded")
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

func TestStages(t *testing.T) {
	g := NewWithT(t)
	stages, err := workload.ParseStages("10:30s,20:1m0s")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stages).To(Equal(workload.Stages{{10, 30 * time.Second}, {20, time.Minute}}))
	g.Expect(stages.String()).To(Equal("10:30s,20:1m0s"))
	for _, bad := range []string{"10", "x:30s", "10:-1s", "0:1s", "201:1s", "10:30s,"} {
		_, err := workload.ParseStages(bad)
		g.Expect(err).To(HaveOccurred(), bad)
	}
}

// Payloads' Ids grow with the time of their rows, stay below everybody else's, and fit.
func TestPayloadIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(
			rapid.Int64Range(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
				time.Date(2053, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()).
				Draw(t, "at"),
		)
		id := workload.PayloadID(at)
		if id >= 0 || id < workload.PayloadFloor(at) || id >= workload.PayloadFloor(at.Add(time.Millisecond)) {
			t.Fatalf("%s has %d", at, id)
		}
	})
}
