// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// nudgeAll has every object looked at now: engines tell nobody of their changes, and a test need not wait for the next
// look.
func (b *bed) nudgeAll(t *testing.T) {
	t.Helper()
	// A look takes a part of a second: whoever asks more often only has more of them.
	if time.Since(b.nudged) < time.Second {
		return
	}
	b.nudged = time.Now()
	d, p := published()
	note := fmt.Sprintf(`{"metadata":{"annotations":{"test.geosql.dev/look":"%d"}}}`, time.Now().UnixNano())
	for _, obj := range []client.Object{d, p, subscribed(v1alpha1.SubscriptionPull)} {
		obj.SetNamespace(namespace)
		NewWithT(
			t,
		).Expect(client.IgnoreNotFound(b.hub.Client.Patch(t.Context(), obj,
			client.RawPatch(types.MergePatchType, []byte(note))))).
			To(Succeed())
	}
}

// change patches an object's spec.
func change[T client.Object](t *testing.T, b *bed, obj T, edit func(T)) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	before := client.MergeFrom(obj.DeepCopyObject().(client.Object))
	edit(obj)
	g.Expect(b.hub.Client.Patch(t.Context(), obj, before)).To(Succeed())
}

// rows are those of a query in the database Content, as text; an error is text, too.
func (b *bed) rows(t *testing.T, server v1alpha1.ServerName, text string) func() string {
	return func() string { return b.rowsIn(t, server, "Content", text) }
}

func (b *bed) rowsIn(t *testing.T, server v1alpha1.ServerName, database, text string) string {
	var all []string
	err := b.open(t, server, database).Query(t.Context(), tsql.Statement{Text: text}, func(r mssql.Row) error {
		var one string
		err := r.Scan(&one)
		all = append(all, one)
		return err
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(all)
}

// writer inserts rows into dbo.Article at the publisher, one after another, until it is stopped.
type writer struct {
	stop func() int
	n    atomic.Int64
}

func (b *bed) write(t *testing.T, from int) *writer {
	t.Helper()
	w := &writer{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	db := b.open(t, "tukpub", "Content")
	go func() {
		pause := time.NewTicker(20 * time.Millisecond)
		defer pause.Stop()
		for i := from; ; i++ {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-pause.C:
			}
			text := fmt.Sprintf(
				"INSERT dbo.Article (Id, Body) VALUES (%d, N'live'); UPDATE dbo.Article SET Body = N'live %d' WHERE Id = %d; "+
					"DELETE dbo.Article WHERE Id = %d",
				i,
				i,
				i-1,
				i-50,
			)
			if err := db.Exec(context.WithoutCancel(ctx), tsql.Statement{Text: text}); err != nil {
				done <- err
				return
			}
			w.n.Add(1)
		}
	}()
	w.stop = func() int {
		cancel()
		var err error
		NewWithT(t).Eventually(done, patient).Should(Receive(&err))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return int(w.n.Load())
	}
	return w
}

// settle waits until the subscription delivers in the way that is wanted and both sides have the same rows.
func (b *bed) settle(t *testing.T, s *v1alpha1.Subscription, tables ...string) {
	t.Helper()
	g := NewWithT(t)
	var generation int64
	g.Eventually(func() string {
		if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err.Error()
		}
		generation = s.Generation
		for _, c := range s.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady && c.ObservedGeneration == generation {
				if c.Reason != v1alpha1.ReasonDelivering {
					b.nudgeAll(t)
				}
				return c.Reason + ": " + c.Message
			}
		}
		return "not looked at yet"
	}, patient, 500*time.Millisecond).Should(HavePrefix(v1alpha1.ReasonDelivering))
	for _, table := range tables {
		g.Eventually(func() string {
			b.nudgeAll(t)
			source, target := b.sum(t, "tukpub", table)(), b.sum(t, "dubsub", table)()
			if source != target {
				return table + ": " + source + " there, " + target + " here"
			}
			return ""
		}, patient, 500*time.Millisecond).Should(BeEmpty())
	}
}

// running are the distribution jobs that run on a server.
func (b *bed) running(t *testing.T, server v1alpha1.ServerName) func() string {
	return func() string {
		return b.rowsIn(
			t,
			server,
			"msdb",
			`SELECT DISTINCT CASE WHEN s.command LIKE N'%-SubscriptionType 1%' THEN N'pull' ELSE N'push' END
			FROM msdb.dbo.sysjobsteps AS s JOIN msdb.dbo.sysjobactivity AS a ON a.job_id = s.job_id
			WHERE s.subsystem = N'Distribution' AND a.start_execution_date IS NOT NULL AND a.stop_execution_date IS NULL
			AND a.session_id = (SELECT MAX(session_id) FROM msdb.dbo.sysjobactivity)`,
		)
	}
}

// A subscription that delivers is changed while rows are written: pull to push, the agent from the distributor to the
// subscriber, back to pull; the replication password is changed; an article is added and one is dropped. Nothing is
// lost.
func TestChangesOfALivingSubscription(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.sql(t, "tukpub", "master", "CREATE DATABASE Content")
	b.sql(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "Article"))
	b.fill(t, "tukpub", "dbo.Article", 0, 500)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	b.create(t, d)
	p.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
	b.create(t, p, s)
	b.settle(t, s, "dbo.Article")
	g.Eventually(b.running(t, "dubsub"), patient).Should(Equal("[pull]"))

	w := b.write(t, 10_000)
	for _, to := range []struct {
		kind   v1alpha1.SubscriptionType
		at     v1alpha1.AgentPlace
		server v1alpha1.ServerName
		other  v1alpha1.ServerName
		runs   string
	}{
		{v1alpha1.SubscriptionPush, v1alpha1.AgentAtDistributor, "dist", "dubsub", "[push]"},
		{v1alpha1.SubscriptionPush, v1alpha1.AgentAtSubscriber, "dubsub", "dist", "[push]"},
		{v1alpha1.SubscriptionPull, v1alpha1.AgentAtSubscriber, "dubsub", "dist", "[pull]"},
	} {
		began := w.n.Load()
		change(t, b, s, func(s *v1alpha1.Subscription) { s.Spec.Type, s.Spec.AgentAt = to.kind, to.at })
		b.settle(t, s)
		g.Eventually(b.running(t, to.server), patient).Should(Equal(to.runs), "%s, agent at %s", to.kind, to.at)
		g.Eventually(b.running(t, to.other), patient).Should(Equal("[]"), "%s, agent at %s", to.kind, to.at)
		g.Eventually(w.n.Load, patient).Should(BeNumerically(">", began))
	}
	b.rotate(t)
	b.settle(t, s)
	g.Expect(w.stop()).To(BeNumerically(">", 50))
	b.settle(t, s, "dbo.Article")
	g.Expect(b.rows(t, "tukpub", "SELECT Body FROM dbo.Article WHERE Id >= 10000 ORDER BY Id")()).To(
		Equal(b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id >= 10000 ORDER BY Id")()))

	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "More"))
	b.fill(t, "tukpub", "dbo.More", 0, 50)
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.More"})
	})
	b.settle(t, s, "dbo.More")
	b.sql(t, "dubsub", "Content", "INSERT dbo.More (Id, Body) VALUES (1000, N'not replaced')")
	change(t, b, p, func(p *v1alpha1.Publication) { p.Spec.Articles = p.Spec.Articles[1:] })
	g.Eventually(b.rows(t, "tukpub", "SELECT name FROM dbo.sysarticles ORDER BY name"), patient).
		Should(Equal("[dbo.More]"))
	b.sql(
		t,
		"tukpub",
		"Content",
		"INSERT dbo.Article (Id, Body) VALUES (999999, N'not replicated'); INSERT dbo.More (Id, Body) VALUES (1001, "+
			"N'replicated')",
	)
	g.Eventually(b.rows(t, "dubsub", "SELECT Body FROM dbo.More WHERE Id >= 1000 ORDER BY Id"), patient).
		Should(Equal("[not replaced replicated]"))
	g.Expect(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article WHERE Id = 999999")()).
		To(Equal("[0]"), "the copy of a dropped article stays as it was")
}

// rotate gives the distributor's server another replication password, from which the agents' are derived, and waits
// until every login has its own.
func (b *bed) rotate(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	const hashes = "SELECT CONVERT(nvarchar(200), password_hash, 1) FROM sys.sql_logins WHERE name LIKE " +
		"N'geosql[_]replication%'"
	before := map[v1alpha1.ServerName]string{}
	for server := range b.engines {
		before[server] = b.rowsIn(t, server, "master", hashes)
		g.Expect(before[server]).To(HavePrefix("[0x"), "login at %s", server)
	}
	fresh, err := credentials.Agree(nil, nil, false)
	g.Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = namespace, credentials.PasswordsName("dist")
	change(t, b, secret, func(s *corev1.Secret) {
		s.Data[credentials.RoleReplication.Key()] = fresh.Passwords[credentials.RoleReplication.Key()]
	})
	for server := range b.engines {
		g.Eventually(func() string {
			b.nudgeAll(t)
			return b.rowsIn(t, server, "master", hashes)
		}, patient, 500*time.Millisecond).Should(And(HavePrefix("[0x"), Not(Equal(before[server]))),
			"the password at %s changes", server)
	}
}
