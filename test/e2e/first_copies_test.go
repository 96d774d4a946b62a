// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// broughtWith is the folder into which the test brings files, as a person does.
const broughtWith = "e2e"

// Three databases of Dublin begin to receive one publication of Tukwila's while rows are written, on servers that have
// no snapshot of it: by a backup, by a snapshot that is packed once, and by one whose files a person brings. Each has
// every row once in the end.
func TestFirstCopiesByOtherMethods(t *testing.T) {
	overTheWAN.Beside(t, 4, 120)
	g := NewWithT(t)
	r := overTheWAN.Get(t)
	b := r.b
	connector := connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	source := open(t, connector, r.publisher(), credentials.RoleSA, "Content")
	write(t, source, "CREATE TABLE dbo.Unpublished (Id int NOT NULL)")
	publishWhatHasAKey(t, r)

	began := time.Now()
	methods := []v1alpha1.Initialization{
		{Method: v1alpha1.InitializeBackup},
		{Method: v1alpha1.InitializeCompressedSnapshot},
		{Method: v1alpha1.InitializeManual, Manual: &v1alpha1.ManualInitialization{Folder: broughtWith}},
	}
	servers := []*v1alpha1.SQLServer{r.subscriber()}
	for _, name := range []string{"e2erfar1", "e2erfar2"} {
		servers = append(servers, newServer(t, b, name, "dublin", nil))
		createServer(t, b, servers[len(servers)-1])
	}
	removedTogether(t, b, servers[1:]...)
	copies := make([]*v1alpha1.Subscription, len(methods))
	for i, how := range methods {
		copies[i] = &v1alpha1.Subscription{ObjectMeta: fresh(fmt.Sprint("e2er-far-", i)), Spec: v1alpha1.SubscriptionSpec{
			Publication: "e2er", Subscriber: v1alpha1.ServerOrGroup{Server: v1alpha1.ServerName(servers[i].Name)},
			Database: v1alpha1.DatabaseName("By" + how.Method),
			Type:     v1alpha1.SubscriptionPull, ReclaimPolicy: v1alpha1.ReclaimDelete, Initialization: &how,
		}}
		declareReplication(t, b, copies[i])
	}
	bringFiles(t, r, servers[2], copies[2], func(row int) {
		insertRows(t, source, "dbo.Article", 60_000+row, 60_001+row)
	})

	want := digest(t, source, "dbo.Article")()
	for i, s := range copies {
		waitForReady(t, b, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering, 3*time.Minute)
		database := string(s.Spec.Database)
		copied := open(t, connector, servers[i], credentials.RoleSA, database)
		g.Eventually(digest(t, copied, "dbo.Article"), time.Minute, time.Second).Should(Equal(want), database)
		g.Expect(s.Status.Copy).NotTo(BeNil())
		g.Expect(s.Status.Copy.Phase).To(Equal(v1alpha1.CopyDone))
		g.Expect(hasTable(t, copied, "Unpublished")).To(Equal(methods[i].Method == v1alpha1.InitializeBackup), database)
		t.Logf("%s delivers %.1f s after it was declared; of %d bytes came %d over the link", database,
			time.Since(began).Seconds(), s.Status.Copy.Bytes, s.Status.Copy.MovedBytes)
	}
	c := meta.FindStatusCondition(copies[0].Status.Conditions, v1alpha1.ConditionLogTruncated)
	g.Expect(c).NotTo(BeNil())
	g.Expect(c.Reason).To(Equal(v1alpha1.ReasonLogGrows), "nobody backs it up")
	g.Expect(copies[1].Status.Copy.MovedBytes).To(BeNumerically("<", copies[1].Status.Copy.Bytes/2))
	g.Expect(copies[2].Status.Copy.MovedBytes).To(BeZero())
}

// publishWhatHasAKey takes out of the publication what another test has declared and cannot be published: a backup
// is taken when the publication has all its articles.
func publishWhatHasAKey(t *testing.T, r *replicated) {
	t.Helper()
	p := r.publication
	NewWithT(t).Expect(r.b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	before := client.MergeFrom(p.DeepCopy())
	p.Spec.Articles = []v1alpha1.Article{{Table: "dbo.Article"}}
	NewWithT(t).Expect(r.b.Hub().Client.Patch(t.Context(), p, before)).To(Succeed())
	waitForReady(t, r.b, p, &p.Status.StatusBase, v1alpha1.ReasonPublished, time.Minute)
}

// bringFiles copies the files of a snapshot as a person does, with one that is torn at first, and calls write for one
// row after another until all are there.
func bringFiles(
	t *testing.T,
	r *replicated,
	subscriber *v1alpha1.SQLServer,
	s *v1alpha1.Subscription,
	write func(row int),
) {
	t.Helper()
	b, rows := r.b, 0
	awaited := func(what string, is func(*v1alpha1.BroughtCopy) bool) {
		bed.Wait(t, what, 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			write(rows)
			rows++
			err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(s), s)
			c := s.Status.Copy
			return c != nil && c.Brought != nil && is(c.Brought), fmt.Sprintf("%+v; %s", c, described(s.Status.Conditions)), err
		})
	}
	awaited("the files are named that a person is to bring", func(c *v1alpha1.BroughtCopy) bool {
		return c.Source != "" && c.LackingFiles > 0
	})
	brought := s.Status.Copy.Brought
	from, to := inNode(t, b, r.servers[1], brought.Source), inNode(t, b, subscriber, brought.Folder)
	disk := filepath.Join(t.TempDir(), "disk")
	b.NodeExec(t, from.node, "sh", "-ec", "rm -rf /kind/disk && cp -r "+from.path+" /kind/disk")
	b.Docker(t, "cp", from.node+":/kind/disk", disk)
	b.NodeExec(t, from.node, "rm", "-rf", "/kind/disk")
	b.Docker(t, "cp", disk, to.node+":/kind/disk")
	lacking := brought.Lacking[0].File
	b.NodeExec(t, to.node, "sh", "-ec", fmt.Sprintf("head -c 1 /kind/disk/%s > %s/torn && mv %s/torn %s/%s", lacking,
		to.path, to.path, to.path, filepath.Base(lacking)))
	awaited("the torn file is named", func(c *v1alpha1.BroughtCopy) bool {
		return len(c.Lacking) > 0 && c.Lacking[0].File == lacking && c.Lacking[0].Why == "Differs"
	})
	b.NodeExec(t, to.node, "sh", "-ec",
		fmt.Sprintf("cp -r /kind/disk %[1]s/disk && chmod -R a+rX %[1]s/disk && rm -rf /kind/disk", to.path))
}

// nodeFolder is a folder of a pod as its node has it.
type nodeFolder struct{ node, path string }

// inNode is where a node has a folder of a server's pod.
func inNode(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer, folder string) nodeFolder {
	t.Helper()
	g := NewWithT(t)
	pod, err := podOf(t.Context(), b.Site(string(server.Spec.Site)), server)
	g.Expect(err).NotTo(HaveOccurred())
	// The brackets keep the search from finding itself.
	pid := b.NodeExec(t, pod.Spec.NodeName, "pgrep", "-f", "--", fmt.Sprintf("[-]-server-name=%s-0", server.Name))
	var first int
	_, err = fmt.Sscan(pid, &first)
	g.Expect(err).NotTo(HaveOccurred())
	return nodeFolder{node: pod.Spec.NodeName, path: fmt.Sprintf("/proc/%d/root%s", first, folder)}
}

// hasTable tells whether a database has a table in schema dbo.
func hasTable(t *testing.T, db *mssql.DB, table string) bool {
	t.Helper()
	n := 0
	count := tsql.Statement{Text: "SELECT COUNT(*) FROM sys.tables WHERE name = N'" + table + "'"}
	NewWithT(t).Expect(db.Query(t.Context(), count, func(row mssql.Row) error { return row.Scan(&n) })).To(Succeed())
	return n == 1
}
