// SPDX-License-Identifier: Apache-2.0

//go:build integration

package idle_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

const (
	// patient is how long all may take to be ready.
	patient = 4 * time.Minute
	often   = 300 * time.Millisecond
	// settled is how long all must be ready before it is counted, and counted how long is.
	settled = 20 * time.Second
	counted = 40 * time.Second
)

// A group of three servers that publishes, a distributor and a subscription, of which nothing changes.
func TestAnIdleManagerReadsNoSecretAndWritesNoStatus(t *testing.T) {
	g := NewWithT(t)
	b := stage.New(t)
	fill(t, b)
	for _, obj := range declared() {
		g.Expect(b.Hub.Client.Create(t.Context(), obj)).To(Succeed())
	}
	b.StartManager(t, config{Ledger: b.File("requests")})
	made := idle(t, b)

	counts := map[string]int{}
	for _, r := range made {
		counts[r]++
	}
	for _, r := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%5.2f/s %s", float64(counts[r])/counted.Seconds(), r)
	}
	seldom, cleaned := int(counted/time.Minute)+1, cleanedUp(t, b)
	for r, n := range counts {
		method, what, _ := strings.Cut(r, " ")
		switch {
		case method == "GET" && isCredentials(what):
			g.Expect(n).To(BeNumerically("<=", seldom), "%s: credentials are read once a minute, whoever needs them", r)
		case method == "GET", strings.HasPrefix(what, "selfsubjectaccessreviews"):
		case cleaned && (what == "distributors/main/status" || what == "events/"):
			g.Expect(n).To(Equal(1), "%s: the first clean-up of the distribution database has ended", r)
		case strings.HasPrefix(what, "leases/geosql-confirmed"):
			g.Expect(n).To(BeNumerically("<=", int(counted/(10*time.Second))+1), r)
		case strings.HasPrefix(what, "publications/"), strings.HasPrefix(what, "subscriptions/"):
			g.Expect(n).To(BeNumerically("<=", 2*seldom), "%s: a new latency and a newer transaction, once a minute", r)
		default:
			t.Errorf("%s was sent %d times in %s, and nothing has changed", r, n, counted)
		}
	}
	g.Expect(counts).To(HaveKey(ContainSubstring("leases/geosql-confirmed")), "how late the statuses are so is said")
	var group v1alpha1.AvailabilityGroup
	g.Expect(b.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: stage.Namespace, Name: stage.Group}, &group)).
		To(Succeed())
	g.Expect(time.Since(group.Status.Replicas[0].ObservedAt.Time)).To(BeNumerically(">", counted))
}

// cleanedUp tells that the distribution database may have been cleaned up for the first time while it was counted, as
// it is at each tenth minute of the clock: that is news.
func cleanedUp(t *testing.T, b *stage.Stage) bool {
	t.Helper()
	var d v1alpha1.Distributor
	NewWithT(t).Expect(b.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: stage.Namespace, Name: "main"}, &d)).
		To(Succeed())
	c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionCleanedUp)
	return c != nil && time.Since(c.LastTransitionTime.Time) < counted+settled
}

// idle are the requests of a manager while all was ready throughout. Where other tests keep an agent from answering in
// time there is something to write: it is waited for again then, some times.
func idle(t *testing.T, b *stage.Stage) []string {
	t.Helper()
	for range 5 {
		var since time.Time
		NewWithT(t).Eventually(func() time.Duration {
			if b.Waiting(t) != "" || since.IsZero() {
				since = time.Now()
			}
			return time.Since(since)
		}, patient, time.Second).Should(BeNumerically(">", settled), func() string { return b.Waiting(t) + b.Logged(t) })
		before, waiting := requests(t, b), ""
		for end := time.Now().Add(counted); waiting == "" && time.Now().Before(end); waiting = b.Waiting(t) {
			look := time.NewTimer(often)
			<-look.C
		}
		if waiting == "" {
			return requests(t, b)[len(before):]
		}
		t.Logf("it is counted anew: %s", waiting)
	}
	t.Fatalf("not all stays ready for %s: %s", counted, b.Logged(t))
	return nil
}

func isCredentials(what string) bool {
	return strings.HasPrefix(what, "secrets/") &&
		(strings.HasSuffix(what, "-credentials") || strings.HasSuffix(what, "-tls"))
}

// requests that the manager has made so far.
func requests(t *testing.T, b *stage.Stage) []string {
	t.Helper()
	content, err := os.ReadFile(b.File("requests"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

func declared() []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: stage.Namespace, Name: name} }
	adopting := named(stage.Group)
	adopting.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	return []client.Object{
		&v1alpha1.AvailabilityGroup{ObjectMeta: adopting, Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{
				{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
			},
			InitialPrimary: "tukpub", Databases: []v1alpha1.Database{{Name: "Content"}},
			Voters: []v1alpha1.SiteName{stage.Site},
		}},
		&v1alpha1.Distributor{ObjectMeta: named("main"), Spec: v1alpha1.DistributorSpec{Server: "dist"}},
		&v1alpha1.Publication{ObjectMeta: named("articles"), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{AvailabilityGroup: stage.Group}, Database: "Content", Distributor: "main",
			Articles: []v1alpha1.Article{{Table: "dbo.Article"}},
		}},
		&v1alpha1.Subscription{ObjectMeta: named("dublin"), Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}, Database: "Content",
			Type: v1alpha1.SubscriptionPull,
		}},
	}
}

// fill makes what a person has before the operator comes.
func fill(t *testing.T, b *stage.Stage) {
	t.Helper()
	b.SQL(t, "tukpub", "master", "CREATE DATABASE Content")
	// The operator's own first backup goes to the folder of a pod.
	b.SQL(t, "tukpub", "master", "ALTER DATABASE Content SET RECOVERY FULL")
	b.SQL(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.SQL(t, "tukpub", "Content", "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(100) NOT NULL)")
	b.SQL(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (1, N'first')")
}
