// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// plugin runs kubectl geosql at a site as a person there would.
func plugin(t *testing.T, b *bed.Bed, site string, timeout time.Duration, arguments ...string) (string, error) {
	t.Helper()
	program := os.Getenv("KUBECTL_GEOSQL")
	if program == "" {
		program = filepath.Join(b.Cache, "bin-project", "kubectl-geosql")
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append(arguments, "--context", "kind-"+site, "-n", namespace)...).
		CombinedOutput()
	t.Logf("at %s: kubectl geosql %v (%v)\n%s", site, arguments, err, out)
	return string(out), err
}

// lifecycle writes spec.lifecycle of a Site.
func lifecycle(ctx context.Context, b *bed.Bed, site string, lifecycle v1alpha1.SiteLifecycle) error {
	var s v1alpha1.Site
	if err := b.Hub().Client.Get(ctx, client.ObjectKey{Name: site}, &s); err != nil {
		return err
	}
	before := client.MergeFrom(s.DeepCopy())
	s.Spec.Lifecycle = lifecycle
	return b.Hub().Client.Patch(ctx, &s, before)
}

// loseSite cuts a site off from both others and has it brought back, Active and answering, before anything is removed.
func loseSite(t *testing.T, b *bed.Bed, site string, others ...string) (back func()) {
	t.Helper()
	heal := func() {
		b.Wan(t, append([]string{"heal", site}, others...)...)
		// The test's own context is over when it is cleaned up.
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := lifecycle(ctx, b, site, v1alpha1.SiteActive); err != nil {
			t.Errorf("declare site %s active again: %v", site, err)
		}
		NewWithT(t).Eventually(ctx, func() string {
			_, text, err := readSite(ctx, b, site)
			return fmt.Sprint(text, " ", err)
		}, 2*time.Minute, time.Second).Should(HavePrefix(answering), "site %s answers again", site)
	}
	t.Cleanup(heal)
	b.Wan(t, append([]string{"cut", site}, others...)...)
	waitForSite(t, b, site, unreachable, time.Minute)
	return heal
}

// endMoves removes the moves of a publication: an approved one that this test has left would be gone on with by the
// next.
func endMoves(t *testing.T, b *bed.Bed, publication v1alpha1.ObjectName) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var moves v1alpha1.PublisherMoveList
	if err := b.Hub().Client.List(ctx, &moves, client.InNamespace(namespace)); err != nil {
		t.Errorf("list the moves of publication %s: %v", publication, err)
	}
	for i := range moves.Items {
		if moves.Items[i].Spec.Publication != publication {
			continue
		}
		if err := client.IgnoreNotFound(b.Hub().Client.Delete(ctx, &moves.Items[i])); err != nil {
			t.Errorf("delete PublisherMove %s: %v", moves.Items[i].Name, err)
		}
	}
}

// movedTopology is a publication with one subscriber at each other site, and what is needed for its move.
type movedTopology struct {
	publisher, distributor, far, quincy, dublin *v1alpha1.SQLServer
	publication                                 *v1alpha1.Publication
	toQuincy, toDublin                          *v1alpha1.Subscription
	// sources of rows, and copies, each reached from its own site.
	source, atQuincy, atDublin *mssql.DB
}

func subscriptionTo(
	name, publication string,
	server *v1alpha1.SQLServer,
	kind v1alpha1.SubscriptionType,
) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{ObjectMeta: fresh(name), Spec: v1alpha1.SubscriptionSpec{
		Publication: v1alpha1.ObjectName(
			publication,
		), Subscriber: v1alpha1.ServerOrGroup{Server: v1alpha1.ServerName(server.Name)},
		Database: "Content", Type: kind,
	}}
}

// declareMoved brings up a publisher and its distributor in Tukwila, subscribers in Quincy (push) and Dublin (pull),
// and another distributor in Quincy that nobody uses yet.
func declareMoved(t *testing.T, b *bed.Bed) *movedTopology {
	t.Helper()
	m := &movedTopology{
		publisher: declareServer(
			t,
			b,
			"e2empub",
			"tukwila",
			nil,
		), distributor: declareServer(t, b, "e2emdist", "tukwila", nil),
		far: declareServer(
			t,
			b,
			"e2emfar",
			"quincy",
			nil,
		), quincy: declareServer(t, b, "e2emqui", "quincy", nil), dublin: declareServer(t, b, "e2emdub", "dublin", nil),
	}
	servers := []*v1alpha1.SQLServer{m.publisher, m.distributor, m.far, m.quincy, m.dublin}
	removedTogether(t, b, servers...)
	for _, s := range servers {
		waitForServer(t, b, s, 4*time.Minute)
	}
	at := func(s *v1alpha1.SQLServer, database string) *mssql.DB {
		return open(
			t,
			connectorFrom(t, b, shellAt(t, b.Site(string(s.Spec.Site)), namespace)),
			s,
			credentials.RoleSA,
			database,
		)
	}
	write(t, at(m.publisher, "master"), "CREATE DATABASE Content")
	m.source = at(m.publisher, "Content")
	write(t, m.source, "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(1000) NOT NULL)")
	insertRows(t, m.source, "dbo.Article", 0, 2000)

	m.publication = &v1alpha1.Publication{ObjectMeta: fresh("e2em"), Spec: v1alpha1.PublicationSpec{
		Publisher: v1alpha1.ServerOrGroup{Server: "e2empub"}, Database: "Content", Distributor: "e2em",
		Articles: []v1alpha1.Article{{Table: "dbo.Article"}},
	}}
	m.toQuincy = subscriptionTo("e2em-quincy", "e2em", m.quincy, v1alpha1.SubscriptionPush)
	m.toDublin = subscriptionTo("e2em-dublin", "e2em", m.dublin, v1alpha1.SubscriptionPull)
	for _, obj := range []client.Object{
		&v1alpha1.Distributor{ObjectMeta: fresh("e2em"), Spec: v1alpha1.DistributorSpec{Server: "e2emdist"}},
		&v1alpha1.Distributor{ObjectMeta: fresh("e2em-far"), Spec: v1alpha1.DistributorSpec{Server: "e2emfar"}},
		m.publication, m.toQuincy, m.toDublin,
	} {
		declareReplication(t, b, obj)
	}
	for _, s := range []*v1alpha1.Subscription{m.toQuincy, m.toDublin} {
		waitForReady(t, b, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering, 5*time.Minute)
	}
	m.atQuincy, m.atDublin = at(m.quincy, "Content"), at(m.dublin, "Content")
	insertRows(t, m.source, "dbo.Article", 2000, 2300)
	want := digest(t, m.source, "dbo.Article")()
	for _, copied := range []*mssql.DB{m.atQuincy, m.atDublin} {
		NewWithT(t).Eventually(digest(t, copied, "dbo.Article"), time.Minute, time.Second).Should(Equal(want))
	}
	return m
}

// The site of a publisher and of its distributor is lost: cut off, with both alive behind the cut. One command shows
// what is lost and then publishes from the subscriber in Dublin by way of the distributor in Quincy; the subscriber in
// Quincy goes on without a new copy. Nothing of the former publisher arrives when its site is back.
func TestPublishingMovesFromALostSite(t *testing.T) {
	if os.Getenv(soakRounds) == "" {
		t.Skip("in make soak only: " + soakRounds + " is not set")
	}
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.ResetWan(t)
	t.Cleanup(func() { endMoves(t, b, "e2em") })
	m := declareMoved(t, b)
	back := loseSite(t, b, "tukwila", "quincy", "dublin")
	lost := time.Now()
	write(t, m.source, "INSERT dbo.Article VALUES (5000, N'never replicated')")

	move := []string{"move-publisher", "e2em", "--to", "e2emdub", "--distributor", "e2em-far", "--estimate-timeout", "2m"}
	out, err := plugin(t, b, "dublin", 3*time.Minute, append(move, "--estimate")...)
	g.Expect(err).To(HaveOccurred())
	g.Expect(out).
		To(And(ContainSubstring("nothing was changed"), ContainSubstring(v1alpha1.ReasonPublisherNotFenced)),
			"silence alone is no evidence")
	g.Expect(lifecycle(t.Context(), b, "tukwila", v1alpha1.SiteLost)).To(Succeed())
	out, err = plugin(t, b, "dublin", 3*time.Minute, append(move, "--estimate")...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).
		To(And(ContainSubstring("COMPLETE UNTIL"), MatchRegexp(`e2em-dublin +e2emdub +yes `), ContainSubstring("2300"),
			ContainSubstring("Nothing was changed.")))
	g.Expect(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(m.publication), m.publication)).To(Succeed())
	g.Expect(m.publication.Spec.Publisher.Server).To(BeEquivalentTo("e2empub"))

	began := time.Now()
	out, err = plugin(t, b, "dublin", 8*time.Minute, append(move, "--yes", "--wait")...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).
		To(And(ContainSubstring("COMPLETE UNTIL"),
			MatchRegexp(`Subscription e2em-quincy: Delivering, %s\. .*2300 rows`, v1alpha1.InitializeReplicationSupportOnly)))
	t.Logf(
		"moved %.1f s after the command, %.1f s after the loss",
		time.Since(began).Seconds(),
		time.Since(lost).Seconds(),
	)
	g.Expect(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(m.publication), m.publication)).To(Succeed())
	g.Expect(m.publication.Spec.Publisher.Server).To(BeEquivalentTo("e2emdub"))

	insertRows(t, m.atDublin, "dbo.Article", 6000, 6100)
	write(t, m.atDublin, "DELETE dbo.Article WHERE Id = 7")
	g.Eventually(digest(t, m.atQuincy, "dbo.Article"), time.Minute, time.Second).
		Should(Equal(digest(t, m.atDublin, "dbo.Article")()))

	back()
	home := time.Now()
	m.expectRefused(t, b)
	t.Logf("agents of the former distributor refused %.1f s after their site was back", time.Since(home).Seconds())
	g.Expect(digest(t, m.atQuincy, "dbo.Article")()).
		To(And(HavePrefix("2399 "), Equal(digest(t, m.atDublin, "dbo.Article")())))
	write(
		t,
		m.atQuincy,
		"IF EXISTS (SELECT 1 FROM dbo.Article WHERE Id = 5000) THROW 50001, N'a row of the former publisher arrived', 1",
	)
}

// A publisher that lives is replaced by the subscriber in Dublin, by way of the same distributor: refused as long as it
// takes writes, and with nothing lost once its database is read-only. The subscriber in Quincy goes on without a new
// copy.
func TestPublishingMovesFromAServerThatLives(t *testing.T) {
	if os.Getenv(soakRounds) == "" {
		t.Skip("in make soak only: " + soakRounds + " is not set")
	}
	bed.Beside(t, 330)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	t.Cleanup(func() { endMoves(t, b, "e2em") })
	m := declareMoved(t, b)
	move := []string{"move-publisher", "e2em", "--to", "e2emdub", "--estimate-timeout", "2m"}
	out, err := plugin(t, b, "dublin", 3*time.Minute, append(move, "--estimate")...)
	g.Expect(err).To(HaveOccurred())
	g.Expect(out).
		To(And(ContainSubstring("nothing was changed"), ContainSubstring(v1alpha1.ReasonPublisherAnswers),
			ContainSubstring("SET READ_ONLY")))

	write(t, m.source, "ALTER DATABASE Content SET READ_ONLY WITH ROLLBACK IMMEDIATE")
	out, err = plugin(t, b, "dublin", 3*time.Minute, append(move, "--estimate")...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).
		To(And(ContainSubstring("Nothing that is published is lost"), ContainSubstring("2300 rows"),
			ContainSubstring("Nothing was changed.")))
	began := time.Now()
	out, err = plugin(t, b, "dublin", 8*time.Minute, append(move, "--yes", "--wait")...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).
		To(MatchRegexp(`Subscription e2em-quincy: Delivering, %s\. .*2300 rows`, v1alpha1.InitializeReplicationSupportOnly))
	t.Logf("moved %.1f s after the command", time.Since(began).Seconds())
	g.Expect(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(m.publication), m.publication)).To(Succeed())
	g.Expect(m.publication.Spec).
		To(And(HaveField("Publisher.Server", BeEquivalentTo("e2emdub")), HaveField("Distributor", BeEquivalentTo("e2em"))))

	insertRows(t, m.atDublin, "dbo.Article", 6000, 6100)
	write(t, m.atDublin, "DELETE dbo.Article WHERE Id = 7")
	g.Eventually(digest(t, m.atQuincy, "dbo.Article"), time.Minute, time.Second).
		Should(Equal(digest(t, m.atDublin, "dbo.Article")()))
	g.Expect(digest(t, m.atQuincy, "dbo.Article")()).To(HavePrefix("2399 "))
}

// expectRefused waits until an agent of the former distributor was refused by the subscriber in Quincy. The one that
// was at work when the site was cut off has given its connection up by then, and its job tries again every minute.
func (m *movedTopology) expectRefused(t *testing.T, b *bed.Bed) {
	t.Helper()
	former := open(
		t,
		connectorFrom(t, b, shellAt(t, b.Site("tukwila"), namespace)),
		m.distributor,
		credentials.RoleSA,
		"distribution",
	)
	NewWithT(t).Eventually(func() string {
		refused := ""
		err := former.Query(
			t.Context(),
			tsql.Statement{
				Text: "SELECT TOP (1) CAST(error_text AS nvarchar(4000)) FROM dbo.MSrepl_errors WHERE CAST(error_text AS " +
					"nvarchar(4000)) LIKE N'%Login failed%'",
			},
			func(r mssql.Row) error { return r.Scan(&refused) },
		)
		if err != nil {
			return fmt.Sprint("not known: ", err)
		}
		return refused
	}, 3*time.Minute, 2*time.Second).Should(ContainSubstring("geosql_replication_"),
		"agents of the former distributor find no login")
}
