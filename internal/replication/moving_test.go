// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// What a publication has at its former publisher is left alone from when a move ends it until the Publication names the
// new one.
func TestAMoveEndsWhatAPublicationHas(t *testing.T) {
	now := metav1.NowMicro()
	for name, c := range map[string]struct {
		edit func(*v1alpha1.PublisherMove, *v1alpha1.Publication)
		want bool
	}{
		"begun": {func(*v1alpha1.PublisherMove, *v1alpha1.Publication) {}, true},
		"begun, and waits": {func(m *v1alpha1.PublisherMove,
			_ *v1alpha1.Publication) {
			m.Status.Phase = v1alpha1.MovePending
		}, true},
		"not approved": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) { m.Status.Timeline = nil }, false},
		"draining": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) { m.Status.Timeline.Drained = nil },
			false},
		"switched":        {func(_ *v1alpha1.PublisherMove, p *v1alpha1.Publication) { p.Spec.MovedBy = "move" }, false},
		"moved once more": {func(_ *v1alpha1.PublisherMove, p *v1alpha1.Publication) { p.Spec.MovedBy = "earlier" }, true},
		"overtaken": {func(_ *v1alpha1.PublisherMove, p *v1alpha1.Publication) {
			p.Spec.MovedBy, p.Spec.Publisher.Server = "other", "dubsub"
		}, false},
		"completed": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) { m.Status.Phase = v1alpha1.MoveCompleted },
			false},
		"withdrawn": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			m.DeletionTimestamp = &metav1.Time{Time: now.Time}
		}, false},
		"of another publication": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) { m.Spec.Publication = "other" },
			false},
		"of one that was deleted": {func(m *v1alpha1.PublisherMove,
			_ *v1alpha1.Publication) {
			m.Status.PublicationUID = "former"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &v1alpha1.PublisherMove{
				ObjectMeta: metav1.ObjectMeta{Name: "move"},
				Spec:       v1alpha1.PublisherMoveSpec{Publication: "articles", Approved: true},
				Status: v1alpha1.PublisherMoveStatus{
					PublicationUID:  "one",
					Phase:           v1alpha1.MoveSwitching,
					From:            &v1alpha1.ServerOrGroup{Server: "tukpub"},
					FromDatabase:    "Content",
					FromDistributor: "main",
					Timeline:        &v1alpha1.MoveTimeline{Approved: &now, Drained: &now},
				},
			}
			p := &v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Name: "articles", UID: "one"},
				Spec: v1alpha1.PublicationSpec{
					Publisher:   v1alpha1.ServerOrGroup{Server: "tukpub"},
					Database:    "Content",
					Distributor: "main",
				}}
			c.edit(m, p)
			NewWithT(t).Expect(ends(m, p)).To(Equal(c.want))
		})
	}
}

// Whose a publication was is said by moves that have switched it: by name, or as the same object.
func TestMovesThatHaveMovedAPublication(t *testing.T) {
	now := metav1.NowMicro()
	for name, c := range map[string]struct {
		edit func(*v1alpha1.PublisherMove, *v1alpha1.Publication)
		want bool
	}{
		"an earlier one":   {func(*v1alpha1.PublisherMove, *v1alpha1.Publication) {}, true},
		"not switched":     {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) { m.Status.Timeline = nil }, false},
		"nothing is known": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) { m.Status.From = nil }, false},
		"of another publication": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			m.Spec.Publication = "other"
		}, false},
		"of one that was deleted": {func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			m.Status.PublicationUID = "former"
		}, false},
		"the one that it names": {func(m *v1alpha1.PublisherMove, p *v1alpha1.Publication) {
			p.Spec.MovedBy, m.Status.PublicationUID, m.Status.Timeline = "move", "before the hub was restored", nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &v1alpha1.PublisherMove{
				ObjectMeta: metav1.ObjectMeta{Name: "move"},
				Spec:       v1alpha1.PublisherMoveSpec{Publication: "articles"},
				Status: v1alpha1.PublisherMoveStatus{
					PublicationUID: "one", From: &v1alpha1.ServerOrGroup{Server: "tukpub"}, FromDatabase: "Content",
					Timeline: &v1alpha1.MoveTimeline{Switched: &now},
				},
			}
			p := &v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Name: "articles", UID: "one"},
				Spec: v1alpha1.PublicationSpec{MovedBy: "later"}}
			c.edit(m, p)
			NewWithT(t).Expect(moved(m, p)).To(Equal(c.want))
		})
	}
}
