// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// The primary makes room by a switchover where the group may elect by itself, once, and only when nothing else waits.
func TestThePrimaryMakesRoom(t *testing.T) {
	asked := func(phase v1alpha1.FailoverPhase, outcome v1alpha1.FailoverOutcome) func(*Turn) {
		return func(t *Turn) {
			t.Succession.Asked = &v1alpha1.FailoverStatus{
				Phase:   phase,
				Outcome: outcome,
				Reason:  "NotSynchronized",
				Message: "it lags",
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Turn)
		asks   bool
		says   string
	}{
		"it may": {asks: true, says: "a switchover to quisec is asked for"},
		"a person does it": {change: func(t *Turn) { t.Succession.Allowed = false },
			says: "kubectl geosql switchover content --to SERVER"},
		"nobody is promotable": {change: func(t *Turn) { t.Succession.To = "" },
			says: "no replica is known to be promotable"},
		"a secondary waits too": {change: func(t *Turn) { t.Behind = []v1alpha1.ServerName{"quisec"} },
			says: "comes after its secondaries"},
		"a replica is not well": {change: func(t *Turn) { t.Against = []string{"quisec-0 is not synchronized"} },
			says: "can't do without a replica"},
		"another has the turn":        {change: func(t *Turn) { t.Holder = "quisec" }, says: "it is the turn of quisec"},
		"the primary does not answer": {change: func(t *Turn) { t.Err = errors.New("mute") }, says: "not known"},
		"it was asked for":            {change: asked(v1alpha1.FailoverRequested, ""), says: "is under way"},
		"it was refused": {change: asked(v1alpha1.FailoverCompleted, v1alpha1.FailoverRefused),
			says: "it lags"},
		"it was done, and it is again": {change: asked(v1alpha1.FailoverCompleted, v1alpha1.FailoverSucceeded),
			says: "primary again"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			turn := Turn{
				Group:      "content",
				Declared:   true,
				Primary:    "tukpub",
				Succession: Succession{Allowed: true, To: "quisec", Failover: "content-restart-tukpub-12345678"},
			}
			if c.change != nil {
				c.change(&turn)
			}
			d := Desired{Server: &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: "tukpub"}}, Groups: []string{"content"}}
			p := &reconcile.Plan{}
			restart(d, Observed{Turns: []Turn{turn}, Pod: &corev1.Pod{}}, p, RestartPod{Reason: "the image changed"})
			g.Expect(waits(*p).Why).To(ContainSubstring(c.says))
			if c.asks {
				g.Expect(p.Steps).
					To(ConsistOf(AskSwitchover{Group: "content", Name: "content-restart-tukpub-12345678", To: "quisec"}))
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
		})
	}
}

// With two nodes cordoned, of which one is not drained yet, their servers would make each other primary for ever.
func TestAPrimaryMakesRoomForAServerThatStays(t *testing.T) {
	turn := Turn{Leaving: []v1alpha1.ServerName{"quisec"}}
	for name, c := range map[string]struct {
		promotable []v1alpha1.ServerName
		to         v1alpha1.ServerName
		leaves     bool
	}{
		"one stays":         {promotable: []v1alpha1.ServerName{"quisec", "dubsec"}, to: "dubsec"},
		"the only one":      {promotable: []v1alpha1.ServerName{"quisec"}, to: "quisec", leaves: true},
		"nobody is to have": {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			to, leaves := turn.successor(c.promotable)
			g.Expect(to).To(Equal(c.to))
			g.Expect(leaves).To(Equal(c.leaves))
		})
	}
}
