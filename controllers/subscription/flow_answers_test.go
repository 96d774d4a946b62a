// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/engine"
)

// answerVariable names an answer of the stand-in that is to be tried instead of one at random.
const answerVariable = "GEOSQL_ANSWER"

// answers are those of replication and its jobs (standin/docs/answers.md).
func answers(t *testing.T) (names []string) {
	t.Helper()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(checkout.Root(), "standin", "docs", "answers.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:repl|sqlagent)\\.[a-z-]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		names = append(names, row[1])
	}
	g.Expect(names).NotTo(BeEmpty())
	return names
}

// Whatever an engine answers where documents leave it open, subscriptions of both types come to deliver, get an article
// that is added, tell their latency, and end. One answer is drawn for each run; GEOSQL_SOAK tries all.
func TestEnginesThatAnswerTheOtherWay(t *testing.T) {
	t.Parallel()
	tried := answers(t)
	if os.Getenv("GEOSQL_SOAK") == "" {
		tried = []string{tried[rand.IntN(len(tried))]}
	}
	if one := os.Getenv(answerVariable); one != "" {
		tried = []string{one}
	}
	for _, answer := range tried {
		t.Run(answer, func(t *testing.T) {
			t.Logf("%s=%s tries it again", answerVariable, answer)
			replicates(t, answer)
		})
	}
}

// replicates has a table copied by a pull subscription, and by a push subscription to the distributor itself.
func replicates(t *testing.T, answer string) {
	t.Helper()
	g := NewWithT(t)
	b := newBedOf(t, []engine.Option{engine.Answers(answer)}, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 200)
	d, p := published()
	pull, push := subscribed(v1alpha1.SubscriptionPull), subscribed(v1alpha1.SubscriptionPush)
	push.Name, push.Spec.Subscriber.Server, push.Spec.AgentAt = "itself", "dist", v1alpha1.AgentAtDistributor
	b.create(t, d, p, pull, push)
	nudge := func() {
		t.Helper()
		b.nudgeAll(t)
		change(t, b, push, func(s *v1alpha1.Subscription) {
			s.Annotations = map[string]string{"test.geosql.dev/look": time.Now().String()}
		})
	}
	same := func(table string) {
		t.Helper()
		for _, subscriber := range []v1alpha1.ServerName{"dubsub", "dist"} {
			g.Eventually(func() string { nudge(); return b.sum(t, subscriber, table)() }, patient,
				500*time.Millisecond).Should(Equal(b.sum(t, "tukpub", table)()), "%s at %s", table, subscriber)
		}
	}
	for _, s := range []*v1alpha1.Subscription{pull, push} {
		b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	}
	same("dbo.Article")
	b.fill(t, "tukpub", "dbo.Article", 200, 250)
	same("dbo.Article")

	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "More"))
	b.fill(t, "tukpub", "dbo.More", 0, 30)
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.More"})
	})
	same("dbo.More")

	// One job of each agent runs, and each subscription knows how long a row takes.
	g.Expect(b.rowsIn(t, "dist", "msdb", `SELECT COUNT(*) FROM msdb.dbo.sysjobsteps WHERE subsystem = N'Distribution'`)).
		To(Equal("[1]"))
	for _, s := range []*v1alpha1.Subscription{pull, push} {
		g.Eventually(func() *v1alpha1.LatencyStatus {
			nudge()
			g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
			return s.Status.Latency
		}, patient, 500*time.Millisecond).ShouldNot(BeNil(), s.Name)
	}
	b.waitFor(t, d, &d.Status.StatusBase, v1alpha1.ReasonConfigured)
	for _, job := range []string{"Distribution clean up: distribution", "Agent history clean up: distribution"} {
		b.sql(t, "dist", "msdb", "EXEC msdb.dbo.sp_start_job @job_name = N'"+job+"'")
	}
	want := metav1.ConditionTrue
	if answer == "repl.cleanup-fails" {
		want = metav1.ConditionFalse
	}
	g.Eventually(func() metav1.ConditionStatus {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
		if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionCleanedUp); c != nil {
			return c.Status
		}
		return ""
	}, patient, 500*time.Millisecond).Should(Equal(want))

	for _, s := range []*v1alpha1.Subscription{pull, push} {
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		g.Eventually(func() bool {
			return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))
		}, patient, 200*time.Millisecond).Should(BeTrue(), s.Name)
	}
	g.Expect(b.rowsIn(t, "tukpub", "Content", "SELECT COUNT(*) FROM dbo.syssubscriptions WHERE srvname <> N''")).
		To(Equal("[0]"))
}
