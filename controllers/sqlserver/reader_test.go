// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// The Secret of the readers goes with the last server of a namespace at the site, not before.
func TestReadersGoWithTheLastServer(t *testing.T) {
	server := func(name string, site v1alpha1.SiteName) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			Spec:       v1alpha1.SQLServerSpec{Site: site},
		}
	}
	for name, c := range map[string]struct {
		others []client.Object
		stays  bool
	}{
		"the last one at the site": {others: []client.Object{server("quisec", "quincy")}},
		"another one is there":     {others: []client.Object{server("tuksec", "tukwila")}, stays: true},
	} {
		g := NewWithT(t)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: credentials.ReaderName, UID: "u",
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}}}
		gone := server("tukpub", "tukwila")
		r := &Reconciler{
			hub: fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(append(c.others, gone)...).Build(),
		}
		at := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(secret).Build()
		member := &sites.Member{Client: at, APIReader: at}
		g.Expect(r.removeReaders(t.Context(), Desired{Server: gone, member: member})).To(Succeed(), name)
		err := member.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
		g.Expect(apierrors.IsNotFound(err)).To(Equal(!c.stays), name)
	}
}

// A CA of the operator's stays with the readers for as long as any server of the namespace at the site shows or trusts
// it, and while that cannot be told.
func TestReadersKeepACAThatIsInUse(t *testing.T) {
	const token = "of sixteen characters"
	both := credentials.MergeCAs(ca.PEM(), otherCA.PEM())
	for name, c := range map[string]struct {
		site        v1alpha1.SiteName
		other       map[string][]byte
		fails, goes bool
	}{
		"another server trusts it": {"tukwila", map[string][]byte{credentials.KeyCA: both}, false, false},
		"another server shows it": {"tukwila", map[string][]byte{credentials.KeyCA: otherCA.PEM(),
			credentials.KeyIssuers: both}, false, false},
		"nobody has it":                    {"tukwila", map[string][]byte{credentials.KeyCA: otherCA.PEM()}, false, true},
		"one at another site has it":       {"quincy", map[string][]byte{credentials.KeyCA: both}, false, true},
		"another server has no Secret":     {"tukwila", nil, false, true},
		"the other's Secret can't be read": {"tukwila", nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			own, other := server(), server()
			other.Name, other.Spec.Site = "tuksec", c.site
			readers := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: credentials.ReaderName},
				Data: map[string][]byte{credentials.KeyReaderToken: []byte(token), credentials.KeyCA: both}}
			objects := []client.Object{readers}
			if c.other != nil {
				objects = append(objects, &corev1.Secret{Data: c.other,
					ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: credentials.CertificateName("tuksec")}})
			}
			at := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(objects...).
				WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, w client.WithWatch,
					key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
					if c.fails && key.Name == credentials.CertificateName("tuksec") {
						return errors.New("no answer")
					}
					return w.Get(ctx, key, obj, options...)
				}}).Build()
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(own, other).Build()}
			d := declared(own, Surroundings{})
			d.member = &sites.Member{Client: at, APIReader: at}
			o := &Observed{SiteCertificate: map[string][]byte{credentials.KeyCA: otherCA.PEM()}, Readers: readers.Data}
			o.ReadersFormer = reconcile.Asked(r.readersFormer(t.Context(), d, o))
			g.Expect(o.ReadersFormer.Err() != nil).To(Equal(c.fails))
			var p reconcile.Plan
			planReaders(*o, &p)
			if !c.goes {
				g.Expect(p.Steps).To(BeEmpty())
				return
			}
			g.Expect(p.Steps).To(HaveExactElements(ForgetCAs{CAs: ca.PEM()}))
			g.Expect(r.applyStep(t.Context(), d, o, p.Steps[0])).To(Succeed())
			g.Expect(at.Get(t.Context(), client.ObjectKeyFromObject(readers), readers)).To(Succeed())
			g.Expect(readers.Data[credentials.KeyCA]).To(Equal(otherCA.PEM()))
			g.Expect(readers.Data[credentials.KeyReaderToken]).To(Equal([]byte(token)))
		})
	}
}
