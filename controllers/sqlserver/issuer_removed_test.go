// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// A Certificate that is declared no more goes with its Secret, also where the manager could not delete that at once.
// The Secret that is declared in its place stays.
func TestACertificateThatIsDeclaredNoMore(t *testing.T) {
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(corev1.AddToScheme(scheme)).To(Succeed())
	scheme.AddKnownTypeWithName(schema.FromAPIVersionAndKind(certManagerVersion, certificateKind),
		&unstructured.Unstructured{})
	remote := &v1alpha1.SecretReference{Name: "tukwila"}
	own := &v1alpha1.ServerTLS{SecretName: "tukpub-certificate"}
	for name, c := range map[string]struct {
		tls   *v1alpha1.ServerTLS
		site  *v1alpha1.SecretReference
		fails bool
		stays bool
	}{
		"nothing else is declared":                    {site: remote},
		"the Secret can't be deleted at first":        {site: remote, fails: true},
		"its Secret is declared, at the hub":          {tls: own, stays: true},
		"the hub's Secret of that name is declared":   {tls: own, site: remote},
		"another Secret is declared, and site is hub": {tls: &v1alpha1.ServerTLS{SecretName: "mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			was := stamp(wantedCertificate(declared(byIssuer(), Surroundings{})))
			was.SetUID("certificate")
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: was.GetName(), UID: "secret",
				Labels: was.GetLabels()}}
			fails := c.fails
			at := fake.NewClientBuilder().WithScheme(scheme).WithObjects(was, secret).
				WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object,
					how ...client.DeleteOption) error {
					if _, is := obj.(*corev1.Secret); is && fails {
						fails = false
						return errors.New("the API server is busy")
					}
					return c.Delete(ctx, obj, how...)
				}}).Build()
			s := server()
			s.Spec.TLS = c.tls
			d := declared(s, Surroundings{})
			d.Site.Spec.KubeconfigSecretRef = c.site
			d.member = &sites.Member{Site: d.Site, Client: at, APIReader: at}
			r := &Reconciler{}
			o := Observed{SiteIsHub: c.site == nil, StatefulSet: &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationIssued: sites.CertManagerGroup}}}}
			looks := 0
			for ; looks < 4; looks++ {
				o.Issue = Issue{}
				g.Expect(r.observeFormerIssue(t.Context(), d, &o)).To(Succeed())
				var p reconcile.Plan
				if planIssue(d, o, &p); len(p.All()) == 0 {
					break
				}
				g.Expect(hasIssue(d, o)).To(BeTrue(), "the StatefulSet says so until nothing is left")
				for _, step := range p.All() {
					g.Expect(step).To(Equal(RemoveIssued{Name: "tukpub-certificate"}))
					err := r.removeIssued(t.Context(), d)
					g.Expect(err != nil).To(Equal(c.fails && looks == 0), "%v", err)
				}
			}
			g.Expect(looks).To(Equal(map[bool]int{false: 1, true: 2}[c.fails]))
			g.Expect(hasIssue(d, o)).To(BeFalse())
			key := client.ObjectKeyFromObject(secret)
			g.Expect(apierrors.IsNotFound(at.Get(t.Context(), key, emptyCertificate(d)))).To(BeTrue())
			g.Expect(at.Get(t.Context(), key, &corev1.Secret{}) == nil).To(Equal(c.stays))
		})
	}
}
