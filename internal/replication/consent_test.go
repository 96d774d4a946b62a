// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
)

// A request is for the articles as they were declared when it was made, and open while nobody has carried it out.
func TestWhatARequestIsFor(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.Publication, *v1alpha1.Subscription)
		open   bool
	}{
		"as it was": {func(*v1alpha1.Publication, *v1alpha1.Subscription) {}, true},
		"another filter": {func(p *v1alpha1.Publication, _ *v1alpha1.Subscription) { p.Spec.Articles[1].Filter = "Id > 8" },
			false},
		"an article more": {func(p *v1alpha1.Publication, _ *v1alpha1.Subscription) {
			p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.Picture"})
		}, false},
		"articles in another order": {func(p *v1alpha1.Publication, _ *v1alpha1.Subscription) {
			p.Spec.Articles[0], p.Spec.Articles[1] = p.Spec.Articles[1], p.Spec.Articles[0]
		}, true},
		"what the schema fills in": {func(p *v1alpha1.Publication, _ *v1alpha1.Subscription) {
			p.Spec.SchemaOptions = v1alpha1.SchemaDefault
		}, true},
		"it is suspended, and goes on": {func(p *v1alpha1.Publication, _ *v1alpha1.Subscription) { p.Generation = 7 }, true},
		"one that says nothing of articles": {func(p *v1alpha1.Publication, s *v1alpha1.Subscription) {
			s.Annotations[v1alpha1.ReinitializeAnnotation] = "u1/now"
			p.Spec.Articles[1].Filter = "Id > 8"
		}, true},
		"of another object": {func(_ *v1alpha1.Publication, s *v1alpha1.Subscription) { s.UID = "u2" }, false},
		"void once": {func(_ *v1alpha1.Publication, s *v1alpha1.Subscription) {
			s.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Void: true,
				Request: s.Annotations[v1alpha1.ReinitializeAnnotation]}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := &v1alpha1.Publication{Spec: v1alpha1.PublicationSpec{
				Articles: []v1alpha1.Article{{Table: "dbo.Article"}, {Table: "dbo.Attachment", Filter: "Id > 7"}}}}
			s := &v1alpha1.Subscription{}
			s.UID = "u1"
			s.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: replication.NewRequest(p, s, "now")}
			c.change(p, s)
			g.Expect(replication.Request(p, s) != "").To(Equal(c.open))
			g.Expect(replication.Consents(p, s)).To(Equal(c.open))
		})
	}
}
