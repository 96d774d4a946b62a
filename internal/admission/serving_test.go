// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
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
}
