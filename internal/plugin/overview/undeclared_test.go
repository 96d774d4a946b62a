// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/overview"
)

// What an object has left running that was deleted or renamed is shown once, with what to do.
func TestWhatRunsUndeclared(t *testing.T) {
	g := NewWithT(t)
	left := []v1alpha1.Undeclared{
		{Publication: "former", Subscriber: "dubsub-0", Database: "Copy"},
		{Publication: "older"},
	}
	publication := func(name string, undeclared []v1alpha1.Undeclared) v1alpha1.Publication {
		return v1alpha1.Publication{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			Spec: v1alpha1.PublicationSpec{
				Publisher: v1alpha1.ServerOrGroup{
					Server: "tukpub",
				}, Database: "Content"},
			Status: v1alpha1.PublicationStatus{Undeclared: undeclared},
		}
	}
	show := func(s *overview.Snapshot) string {
		var out bytes.Buffer
		s.WriteStatus(&out, time.Unix(0, 0))
		return strings.Join(strings.Fields(out.String()), " ")
	}
	text := show(
		&overview.Snapshot{Publications: []v1alpha1.Publication{publication("articles", left), publication("beside", left)}},
	)
	g.Expect(strings.Count(text, "runs undeclared: publication former of tukpub-0, Content, to dubsub-0, Copy")).
		To(Equal(1))
	g.Expect(strings.Count(text, "runs undeclared: publication older of tukpub-0, Content take it over: kubectl apply")).
		To(Equal(1))
	g.Expect(text).To(And(ContainSubstring("geosql.dev/adopt=true"), ContainSubstring("reclaimPolicy Delete")))
	g.Expect(show(&overview.Snapshot{Publications: []v1alpha1.Publication{publication("articles", nil)}})).
		NotTo(ContainSubstring("undeclared"))
}
