// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// brought is a subscription that was registered without a copy and without a comparison, of a Publication that was
// edited to Compare since.
func brought(t *testing.T) *world {
	t.Helper()
	w := kept(t)
	w.d.Subscription.Annotations = nil
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	w.d.Publication.Status.Size = &v1alpha1.CopySize{Rows: 12, Bytes: 4096}
	w.d.Subscription.Status.Initialization.Compared = false
	return w
}

// consenting are the words by which what a person has brought may be replaced, each with whether it is one.
var consenting = map[string]struct {
	say func(*world)
	may bool
}{
	"the Publication alone":                     {func(*world) {}, false},
	"a Publication that has copies made of all": {func(w *world) { w.d.Publication.Spec.Initialization = nil }, false},
	"the Subscription itself": {func(w *world) {
		w.d.Subscription.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	}, true},
	"the annotation of a move": {func(w *world) {
		w.d.Subscription.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	}, true},
	"the policy of the Subscription": {func(w *world) {
		w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
	}, true},
	"the policy of the Publication": {func(w *world) {
		w.d.Publication.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
	}, true},
	"a publication that is made anew": {func(w *world) {
		w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare}
	}, true},
	"a request": {func(w *world) {
		w.d.Subscription.UID = "u1"
		w.d.Subscription.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: "u1/1"}
	}, true},
}

// What a person has brought is replaced when it is found different and somebody agrees, of this subscription: an edit
// of the Publication's method agrees to nothing. What is equal stays, whoever agrees.
func TestWhatAPersonHasBroughtIsReplacedByConsent(t *testing.T) {
	drops := ContainElement(ContainSubstring("sp_dropsubscription"))
	for name, c := range consenting {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := brought(t)
			c.say(w)
			look := func(found *replication.Comparison, after time.Duration) reconcile.Plan {
				w.o.Comparison, w.o.Now = found, w.o.Now.Add(after)
				w.arrives(time.Second / 2)
				p := plan(w.d, w.look())
				w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
				return p
			}
			differs := &replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"}
			if !w.d.asked() {
				g.Expect(describeSteps(look(differs, time.Second))).NotTo(drops)
			}
			p := look(differs, differsFor)
			if c.may {
				g.Expect(describeSteps(p)).To(drops)
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCopyDiffers), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(And(ContainSubstring("dbo.Article has 3 rows"), ContainSubstring("12 rows, 4.0 KiB"),
				ContainSubstring("kubectl geosql reinitialize dublin"),
				ContainSubstring("spec.initialization.method of the Subscription to Compare")))
			w.o.Comparison = nil
			w.fails(mssql.RunRetrying, time.Second)
			w.o.Now = w.o.Now.Add(time.Minute)
			w.o.Agent.ErrorCode, w.o.Agent.ErrorTime, w.o.Agent.ErrorAge = "20598", start, time.Second
			g.Expect(describeSteps(plan(w.d, w.look()))).NotTo(drops, "its agent misses a row")

			w = brought(t)
			c.say(w)
			g.Expect(describeSteps(look(equal(), time.Second))).NotTo(drops)
			g.Expect(look(nil, time.Second).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
		})
	}
}

// What a person has brought is replaced no more easily where the registration is gone, or is to become another type.
func TestWhatAPersonHasBroughtToWhatIsRegisteredAnew(t *testing.T) {
	for name, change := range map[string]func(*world){
		"its registration is gone": func(w *world) { w.o.Publication.Subscriptions, w.o.Here.Subscriptions = nil, nil },
		"another type":             func(w *world) { w.d.Subscription.Spec.Type = v1alpha1.SubscriptionPush },
	} {
		for who, c := range consenting {
			t.Run(name+", "+who, func(t *testing.T) {
				g := NewWithT(t)
				w := brought(t)
				w.o.Comparison = nil
				w.d.Subscription.Status.Initialization.ValidatedArticles = []string{"0 dbo.Article", "0 dbo.Attachment"}
				change(w)
				c.say(w)
				o := w.look()
				p := plan(w.d, o)
				if c.may {
					g.Expect(p.Outcome.Reason).NotTo(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
					return
				}
				g.Expect(p.Steps).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
				g.Expect(p.Outcome.Message).To(ContainSubstring("12 rows, 4.0 KiB"))
				g.Expect(w.d.comparesFirst()).To(BeFalse(), "every row would be read at each look")
			})
		}
	}
}

// A registration with another publisher that was not reported tells no more of consent than the one before did.
func TestWhatAPersonHasBroughtAtAnotherPublisher(t *testing.T) {
	g := NewWithT(t)
	w := brought(t)
	w.o.Comparison = nil
	at := metav1.NewTime(w.o.Now)
	w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{
		Method: v1alpha1.InitializeReplicationSupportOnly, Publisher: "oldpub-0", Time: &at}
	now := initialization(w.d, w.look(), reconcile.Plan{})
	g.Expect(now.Publisher).To(Equal("tukpub-0"))
	g.Expect(now.Compared).To(BeFalse())
}
