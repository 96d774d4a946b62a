// SPDX-License-Identifier: Apache-2.0

package sites_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// A server is gone for good by somebody's word alone: its Site, or its SQLServer's deletion, which is given time to be
// carried out.
func TestServersThatNobodyExpectsBack(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	server := func(name, site string, deleted time.Duration) *v1alpha1.SQLServer {
		s := &v1alpha1.SQLServer{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, Finalizers: []string{v1alpha1.Finalizer}},
			Spec:       v1alpha1.SQLServerSpec{Site: v1alpha1.SiteName(site)},
		}
		if deleted > 0 {
			s.DeletionTimestamp = &metav1.Time{Time: now.Add(-deleted)}
		}
		return s
	}
	site := func(name string, lifecycle v1alpha1.SiteLifecycle) *v1alpha1.Site {
		return &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SiteSpec{Lifecycle: lifecycle}}
	}
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	elsewhere := server("far", "tukwila", 0)
	elsewhere.Namespace = "other"
	hub := fake.NewClientBuilder().
		WithScheme(scheme).
		WithObjects(site("dublin", v1alpha1.SiteActive), site("tukwila", v1alpha1.SiteLost),
			server(
				"here",
				"dublin",
				0,
			), server("lost", "tukwila", 0), server("begun", "dublin", 10*time.Second), server("going", "dublin", 2*time.Minute),
			server("nowhere", "bergen", 0), elsewhere).
		Build()
	gone, err := sites.ReadGone(t.Context(), hub, "web", now)
	g.Expect(err).NotTo(HaveOccurred())
	for name, says := range map[v1alpha1.ServerName]string{"here": "", "begun": "", "nowhere": "",
		"lost":  "Site tukwila is declared lost",
		"going": "SQLServer going is being deleted", "far": "there is no SQLServer far any more"} {
		g.Expect(gone.Why(name)).To(Equal(says), string(name))
	}
	g.Expect(gone.Servers()).To(Equal([]v1alpha1.ServerName{"begun", "going", "here", "lost", "nowhere"}))
	g.Expect(sites.Gone{}.Why("lost")).To(BeEmpty(), "nobody looked")
	empty, err := sites.ReadGone(t.Context(), fake.NewClientBuilder().WithScheme(scheme).Build(), "web", now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(empty.Why("here")).NotTo(BeEmpty())
}
