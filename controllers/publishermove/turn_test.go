// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// Of two moves that are approved exactly one goes, whichever was approved first and however far both are: the one that
// has begun, else the older one.
func TestOneMoveOfAPublication(t *testing.T) {
	at := func(s int) *metav1.MicroTime {
		return &metav1.MicroTime{Time: noon.Add(time.Duration(s) * time.Second)}
	}
	for name, c := range map[string]struct {
		// edit changes the older, the newer move, and the publication.
		edit  func(a, b *v1alpha1.PublisherMove, p *v1alpha1.Publication)
		first string
	}{
		"neither has begun": {func(_, _ *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {}, "older"},
		"of one second, by name": {func(a, b *v1alpha1.PublisherMove,
			_ *v1alpha1.Publication) {
			b.CreationTimestamp = a.CreationTimestamp
		}, "newer"},
		"the newer one is approved": {func(a, _ *v1alpha1.PublisherMove, _ *v1alpha1.Publication) { a.Spec.Approved = false },
			"newer"},
		"the older one has begun": {func(a, _ *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			a.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(1)}
		}, "older"},
		"the newer one drains": {func(_, b *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			b.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(1)}
		}, "newer"},
		"the newer one has begun": {func(_, b *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			b.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(1), Drained: at(1)}
		}, "newer"},
		"the newer one drained, the older was approved earlier": {func(a, b *v1alpha1.PublisherMove,
			_ *v1alpha1.Publication) {
			a.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(1)}
			b.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(2), Drained: at(2)}
		}, "newer"},
		"both drained, the newer earlier": {func(a, b *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			a.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(1), Drained: at(3)}
			b.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(2), Drained: at(2)}
		}, "newer"},
		"both drained at once": {func(a, b *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			a.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(1), Drained: at(1)}
			b.Status.Timeline = a.Status.Timeline
		}, "older"},
		"both drained, the newer switched": {func(a, b *v1alpha1.PublisherMove, p *v1alpha1.Publication) {
			a.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(1), Drained: at(1)}
			b.Status.Timeline = &v1alpha1.MoveTimeline{Approved: at(2), Drained: at(2)}
			p.Spec.MovedBy, p.Spec.Publisher.Server = "newer", "quisub"
		}, "newer"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, _ := lostSite()
			one := func(name string, to v1alpha1.ServerName, age time.Duration) *v1alpha1.PublisherMove {
				m := d.Move.DeepCopy()
				m.Name, m.Spec.To, m.CreationTimestamp = name, to, metav1.NewTime(noon.Add(-age))
				return m
			}
			a, b := one("older", "dubsub", time.Hour), one("newer", "quisub", time.Minute)
			c.edit(a, b, d.Publication)
			both := []v1alpha1.PublisherMove{*a, *b}
			var goes []string
			for _, m := range []*v1alpha1.PublisherMove{a, b} {
				x, o := lostSite()
				x.Move, x.Publication = m, d.Publication
				x.Other = first(both, m, d.Publication)
				p := plan(x, o)
				if r := p.Outcome.Reason; m.Spec.Approved && r != v1alpha1.ReasonWaiting &&
					r != v1alpha1.ReasonPublicationReplaced {
					goes = append(goes, m.Name)
				}
			}
			g.Expect(goes).To(Equal([]string{c.first}))
		})
	}
	g := NewWithT(t)
	d, _ := lostSite()
	later := d.Move.DeepCopy()
	later.Name = "second"
	all := []v1alpha1.PublisherMove{*d.Move, *later}
	g.Expect(first(all, later, d.Publication)).To(Equal("move"))
	d.Publication.Spec.Publisher.Server, d.Publication.Spec.MovedBy = "quisub", "between"
	later.Status = v1alpha1.PublisherMoveStatus{}
	g.Expect(first(all, later, d.Publication)).To(BeEmpty(), "one that was overtaken keeps nobody waiting")
}
