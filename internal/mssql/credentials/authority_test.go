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

// In its last years a CA is followed by another one before a certificate of it would be short, and no certificate is
// issued that has to be issued again at once.
func TestRenewalsAboutTheEndOfAnAuthority(t *testing.T) {
	g := NewWithT(t)
	a, begin := authority(t)
	names := []string{"tukpub-0"}
	var have map[string][]byte
	authorities, issued := 1, 0
	for day := 8 * 365; day < 11*365; day++ {
		now := begin.Add(time.Duration(day) * 24 * time.Hour)
		if a.Unfit(now) != "" {
			authorities++
			var err error
			a, err = NewAuthority(now)
			g.Expect(err).NotTo(HaveOccurred())
		}
		if a.Renewal(have, names, now) != "" {
			issued++
			var err error
			have, err = a.Issue(names, now)
			g.Expect(err).NotTo(HaveOccurred())
		}
		c, err := ParseCertificate(have)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Unfit(now)).To(BeEmpty())
		g.Expect(c.Expires.Sub(now)).To(BeNumerically(">", certificateLife/4))
	}
	g.Expect(authorities).To(Equal(2))
	g.Expect(issued).To(BeNumerically("<=", 6))
}

// What would have to be issued again at the next look is not issued: each certificate is a restart of its engine.
func TestNothingIsIssuedThatMustBeIssuedAgain(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	for name, c := range map[string]struct {
		names []string
		now   time.Time
	}{
		"by a CA that ends":          {[]string{"tukpub-0"}, a.Expires().Add(-time.Minute)},
		"by a CA that has not begun": {[]string{"tukpub-0"}, now.Add(-48 * time.Hour)},
		"for what is no name":        {[]string{"tukpub-0", "[::1]"}, now},
	} {
		_, err := a.Issue(c.names, c.now)
		g.Expect(err).To(MatchError(ContainSubstring("would have to be issued again at once")), name)
	}
}

// A CA that was made while a clock was ahead is trusted by nobody until that time comes.
func TestAnAuthorityThatHasNotBegunIsReplaced(t *testing.T) {
	g := NewWithT(t)
	now := time.Now().Truncate(time.Second)
	ahead, err := NewAuthority(now.Add(400 * 24 * time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ahead.Unfit(now)).To(ContainSubstring("begins at"))
	data, err := ahead.Issue([]string{"tukpub-0"}, now.Add(400*24*time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	c, err := ParseCertificate(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Verified(now)).To(BeFalse())
	g.Expect(c.Verified(now.Add(401 * 24 * time.Hour))).To(BeTrue())
}
