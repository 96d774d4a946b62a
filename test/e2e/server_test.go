// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// namespace is one that hack/install-operator allows at every site.
const namespace = "web"

func operatorScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// declareServer applies a SQLServer in the hub; it is removed with its volumes when the test ends.
func declareServer(
	t *testing.T,
	b *bed.Bed,
	name, site string,
	change func(*v1alpha1.SQLServerSpec),
) *v1alpha1.SQLServer {
	t.Helper()
	s := newServer(t, b, name, site, change)
	t.Cleanup(func() { removeServer(t, b, s) })
	createServer(t, b, s)
	return s
}

// newServer is a SQLServer with the stand-in as its engine.
func newServer(t *testing.T, b *bed.Bed, name, site string, change func(*v1alpha1.SQLServerSpec)) *v1alpha1.SQLServer {
	t.Helper()
	volume := func(size string) *v1alpha1.Volume { return &v1alpha1.Volume{Size: resource.MustParse(size)} }
	s := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.SQLServerSpec{
		Site: v1alpha1.SiteName(site), AcceptEULA: true, Edition: "Developer",
		Image: b.Image(t, "STANDIN_IMAGE"), ImagePullPolicy: corev1.PullNever,
		Storage: &v1alpha1.ServerStorage{
			Data:   volume("1Gi"),
			Log:    volume("1Gi"),
			TempDB: volume("1Gi"),
			Backup: volume("1Gi"),
		},
		// Without a request an engine would have next to nothing of a node that is busy with another test's pods.
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")},
		},
		Startup:       &v1alpha1.StartupOptions{TraceFlags: []int32{1204, 1222}},
		ReclaimPolicy: v1alpha1.ReclaimDelete,
	}}
	if change != nil {
		change(&s.Spec)
	}
	if given := os.Getenv(answers); given != "" {
		s.Spec.MSSQLConf = maps.Clone(s.Spec.MSSQLConf)
		if s.Spec.MSSQLConf == nil {
			s.Spec.MSSQLConf = map[string]string{}
		}
		s.Spec.MSSQLConf["standin.answers"] = given
	}
	return s
}

const (
	// answers are the questions that all engines answer the other way (standin/docs/answers.md), a list with commas, and
	// roleAtFailover is spec.roleAtFailover of all groups.
	answers        = "GEOSQL_ANSWERS"
	roleAtFailover = "GEOSQL_ROLE_AT_FAILOVER"
)

func createServer(t *testing.T, b *bed.Bed, s *v1alpha1.SQLServer) {
	t.Helper()
	if err := b.Hub().Client.Create(t.Context(), s); err != nil {
		t.Fatalf("create SQLServer %s: %v", s.Name, err)
	}
}

func removeServer(t *testing.T, b *bed.Bed, s *v1alpha1.SQLServer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := client.IgnoreNotFound(b.Hub().Client.Delete(ctx, s)); err != nil {
		t.Errorf("delete SQLServer %s: %v", s.Name, err)
		return
	}
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(s), s))
	}, 2*time.Minute, time.Second).Should(BeTrue(), "SQLServer %s goes", s.Name)
}

// removedTogether has servers deleted at once when the test ends: each of them takes its time to end, and declareServer
// waits for one after the other. What uses them is declared later, and so is gone by then.
func removedTogether(t *testing.T, b *bed.Bed, servers ...*v1alpha1.SQLServer) {
	t.Helper()
	t.Cleanup(func() { deleteServers(t, b, servers...) })
}

func deleteServers(t *testing.T, b *bed.Bed, servers ...*v1alpha1.SQLServer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, s := range servers {
		if err := client.IgnoreNotFound(b.Hub().Client.Delete(ctx, s)); err != nil {
			t.Errorf("delete SQLServer %s: %v", s.Name, err)
		}
	}
}

// A server that is declared in Dublin lands in Tukwila on the one node where all its volumes can live, answers under
// its name in Dublin with a certificate that is verified, and comes back with its data when its pod is killed.
func TestServerAcrossSites(t *testing.T) {
	bed.Beside(t, 90)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	server := declareServer(t, b, "e2epub", "tukwila", nil)
	began := time.Now()
	waitForServer(t, b, server, 3*time.Minute)
	t.Logf("ready after %.1f s: %s", time.Since(began).Seconds(), server.Status.Placement.Reason)

	g.Expect(server.Status.Placement.Node).To(Equal("tukwila-worker"))
	g.Expect(server.Status.Placement.Candidates).To(Equal([]string{"tukwila-worker"}))
	pod, err := podOf(t.Context(), b.Site("tukwila"), server)
	g.Expect(err).NotTo(HaveOccurred())
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	g.Expect(terms).To(HaveLen(1))
	g.Expect(terms[0].MatchExpressions[0].Values).
		To(Equal([]string{"tukwila-worker"}), "the affinity is computed, not met by chance")
	g.Expect(server.Status.PodIP).To(Equal(pod.Status.PodIP))
	g.Expect(server.Status.Engine).NotTo(BeEmpty())
	g.Expect(server.Status.CertificateExpires).NotTo(BeNil())

	dublin := connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	sa := open(t, dublin, server, credentials.RoleSA, "master")
	instance, err := mssql.ReadInstance(t.Context(), sa)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(instance.NetworkName).To(BeEquivalentTo("e2epub-0"))
	for _, role := range credentials.Roles() {
		g.Expect(open(t, dublin, server, role, "master").Ping(t.Context())).To(Succeed(), "login %s", role.Login())
	}
	write(t, sa, "IF DB_ID(N'kept') IS NULL CREATE DATABASE kept")
	kept := open(t, dublin, server, credentials.RoleSA, "kept")
	write(t, kept, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(40))")
	write(t, kept, "INSERT dbo.t VALUES (1, N'before the restart')")

	g.Expect(meta.IsStatusConditionFalse(server.Status.Conditions, v1alpha1.ConditionRestartPending)).
		To(BeTrue(), "tempdb is on its volume: %v", server.Status.Conditions)
	late := map[string][]time.Duration{}
	for range 3 {
		restartAndMeasure(t, b, server, late)
	}
	for site, d := range late {
		slices.Sort(d)
		g.Expect(d[1]).To(BeNumerically("<", 5*time.Second), "from %s, of %v", site, d)
		g.Expect(d[2]).To(BeNumerically("<", 30*time.Second), "from %s, of %v", site, d)
	}
	var value string
	g.Expect(open(t, dublin, server, credentials.RoleSA, "kept").Query(t.Context(),
		tsql.Statement{Text: "SELECT v FROM dbo.t WHERE id = 1"},
		func(r mssql.Row) error { return r.Scan(&value) })).
		To(Succeed())
	g.Expect(value).To(Equal("before the restart"))
	expectPromisesApart(t, b, server)
	expectBuffers(t, b, server)
}

// restartAndMeasure deletes the pod and adds for each site how long after the new pod is up the server answers there
// under its name.
func restartAndMeasure(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer, late map[string][]time.Duration) {
	t.Helper()
	g := NewWithT(t)
	home := b.Site(string(server.Spec.Site))
	shells := map[string]*bed.Shell{}
	for _, site := range b.Sites {
		shells[site.Name] = shellAt(t, site, namespace)
		g.Expect(open(t, connectorFrom(t, b, shells[site.Name]), server, credentials.RoleAgent, "master").Ping(t.Context())).
			To(Succeed(), "from %s", site.Name)
	}
	old, err := podOf(t.Context(), home, server)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(home.Client.Delete(t.Context(), old)).To(Succeed())
	pod := home.NextPod(t, old.Namespace, old.Name, old.UID, 2*time.Minute)
	up := time.Now()
	var wait sync.WaitGroup
	var mu sync.Mutex
	for site, shell := range shells {
		wait.Go(func() {
			took := firstAnswer(t, b, shell, server).Sub(up)
			mu.Lock()
			defer mu.Unlock()
			late[site] = append(late[site], took)
		})
	}
	wait.Wait()
	t.Logf("pod address %s became %s; answers again after it was up: %v", old.Status.PodIP, pod.Status.PodIP, late)
	waitForServer(t, b, server, time.Minute)
}

// firstAnswer is when a new connection to the server's name was answered, or a minute later. One begins every second,
// whatever became of those before: what was sent to the old address is lost without a word, and says nothing of when
// the name was right.
func firstAnswer(t *testing.T, b *bed.Bed, from *bed.Shell, server *v1alpha1.SQLServer) (at time.Time) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	attempts := time.NewTicker(time.Second)
	defer attempts.Stop()
	var under sync.WaitGroup
	var once sync.Once
	for ctx.Err() == nil {
		under.Go(func() {
			db, err := connectorFrom(
				t,
				b,
				from,
			).Open(ctx, mssql.Target{Namespace: namespace, Server: v1alpha1.ServerName(server.Name),
				Role: credentials.RoleAgent})
			if err == nil && db.Exec(ctx, tsql.Alive()) == nil {
				once.Do(func() { at = time.Now() })
				cancel()
			}
		})
		select {
		case <-ctx.Done():
		case <-attempts.C:
		}
	}
	under.Wait()
	once.Do(func() { at = time.Now() })
	return at
}

func open(
	t *testing.T,
	c *mssql.Connector,
	server *v1alpha1.SQLServer,
	role credentials.Role,
	database string,
) *mssql.DB {
	t.Helper()
	db, err := c.Open(
		t.Context(),
		mssql.Target{Namespace: server.Namespace, Server: v1alpha1.ServerName(server.Name), Role: role, Database: database},
	)
	if err != nil {
		t.Fatalf("open %s as %s: %v", server.Name, role.Login(), err)
	}
	return db
}

func write(t *testing.T, q mssql.Querier, text string) {
	t.Helper()
	if err := q.Exec(t.Context(), tsql.Statement{Text: text}); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Volumes that no node can serve together are said before anything is claimed.
func TestServerThatNoNodeCanServe(t *testing.T) {
	bed.Beside(t, 20)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	server := declareServer(t, b, "e2etorn", "tukwila", func(s *v1alpha1.SQLServerSpec) {
		s.Storage.Data.StorageClassName = ptr.To("fast")
		s.Storage.Backup.StorageClassName = ptr.To("archive")
	})
	waitForReason(t, b, server, v1alpha1.ReasonNoNodeForVolumes)
	_, text := describeServer(server)
	g.Expect(text).To(ContainSubstring("class fast allows tukwila-worker; class archive allows tukwila-worker2; "))
	g.Expect(text).To(ContainSubstring("no node can serve data, log, tempdb, agent (fast) and backup (archive)"))
	var claims corev1.PersistentVolumeClaimList
	g.Expect(b.Site("tukwila").Client.List(t.Context(), &claims, client.InNamespace(namespace),
		client.MatchingLabels{v1alpha1.LabelServer: server.Name})).
		To(Succeed())
	g.Expect(claims.Items).To(BeEmpty())
}

func TestServerOfAClassThatDoesNotExist(t *testing.T) {
	bed.Beside(t, 20)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	server := declareServer(
		t,
		b,
		"e2equick",
		"quincy",
		func(s *v1alpha1.SQLServerSpec) { s.Storage.Log.StorageClassName = ptr.To("quick") },
	)
	waitForReason(t, b, server, v1alpha1.ReasonStorageClassNotFound)
	_, text := describeServer(server)
	g.Expect(text).To(ContainSubstring("storage class quick for log does not exist; existing classes: "))
}

func TestServerOfAnImageThatDoesNotExist(t *testing.T) {
	serverInQuincy.Beside(t, 1, 60)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	right := b.Image(t, "STANDIN_IMAGE")
	server := serverInQuincy.Get(t, func(t *testing.T, server *v1alpha1.SQLServer) {
		newServer(
			t,
			b,
			"e2equi",
			"quincy",
			func(s *v1alpha1.SQLServerSpec) { s.Image = "nobody-has-this:1" },
		).DeepCopyInto(server)
		createServer(t, b, server)
	})
	waitForReason(t, b, server, v1alpha1.ReasonImagePullFailed)
	_, text := describeServer(server)
	g.Expect(text).To(ContainSubstring("nobody-has-this:1"))
	before := client.MergeFrom(server.DeepCopy())
	server.Spec.Image = right
	g.Expect(b.Hub().Client.Patch(t.Context(), server, before)).To(Succeed())
	waitForServer(t, b, server, 3*time.Minute)
}

func waitForReason(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer, reason string) {
	t.Helper()
	bed.Wait(
		t,
		fmt.Sprintf("SQLServer %s has reason %s", server.Name, reason),
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			if err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
				return false, "", err
			}
			for _, c := range server.Status.Conditions {
				if c.Type == v1alpha1.ConditionReady && c.Reason == reason {
					return true, "", nil
				}
			}
			_, text := describeServer(server)
			return false, text, nil
		},
	)
}
