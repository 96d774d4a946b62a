// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/e2e/bed"
)

const (
	// turnAnnotation of a group names the server that has the turn to be restarted.
	turnAnnotation = "geosql.dev/restarting"
	// nextOperatorImage names an image of another release, which is loaded; unset, it is the image that is installed,
	// under another name, which is another release to the operator and to the kubelet.
	nextOperatorImage = "GEOSQL_TEST_NEXT_OPERATOR_IMAGE"
	// calm is how long a client may go without an acknowledgement while a release is replaced, where times are judged.
	// Nothing that serves it is touched: it is half of the write lease, so that no primary whose agent fell silent passes
	// for it.
	calm = 3 * time.Second
	// replacedWithin bounds the replacing of the sidecars of all groups of the bed. Those of one group's two secondaries
	// took 40 s.
	replacedWithin = 5 * time.Minute
)

// The operator is replaced by another release, the primary's node is drained, and the first release comes back, while
// clients at every site write through the group's listener. Sidecars are replaced in their running pods, one server at
// a time and not the primary's; no engine is restarted and nobody fails over for a release. The drained primary
// switches over, and its server has the sidecar of the new release then. Nothing acknowledged is lost.
func TestMaintenanceUnderLoad(t *testing.T) {
	turn := groupB.Disturbs(t, 8, 180)
	g := NewWithT(t)
	gt := inTurn(t, groupB)
	b := gt.b
	turn.Alone()
	m := matrixOf(t, gt)
	m.judged(t, func() {
		installed, err := operatorImage(t.Context(), b)
		g.Expect(err).NotTo(HaveOccurred())
		next := os.Getenv(nextOperatorImage)
		if next == "" {
			next = b.TagImage(t, installed, "next")
		}
		m.restoresOperator(t, installed)
		m.upgraded(t, next)
		m.drained(t)
		m.upgraded(t, installed)
	})
}

// operatorImage is the image of the manager that is installed.
func operatorImage(ctx context.Context, b *bed.Bed) (string, error) {
	var manager appsv1.Deployment
	if err := b.Hub().Client.Get(ctx, client.ObjectKey{Namespace: sites.OperatorNamespace, Name: "geosql-operator"},
		&manager); err != nil {
		return "", err
	}
	return manager.Spec.Template.Spec.Containers[0].Image, nil
}

// restoresOperator brings the installed release back when the test ends before it has done so.
func (m *matrix) restoresOperator(t *testing.T, installed string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*replacedWithin)
		defer cancel()
		if now, err := operatorImage(ctx, m.b); err == nil && now == installed {
			return
		}
		if err := m.b.UpgradeOperator(ctx, installed); err != nil {
			t.Errorf("bring the operator back: %v", err)
			return
		}
		NewWithT(
			t,
		).Eventually(ctx, func() string { return m.sidecarsLeft(ctx, installed) }, replacedWithin, time.Second).
			Should(BeEmpty())
	})
}

// upgraded replaces the release of the operator and waits until every sidecar of the bed is of it but those of
// primaries.
func (m *matrix) upgraded(t *testing.T, image string) {
	t.Helper()
	g := NewWithT(t)
	_, before, err := m.vote(t.Context(), "dublin")
	g.Expect(err).NotTo(HaveOccurred())
	failovers := len(m.failovers(t.Context()))
	f := history.Fault{Name: "operator replaced", Target: image, Injected: history.Now(), RTO: judgedGoal(calm)}
	began := time.Now()
	seen, stop := m.watchSidecars(t)
	defer stop()
	g.Expect(m.b.UpgradeOperator(t.Context(), image)).To(Succeed())
	t.Logf("release %s runs after %.1f s", image, time.Since(began).Seconds())
	bed.Wait(t, "all sidecars are of "+image, replacedWithin, func(ctx context.Context) (bool, string, error) {
		g.Expect(seen.Wrong()).To(BeEmpty())
		left := m.sidecarsLeft(ctx, image)
		return left == "", left, nil
	})
	stop()
	g.Expect(seen.Wrong()).To(BeEmpty())
	primary := credentials.HostName(m.server(m.primary))
	var secondaries []string
	for _, site := range m.elsewhere(m.primary) {
		secondaries = append(secondaries, credentials.HostName(m.server(site)))
	}
	g.Expect(seen.Done()).To(ConsistOf(secondaries), "sidecars that were replaced in their running pods")
	waits, err := m.keepsItsSidecar(t.Context(), m.servers[m.primary].Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits).To(BeTrue(), "the primary says what its sidecar waits for")

	_, after, err := m.vote(t.Context(), "dublin")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.Term).To(Equal(before.Term), "a release is no failover")
	g.Expect(after.Holder.Server).To(Equal(primary))
	g.Expect(m.failovers(t.Context())).To(HaveLen(failovers))
	f.Proof = fmt.Sprintf(
		"sidecars of %s replaced one after the other within %.1f s",
		strings.Join(seen.Done(), " and "),
		time.Since(began).Seconds(),
	)
	t.Log(f.Proof)
	m.over(t, f)
}

// over waits until all is well after what was done, and keeps it for the verdict.
func (m *matrix) over(t *testing.T, f history.Fault) {
	t.Helper()
	f.Settled = m.settle(t, history.Now())
	m.faults = append(m.faults, f)
	m.keepFaults(t)
}

// watchSidecars looks at the pods of the group until it is stopped, which may be done twice.
func (m *matrix) watchSidecars(t *testing.T) (seen *bed.Replacement, stop func()) {
	t.Helper()
	seen = bed.NewReplacement("mssql", "agent")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	look := func() {
		var pods []*corev1.Pod
		for site, server := range m.servers {
			pod, err := podOf(ctx, m.b.Site(site), server)
			if apierrors.IsNotFound(err) {
				seen.Gone(server.Name + "-0")
			}
			if err != nil {
				return
			}
			pods = append(pods, pod)
		}
		seen.See(pods...)
	}
	look()
	go func() {
		defer close(ended)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				look()
			}
		}
	}()
	return seen, func() { cancel(); <-ended }
}

// sidecarsLeft says which sidecar is not of a release yet, of all servers of the bed, or what a group still does about
// it; empty when only primaries are left.
func (m *matrix) sidecarsLeft(ctx context.Context, image string) string {
	for _, site := range m.b.Sites {
		var pods corev1.PodList
		if err := site.Client.List(ctx, &pods, client.InNamespace(namespace),
			client.HasLabels{v1alpha1.LabelServer}); err != nil {
			return err.Error()
		}
		for _, pod := range pods.Items {
			if text := m.sidecarLeft(ctx, &pod, image); text != "" {
				return text
			}
		}
	}
	var groups v1alpha1.AvailabilityGroupList
	if err := m.b.Hub().Client.List(ctx, &groups, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	for _, group := range groups.Items {
		if turn := group.Annotations[turnAnnotation]; turn != "" {
			return fmt.Sprintf("in group %s it is the turn of %s", group.Name, turn)
		}
	}
	return ""
}

func (m *matrix) sidecarLeft(ctx context.Context, pod *corev1.Pod, image string) string {
	if pod.DeletionTimestamp != nil {
		return ""
	}
	declared := ""
	for _, c := range pod.Spec.Containers {
		if c.Name == "agent" {
			declared = c.Image
		}
	}
	switch waits, err := m.keepsItsSidecar(ctx, pod.Labels[v1alpha1.LabelServer]); {
	case err != nil && !apierrors.IsNotFound(err):
		return err.Error()
	case declared == "" || declared != image && waits:
		return ""
	case declared != image:
		return fmt.Sprintf("the sidecar of %s is of %s", pod.Name, declared)
	case !bed.Ready(pod):
		return pod.Name + " is not ready"
	}
	return ""
}

// keepsItsSidecar tells whether a server says that its sidecar is of another release and stays, because it is a
// primary.
func (m *matrix) keepsItsSidecar(ctx context.Context, server string) (bool, error) {
	var s v1alpha1.SQLServer
	if err := m.b.Hub().Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: server}, &s); err != nil {
		return false, err
	}
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestartPending)
	return c != nil && c.Status == "True" && c.Reason == v1alpha1.ReasonSidecarOutdated &&
		strings.Contains(c.Message, "is no longer the primary"), nil
}
