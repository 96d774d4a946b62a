// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/stage"
	"geosql.dev/operator/test/support/wan"
)

const (
	publisher   = "tukpub"
	distributor = "dist"
	subscriber  = "dubsub"
	// rowsOfMB are rows of 1 KB.
	rowsOfMB = 1000
	// writesEvery is the time between two rows that are written while the subscriber begins.
	writesEvery = 50 * time.Millisecond
	// often is how often what is awaited is looked at, where the engines would feel more.
	often = 200 * time.Millisecond
	// statementWithin bounds a statement of the test's own, whose time grows with the data.
	statementWithin = 10 * time.Minute
)

// installation is a whole one on this machine, with the emulated link between the publisher's site, where the
// distributor is too, and the subscriber's: the subscriber's sidecar reaches the distributor's over it, and its engine
// the distributor's engine.
type installation struct {
	*stage.Stage
	net *wan.Net
	// databases and runs are how many there were.
	databases, runs int
}

func newInstallation(t testing.TB) *installation {
	t.Helper()
	i := &installation{net: wan.New(t, 1), Stage: stage.New(t)}
	i.Reach(distributor, i.net.Through(t, 0, i.Sidecar(distributor)))
	_, port, err := net.SplitHostPort(i.net.Through(t, 0, i.Engine(distributor)))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	i.SQL(t, subscriber, "master", fmt.Sprintf("EXEC sp_dropserver @server = N'%[1]s', @droplogins = 'droplogins'; "+
		"EXEC sp_addlinkedserver @server = N'%[1]s', @srvproduct = N'', @provider = N'MSOLEDBSQL', "+
		"@datasrc = N'127.0.0.1,%[2]s'", credentials.HostName(distributor), port))
	i.StartManager(t, struct{}{})
	i.declare(t, &v1alpha1.Distributor{ObjectMeta: named("main"), Spec: v1alpha1.DistributorSpec{Server: distributor}})
	return i
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: stage.Namespace, Name: name}
}

func (i *installation) declare(t testing.TB, object client.Object) {
	t.Helper()
	NewWithT(t).Expect(i.Hub.Client.Create(t.Context(), object)).To(Succeed())
}

// published is a database at the publisher with its Publication, both of one name but for the case.
type published struct {
	database, publication string
	// rows that the table dbo.Article has, whose keys count from 0.
	rows int64
}

// bytes of the table.
func (p *published) bytes() int64 { return p.rows * 1e6 / rowsOfMB }

// publish makes a database of so many MB, and declares its Publication, which is Ready then: what all ways need before
// them counts for none.
func (i *installation) publish(t testing.TB, mb int) *published {
	t.Helper()
	i.databases++
	p := &published{database: fmt.Sprintf("Content%d", i.databases), publication: fmt.Sprintf("content%d", i.databases)}
	i.SQL(t, publisher, "master", "CREATE DATABASE "+p.database)
	i.SQL(t, publisher, "master", fmt.Sprintf("BACKUP DATABASE %[1]s TO DISK = N'%[1]s.bak'", p.database))
	i.SQL(t, publisher, p.database,
		"CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, V varbinary(500) NOT NULL, Filler char(500) NOT NULL)")
	i.SQL(t, publisher, p.database, i.row(0))
	const atOnce = 10_000
	for p.rows = 1; p.rows < int64(rowsOfMB*mb); {
		more := min(p.rows, atOnce, int64(rowsOfMB*mb)-p.rows)
		i.long(t, publisher, p.database, fmt.Sprintf("INSERT dbo.Article (Id, V, Filler) "+
			"SELECT Id + %d, CAST(%s AS varbinary(500)), Filler FROM dbo.Article WHERE Id < %d", p.rows, noise(), more))
		p.rows += more
	}
	i.declare(t, &v1alpha1.Publication{ObjectMeta: named(p.publication), Spec: v1alpha1.PublicationSpec{
		Publisher: v1alpha1.ServerOrGroup{Server: publisher}, Database: v1alpha1.DatabaseName(p.database),
		Distributor: "main", Articles: []v1alpha1.Article{{Table: "dbo.Article"}}}})
	NewWithT(t).Eventually(func() string { return i.Waiting(t) }, patience, often).
		Should(BeEmpty(), func() string { return i.Logged(t) })
	return p
}

// row is a statement that writes one of 1 KB, of which half shrinks.
func (i *installation) row(id int64) string {
	return fmt.Sprintf("INSERT dbo.Article (Id, V, Filler) "+
		"SELECT %d, CAST(%s AS varbinary(500)), 'the same in each row'", id, noise())
}

// noise is an expression of 512 bytes that nothing compresses.
func noise() string {
	text := "CAST(NEWID() AS binary(16))"
	for range 5 {
		text += " + " + text
	}
	return text
}

// long executes a batch that may take minutes.
func (i *installation) long(t testing.TB, server v1alpha1.ServerName, database, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), statementWithin)
	defer cancel()
	NewWithT(t).Expect(i.DB(t, server, database).Exec(ctx, tsql.Statement{Text: text})).To(Succeed())
}

// sums are what the rows of a table come to.
type sums struct{ rows, keys, checksum int64 }

// sums of the table at a server; none while it cannot be read.
func (i *installation) sums(t testing.TB, server v1alpha1.ServerName, p *published) (s sums) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), statementWithin)
	defer cancel()
	_ = i.DB(t, server, p.database).Query(ctx, tsql.Statement{Text: "SELECT COUNT_BIG(*), COUNT_BIG(DISTINCT Id), " +
		"COALESCE(SUM(CAST(BINARY_CHECKSUM(Id, V, Filler) AS bigint)), 0) FROM dbo.Article"},
		func(r mssql.Row) error { return r.Scan(&s.rows, &s.keys, &s.checksum) })
	return s
}

// last is the greatest key at the subscriber, -1 while there is none.
func (i *installation) last(t testing.TB, p *published) int64 {
	t.Helper()
	key := int64(-1)
	s := tsql.Statement{Text: "SELECT COALESCE(MAX(Id), -1) FROM dbo.Article"}
	_ = i.DB(t, subscriber, p.database).Query(t.Context(), s, func(r mssql.Row) error { return r.Scan(&key) })
	return key
}

// writer writes rows at the publisher until it is ended.
type writer struct {
	end     context.CancelFunc
	done    chan struct{}
	written atomic.Int64
	err     error
}

// write begins to write rows.
func (i *installation) write(t testing.TB, p *published) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{end: cancel, done: make(chan struct{})}
	db := i.DB(t, publisher, p.database)
	go func() {
		defer close(w.done)
		tick := time.NewTicker(writesEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// One that was begun is ended: it may have been carried out.
			s := tsql.Statement{Text: i.row(p.rows + w.written.Load())}
			if w.err = db.Exec(context.WithoutCancel(ctx), s); w.err != nil {
				return
			}
			w.written.Add(1)
		}
	}()
	t.Cleanup(func() { cancel(); <-w.done })
	return w
}

// ended ends the writer; its rows are the table's.
func (w *writer) ended(t testing.TB, p *published) int64 {
	t.Helper()
	w.end()
	<-w.done
	NewWithT(t).Expect(w.err).NotTo(HaveOccurred())
	p.rows += w.written.Load()
	return w.written.Load()
}

// remove deletes a Subscription, with what it is at the servers; its tables stay.
func (i *installation) remove(t testing.TB, s *v1alpha1.Subscription) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(i.Hub.Client.Delete(t.Context(), s)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(i.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	}, patience, often).Should(BeTrue(), "Subscription %s goes", s.Name)
}

// forget has the subscriber's site have nothing of what it had.
func (i *installation) forget(t testing.TB, p *published) {
	t.Helper()
	i.SQL(t, subscriber, "master", fmt.Sprintf("IF DB_ID(N'%[1]s') IS NOT NULL BEGIN ALTER DATABASE %[1]s "+
		"SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE %[1]s END", p.database))
	NewWithT(t).Expect(os.RemoveAll(filepath.Join(i.MirrorOf(subscriber, distributor), tree))).To(Succeed())
}
