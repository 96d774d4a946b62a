// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// Nothing is broken that nobody would mend: a target that is suspended is not well, however well it is seen to be.
func TestASuspendedTargetIsNotWell(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "because"}}
	}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		says       string
	}{
		"well":      {ready(metav1.ConditionTrue, v1alpha1.ReasonSynchronized), ""},
		"suspended": {ready(metav1.ConditionTrue, v1alpha1.ReasonSuspended), "Group g is suspended: because"},
		"suspended and ill": {ready(metav1.ConditionFalse, v1alpha1.ReasonSuspended),
			"Group g is not Ready (Suspended): because"},
		"nothing is said yet": {nil, "Group g has no status yet"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(notReady("Group g", c.conditions)).To(Equal(c.says))
		})
	}
}

// Neither does a drill begin while any part of its target is suspended, though the target itself is not: its servers,
// and what the subscription is of.
func TestATargetOfWhichAPartIsSuspended(t *testing.T) {
	for name, says := range map[string]string{
		"":          "",
		"tukpub":    "SQLServer tukpub is suspended: spec.suspend is true",
		"quisec":    "SQLServer quisec is suspended: spec.suspend is true",
		"dist":      "SQLServer dist is suspended: spec.suspend is true",
		"dubsub":    "SQLServer dubsub is suspended: spec.suspend is true",
		"main":      "Distributor main is suspended: spec.suspend is true",
		"articles":  "Publication articles is suspended: spec.suspend is true",
		"content":   "AvailabilityGroup content is suspended: spec.suspend is true",
		"dublin":    "Subscription dublin is suspended: spec.suspend is true",
		"msdn":      "Subscription dublin is suspended: spec.suspend of Topology msdn is true",
		"unrelated": "",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			m := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
			well := v1alpha1.StatusBase{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady,
				Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSynchronized}}}
			group := &v1alpha1.AvailabilityGroup{ObjectMeta: m("content"), Spec: v1alpha1.AvailabilityGroupSpec{
				Replicas: []v1alpha1.Replica{{Server: "tukpub"}, {Server: "quisec"}}}}
			subscription := &v1alpha1.Subscription{ObjectMeta: m("dublin"), Spec: v1alpha1.SubscriptionSpec{
				Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}, Database: "Content"}}
			subscription.Labels = map[string]string{v1alpha1.LabelTopology: "msdn"}
			group.Status.StatusBase, subscription.Status.StatusBase = well, well
			objects := []client.Object{group, subscription, &v1alpha1.Topology{ObjectMeta: m("msdn")},
				&v1alpha1.Publication{ObjectMeta: m("articles"), Spec: v1alpha1.PublicationSpec{Database: "Content",
					Publisher: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}, Distributor: "main"}},
				&v1alpha1.Distributor{ObjectMeta: m("main"), Spec: v1alpha1.DistributorSpec{Server: "dist"}}}
			for _, server := range []string{"tukpub", "quisec", "dist", "dubsub", "unrelated"} {
				objects = append(objects, &v1alpha1.SQLServer{ObjectMeta: m(server)})
			}
			for _, o := range objects {
				if o.GetName() == name {
					reflect.ValueOf(o).Elem().FieldByName("Spec").FieldByName("Suspend").SetBool(true)
				}
			}
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
			d := &v1alpha1.Drill{ObjectMeta: m("d")}
			d.Spec.Target.Subscription = "dublin"
			target, err := r.resolve(t.Context(), d)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(target.missing).To(BeEmpty())
			g.Expect(target.unwell).To(Equal(says))
		})
	}
}
