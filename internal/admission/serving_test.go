// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/internal/sites"
)

// A certificate is good for two thirds of its life and is then issued anew by the same CA, so that API servers that
// have not heard of the change yet still trust it. A Secret that was spoilt is replaced.
func TestCertificateIsRenewed(t *testing.T) {
	g := NewWithT(t)
	s := NewServing(ServingOptions{Namespace: "geosql-system", Service: "hook"})
	now := time.Now()
	data, err := s.issue(nil, now)
	g.Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{Data: data}
	g.Expect(s.good(secret, now)).To(BeTrue())
	g.Expect(s.good(secret, now.Add(leafLife*2/3-time.Hour))).To(BeTrue())
	later := now.Add(leafLife*2/3 + time.Hour)
	g.Expect(s.good(secret, later)).To(BeFalse())

	renewed, err := s.issue(data, later)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(renewed[keyCA]).To(Equal(data[keyCA]), "the CA stays")
	g.Expect(renewed[corev1.TLSCertKey]).NotTo(Equal(data[corev1.TLSCertKey]))
	g.Expect(s.good(&corev1.Secret{Data: renewed}, later)).To(BeTrue())

	replaced, err := s.issue(data, now.Add(caLife))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(replaced[keyCA]).NotTo(Equal(data[keyCA]), "a CA that ends is replaced")

	ends := now.Add(caLife - leafLife/2)
	beside, err := s.issue(data, ends)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.good(&corev1.Secret{Data: beside}, ends)).To(BeTrue())
	shown := &corev1.Secret{Data: map[string][]byte{keyCA: beside[keyCA], corev1.TLSCertKey: renewed[corev1.TLSCertKey],
		corev1.TLSPrivateKeyKey: renewed[corev1.TLSPrivateKeyKey]}}
	g.Expect(s.good(shown, later)).To(BeTrue(), "another manager goes on showing what the former CA has signed")
	again, err := s.issue(beside, ends.Add(leafLife*2/3))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(beside[keyCA]).To(HavePrefix(string(again[keyCA])), "the CA stays, and the former one goes once it has ended")
	g.Expect(again[keyCA]).NotTo(Equal(beside[keyCA]))
	early := now.Add(-48 * time.Hour)
	replaced, err = s.issue(data, early)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.good(&corev1.Secret{Data: replaced}, early)).To(BeTrue(), "a CA that has not begun is replaced")

	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(data[keyCA])).To(BeTrue())
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: "hook.geosql-system.svc", Roots: roots})
	g.Expect(err).NotTo(HaveOccurred())

	for _, key := range []string{keyCA, corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		spoilt := map[string][]byte{}
		for k, v := range data {
			spoilt[k] = v
		}
		spoilt[key] = []byte("spoilt")
		g.Expect(s.good(&corev1.Secret{Data: spoilt}, now)).To(BeFalse(), key)
	}
	other := NewServing(ServingOptions{Namespace: "elsewhere", Service: "hook"})
	g.Expect(other.good(secret, now)).To(BeFalse(), "a certificate for another name")
	measured := NewServing(ServingOptions{Namespace: "geosql-system", Service: "hook", MetricsService: "metrics"})
	g.Expect(measured.good(secret, now)).To(BeFalse(), "a certificate that lacks a name")
}

// keeper is a Serving over a hub whose API server's clock is ahead of the manager's.
func keeper(t *testing.T, ahead time.Duration, objects ...client.Object) *Serving {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
	}))
	defer api.Close()
	clock := sites.NewClock()
	response, err := (&http.Client{Transport: clock.Wrap(http.DefaultTransport)}).Get(api.URL)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(response.Body.Close()).To(Succeed())
	s := NewServing(ServingOptions{Namespace: "geosql-system", Service: "hook", Clock: clock})
	hub := fake.NewClientBuilder().WithObjects(objects...).Build()
	s.client, s.reader = hub, hub
	return s
}

func secretOf(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "geosql-system", Name: SecretName}, Data: data}
}

// Nothing is issued while the clocks differ; what is there is shown.
func TestNoCertificateIsIssuedByAClockThatIsWrong(t *testing.T) {
	g := NewWithT(t)
	s := keeper(t, -2*time.Hour)
	g.Expect(s.ensure(t.Context())).To(MatchError(ContainSubstring("the clock of the hub's API server")))
	g.Expect(s.ready(nil)).NotTo(Succeed())

	issued, err := s.issue(nil, time.Now().Add(-leafLife*3/4))
	g.Expect(err).NotTo(HaveOccurred())
	s = keeper(t, -2*time.Hour, secretOf(issued))
	g.Expect(s.ensure(t.Context())).To(MatchError(ContainSubstring("the clock of the hub's API server")))
	g.Expect(s.ready(nil)).To(Succeed())

	s = keeper(t, 10*time.Minute, secretOf(issued))
	g.Expect(s.ensure(t.Context())).To(Succeed())
	g.Expect(*s.leaf.Load()).NotTo(Equal(issued[corev1.TLSCertKey]))
}

// API servers hear of a new CA some time after it was written: what it has signed is shown later.
func TestANewAuthorityIsTrustedBeforeItsCertificateIsShown(t *testing.T) {
	g := NewWithT(t)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{{Name: "site.geosql.dev"}},
	}
	s := keeper(t, 0, configuration)
	old, err := s.issue(nil, time.Now().Add(-caLife+leafLife/2))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.use(secretOf(old))).To(Succeed())
	secret := secretOf(old)
	g.Expect(s.client.Create(t.Context(), secret)).To(Succeed())

	g.Expect(s.ensure(t.Context())).To(Succeed())
	g.Expect(s.reader.Get(t.Context(), client.ObjectKeyFromObject(configuration), configuration)).To(Succeed())
	g.Expect(string(configuration.Webhooks[0].ClientConfig.CABundle)).To(HaveSuffix(string(old[keyCA])))
	g.Expect(configuration.Webhooks[0].ClientConfig.CABundle).NotTo(Equal(old[keyCA]))
	g.Expect(*s.leaf.Load()).To(Equal(old[corev1.TLSCertKey]), "the API server may not know the new CA")

	g.Expect(s.ensure(t.Context())).To(Succeed())
	g.Expect(*s.leaf.Load()).NotTo(Equal(old[corev1.TLSCertKey]))
}
