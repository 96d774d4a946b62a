// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// A new server starts twice, whatever comes to be declared around it during its first start: tempdb can be moved by a
// running engine alone. Later starts have nothing of that.
func TestANewServerIsRestartedOnce(t *testing.T) {
	group := v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{{Server: "tukpub"}}}}
	distributor := v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dist"},
		Spec: v1alpha1.DistributorSpec{Server: "dist"}}
	publication := v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "p"},
		Spec: v1alpha1.PublicationSpec{Distributor: "dist"}}
	around := Surroundings{
		Groups:        []v1alpha1.AvailabilityGroup{group},
		Distributors:  []v1alpha1.Distributor{distributor},
		Publications:  []v1alpha1.Publication{publication},
		Subscriptions: []v1alpha1.Subscription{{Spec: v1alpha1.SubscriptionSpec{Publication: "p"}}},
	}
	around.Subscriptions[0].Spec.Subscriber.Server = "tukpub"
	for name, begun := range map[string]func(*environ) bool{
		"before its engine ran":     func(e *environ) bool { return e.o.StatefulSet == nil },
		"while its engine started":  func(e *environ) bool { return len(e.o.Engine.Logins) < 2 },
		"while its logins are made": func(e *environ) bool { return len(e.o.Engine.Permissions) == 0 },
		"before its tempdb moved":   func(e *environ) bool { return tempDBIsNew(e.o) || e.o.Pod == nil },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			for begun(e) {
				e.do(t, plan(e.d, e.o).Steps[0])
			}
			e.d = declared(e.d.Server, around)
			e.o.Engine.Sysadmins = nil
			p, done := e.settle(t, 1)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
			restarts := 0
			for _, step := range done {
				if strings.HasPrefix(step, "restart pod") {
					restarts++
				}
			}
			g.Expect(restarts).To(Equal(1), strings.Join(done, "\n"))
		})
	}
}
