// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// pretended is a test that may fail.
type pretended struct {
	failed bool
	said   []string
}

func (*pretended) Name() string   { return "TestIt/of a kind" }
func (p *pretended) Failed() bool { return p.failed }
func (p *pretended) Logf(format string, arguments ...any) {
	p.said = append(p.said, fmt.Sprintf(format, arguments...))
}

// Before a test that has failed takes its objects away, their conditions and the logs of all managers are in a file,
// whose name the failure has; secrets are not. One that goes well writes nothing.
func TestAFailedTestLeavesEvidence(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub"}}
	server.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "PodPending",
		Message: "the login failed, password=Sesame-open-1"}}
	manager := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "geosql-system", Name: name,
			Labels: map[string]string{"app.kubernetes.io/name": "geosql-operator"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager"}}}}
	}
	other := manager("geosql-site-0")
	other.Labels["app.kubernetes.io/name"] = "geosql-site"
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(server).WithStatusSubresource(server).Build()
	test := &pretended{}
	e := &evidence{t: test, began: time.Now(), folder: t.TempDir(), objects: hub,
		pods: clientset.NewClientset(manager("manager-1"), manager("manager-2"), other).CoreV1()}

	e.keep()
	g.Expect(test.said).To(BeEmpty())
	test.failed = true
	g.Expect(keeping{hub, e.keep}.Delete(t.Context(), server.DeepCopy())).To(Succeed())
	e.end()
	g.Expect(test.said).To(HaveLen(1))
	path := e.folder + "/TestIt-of-a-kind.failed.txt"
	g.Expect(test.said[0]).To(HaveSuffix(path))
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(And(ContainSubstring("SQLServer web/tukpub"),
		ContainSubstring("Ready False PodPending"), Not(ContainSubstring("Sesame")),
		ContainSubstring("log of container manager of pod manager-1:\nfake logs"),
		ContainSubstring("log of container manager of pod manager-2:\nfake logs"),
		Not(ContainSubstring("geosql-site"))))
}

// Others may go on with the clients of a test that is over: nothing is said for it any more.
func TestATestThatIsOverLeavesNoEvidence(t *testing.T) {
	g := NewWithT(t)
	test := &pretended{}
	e := &evidence{t: test, folder: t.TempDir()}
	e.end()
	test.failed = true
	e.keep()
	g.Expect(test.said).To(BeEmpty())
}

// Of a long log the newest lines are kept.
func TestTheNewestLinesOfALog(t *testing.T) {
	g := NewWithT(t)
	for _, lines := range []int{0, 9, 10, 11, 50_000} {
		var log strings.Builder
		for i := range lines {
			fmt.Fprintf(&log, "%09d\n", i)
		}
		kept, err := newest(strings.NewReader(log.String()), 100)
		g.Expect(err).NotTo(HaveOccurred())
		if lines <= 10 {
			g.Expect(string(kept)).To(Equal(log.String()))
			continue
		}
		g.Expect(string(kept)).To(And(HavePrefix("(older lines are left out)\n"),
			HaveSuffix(fmt.Sprintf("\n%09d\n", lines-1))))
		g.Expect(len(kept)).To(BeNumerically("<", 130))
	}
}
