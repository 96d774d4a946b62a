// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"geosql.dev/operator/api/v1alpha1"
)

// Engines of a site that is another hub's are not asked, whatever comes after that was said; others are.
func TestEnginesOfAnotherHubsSiteAreNotAsked(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	server := func(name string, site v1alpha1.SiteName) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			Spec: v1alpha1.SQLServerSpec{Site: site}}
	}
	hub := clientfake.NewClientBuilder().WithScheme(scheme).
		WithObjects(server("quipub", "quincy"), server("tukpub", "tukwila")).Build()
	p := NewProvider(Options{Namespace: "geosql-system"})
	for _, name := range []v1alpha1.SiteName{"quincy", "tukwila"} {
		p.runs[name] = newEngagement(p, &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: string(name)}}, nil, "")
	}
	check := func(server v1alpha1.ServerName) error { return p.CheckServer(ctx, hub, "web", server) }
	g.Expect(check("quipub")).To(Succeed())
	taken := &OtherHubError{Site: "quincy", Namespace: "web", Owner: Owner{"rebuilt", 2}, Self: Owner{"former", 1}}
	p.runs["quincy"].failed(taken)
	g.Expect(check("quipub")).To(MatchError(taken))
	g.Expect(check("tukpub")).To(Succeed())
	g.Expect(check("elsewhere")).To(Succeed(), "it is at no site of this hub's")
}

// Who held a site's configuration when another hub took it begins no exec there.
func TestNothingIsAskedByTheConfigurationOfAnotherHubsSite(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer api.Close()
	self := Owner{"former", 1}
	owned := &ownership{site: "quincy", self: self, namespaces: []string{"web"}, changed: make(chan struct{}, 1),
		against: map[string]error{}, current: func() error { return nil }}
	p := NewProvider(Options{Namespace: "geosql-system"})
	run := newEngagement(p, &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"}}, nil, "")
	cl, err := cluster.New(&rest.Config{Host: api.URL},
		func(o *cluster.Options) { o.MapperProvider = staticMapper })
	g.Expect(err).NotTo(HaveOccurred())
	c, err := rest.HTTPClientFor(run.newMember(cl, answer{}, owned).RESTConfig)
	g.Expect(err).NotTo(HaveOccurred())
	get := func() error {
		response, err := c.Get(api.URL)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	g.Expect(get()).To(Succeed())
	g.Expect(asked).To(Equal(1))
	owned.see("web", ownerLease(Owner{"rebuilt", 2}))
	g.Expect(get()).To(MatchError(ContainSubstring("is another hub's")))
	g.Expect(asked).To(Equal(1))
	owned.see("web", ownerLease(self))
	g.Expect(get()).To(Succeed())
}
