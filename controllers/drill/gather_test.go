// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// archived is a drill without servers and clients that is over, and the reconciler that judges it.
func archived(g *WithT) (*Reconciler, *Observed, *time.Time) {
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	now := begin
	d := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d", UID: "uid"}}
	d.Spec.RunID, d.Status.RunID, d.Status.Phase = "1", "1", v1alpha1.DrillJudging
	d.Status.Accepted, d.Status.Ended = at(begin), at(begin)
	r := &Reconciler{direct: fake.NewClientBuilder().WithScheme(scheme).Build(),
		now: func() time.Time { return now }}
	return r, &Observed{Desired: Desired{drill: d}, target: &target{}, runs: &runSamples{}, now: begin}, &now
}

// An archive that the drill has written, and that is damaged since, does not hold up the verdict: it says that the
// evidence could not be kept. What was kept and is whole is judged as it was kept.
func TestAnArchiveThatIsDamagedAfterItWasWritten(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*WithT, client.Client, *corev1.ConfigMap)
		keeps  bool
	}{
		"whole": {func(*WithT, client.Client, *corev1.ConfigMap) {}, true},
		"a chunk is gone": {func(g *WithT, c client.Client, m *corev1.ConfigMap) {
			g.Expect(c.Delete(t.Context(), m)).To(Succeed())
		}, false},
		"a chunk holds something else": {func(g *WithT, c client.Client, m *corev1.ConfigMap) {
			m.BinaryData = map[string][]byte{"chunk": []byte("x")}
			g.Expect(c.Update(t.Context(), m)).To(Succeed())
		}, false},
		"a chunk is somebody else's": {func(g *WithT, c client.Client, m *corev1.ConfigMap) {
			m.OwnerReferences = nil
			g.Expect(c.Update(t.Context(), m)).To(Succeed())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, w, now := archived(g)
			first, err := r.gather(t.Context(), w)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(first.archive).NotTo(BeNil())
			var list corev1.ConfigMapList
			g.Expect(r.direct.List(t.Context(), &list)).To(Succeed())
			for _, m := range list.Items {
				if !strings.HasSuffix(m.Name, "-archive") {
					c.damage(g, r.direct, &m)
				}
			}
			*now = begin.Add(time.Minute)
			second, err := r.gather(t.Context(), w)
			g.Expect(err).NotTo(HaveOccurred())
			if c.keeps {
				g.Expect(second.archive).To(Equal(first.archive))
				return
			}
			g.Expect(second.archive).To(BeNil())
			g.Expect(second.Message).To(ContainSubstring("the evidence is not kept: "))
		})
	}
}
