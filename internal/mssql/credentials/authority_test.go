// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// An engine is shown RSA alone: the CA signs with RSA, too.
func TestANewAuthorityHasAnRSAKey(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	issued, err := a.Issue([]string{"tukpub-0"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	for _, key := range []string{KeyCertificate, KeyCA} {
		block, _ := pem.Decode(issued[key])
		c, err := x509.ParseCertificate(block.Bytes)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.SignatureAlgorithm).To(Equal(x509.SHA256WithRSA), key)
	}
}

// The CA of an earlier release has a key of an elliptic curve, and goes on as it is.
func TestAnAuthorityOfAnEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	now := time.Now().Truncate(time.Second)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "geosql-operator CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityLife), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	private, err := x509.MarshalECPrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	stored := map[string][]byte{
		KeyCertificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		KeyPrivateKey:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}
	a, err := ParseAuthority(stored)
	g.Expect(err).NotTo(HaveOccurred())
	again, err := a.Data()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(stored))
	issued, err := a.Issue([]string{"tukpub-0"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(issued[KeyCertificate], issued[KeyPrivateKey])
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(issued[KeyCA])).To(BeTrue())
	g.Expect(handshake(t, pair, roots, "tukpub-0")).To(Succeed())
}
