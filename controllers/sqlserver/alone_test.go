// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/reconcile"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }

// mixed is a server that is a replica, with objects that name it alone and others that do not matter.
func mixed() Surroundings {
	here := v1alpha1.ServerOrGroup{Server: "tukpub"}
	group := v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}
	return Surroundings{
		Groups: []v1alpha1.AvailabilityGroup{
			{ObjectMeta: named("content"), Spec: v1alpha1.AvailabilityGroupSpec{
				Databases: []v1alpha1.Database{{Name: "Content"}},
				Replicas:  []v1alpha1.Replica{{Server: "tukpub"}, {Server: "quisec"}},
			}},
			{ObjectMeta: named("elsewhere"), Spec: v1alpha1.AvailabilityGroupSpec{
				Databases: []v1alpha1.Database{{Name: "Content"}}, Replicas: []v1alpha1.Replica{{Server: "dubpub"}}}},
		},
		Publications: []v1alpha1.Publication{
			{ObjectMeta: named("p"), Spec: v1alpha1.PublicationSpec{Publisher: here, Database: "content"}},
			{ObjectMeta: named("other-database"), Spec: v1alpha1.PublicationSpec{Publisher: here, Database: "Local"}},
			{ObjectMeta: named("group"), Spec: v1alpha1.PublicationSpec{Publisher: group, Database: "Content"}},
		},
		Subscriptions: []v1alpha1.Subscription{
			{ObjectMeta: named("s"), Spec: v1alpha1.SubscriptionSpec{Subscriber: here, Database: "Content"}},
		},
		Logins: []v1alpha1.Login{
			{ObjectMeta: named("l"), Spec: v1alpha1.LoginSpec{Target: here,
				Users: []v1alpha1.LoginUser{{Database: "Content"}, {Database: "Local"}}}},
			{ObjectMeta: named("no-users"), Spec: v1alpha1.LoginSpec{Target: here}},
		},
	}
}

// Before a primary asks for a switchover for its restart or its drain, the condition says what stops working with it.
func TestASwitchoverSaysBeforeWhatItBreaks(t *testing.T) {
	const broken = "Login l, Publication p, Subscription s"
	turn := Turn{Group: "content", Declared: true, Primary: "tukpub",
		Succession: Succession{Allowed: true, To: "quisec", Failover: "content-restart-tukpub-12345678"}}
	ask := AskSwitchover{Group: "content", Name: "content-restart-tukpub-12345678", To: "quisec"}
	drain := func(d Desired, turn Turn) *reconcile.Plan {
		p := &reconcile.Plan{}
		planDrain(d, Observed{Turns: []Turn{turn}, Pod: &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}},
			Cluster: placement.Cluster{Nodes: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"},
				Spec: corev1.NodeSpec{Unschedulable: true}}}}}, p)
		return p
	}
	for name, act := range map[string]func(Desired) *reconcile.Plan{
		"restart": func(d Desired) *reconcile.Plan {
			p := &reconcile.Plan{}
			restart(d, Observed{Turns: []Turn{turn}, Pod: &corev1.Pod{}}, p, RestartPod{Reason: "the image changed"})
			return p
		},
		"drain": func(d Desired) *reconcile.Plan { return drain(d, turn) },
		"drain, and a restart is due that waits for the server's own turn": func(d Desired) *reconcile.Plan {
			p := drain(d, turn)
			held := turn
			held.Holder = "quisec"
			restart(d, Observed{Turns: []Turn{held}, Pod: &corev1.Pod{}}, p, RestartPod{Reason: "tempdb moves to its volume"})
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := server()
			p := act(declared(s, mixed()))
			g.Expect(waits(*p).Why).To(ContainSubstring(broken))
			g.Expect(p.Steps).NotTo(ContainElement(ask), "it is said before it is done")
			s.Status.Announced = waits(*p).Announced
			g.Expect(act(declared(s, mixed())).Steps).To(ContainElement(ask))

			more := mixed()
			another := more.Logins[0]
			another.Name = "l2"
			more.Logins = append(more.Logins, another)
			g.Expect(act(declared(s, more)).Steps).NotTo(ContainElement(ask), "what came since is said, too")
			s.Status.Announced[0].Group = "content2"
			g.Expect(act(declared(s, mixed())).Steps).NotTo(ContainElement(ask), "it was said of another group")
			s.Status.Announced = nil
			s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRestartPending, Message: waits(*p).Why}}
			g.Expect(act(declared(s, mixed())).Steps).NotTo(ContainElement(ask), "a text is nothing to go by")

			around := mixed()
			around.Publications, around.Subscriptions, around.Logins = around.Publications[1:], nil, nil
			g.Expect(act(declared(server(), around)).Steps).To(ContainElement(ask), "nothing breaks")

			for i := range 40 {
				p := around.Publications[0]
				p.Name, p.Spec.Database = fmt.Sprint("p", i), "Content"
				around.Publications = append(around.Publications, p)
			}
			g.Expect(waits(*act(declared(server(), around))).Why).To(ContainSubstring("and 32 more"))
		})
	}
}
