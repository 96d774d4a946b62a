// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// leafOf is the certificate that a CA issues over the names.
func leafOf(t *testing.T, a *Authority, names ...string) (map[string][]byte, *x509.Certificate) {
	t.Helper()
	data, err := a.Issue(names, time.Now())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	leaf, err := firstCertificate(data[KeyCertificate])
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return data, leaf
}

// One CA signs the certificates of all namespaces, and servers of two may have one name: in a real handshake the one of
// another namespace is not taken for this one's. A user's own that names no namespace is, as it was.
func TestAServerIsThatOfItsNamespace(t *testing.T) {
	g := NewWithT(t)
	a, err := NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		names []string
		is    bool
	}{
		"its own":                        {CertificateNames("web", "tukpub", []string{"content"}), true},
		"of another namespace":           {CertificateNames("evil", "tukpub", nil), false},
		"behind a listener with dots":    {CertificateNames("evil", "tukpub", []string{"tukpub-0.web.svc"}), false},
		"a user's, without namespace":    {[]string{"tukpub-0"}, true},
		"a user's, for a domain":         {[]string{"tukpub-0", "tukpub-0.example.com"}, true},
		"a user's, for all of its":       {[]string{"tukpub-0", "*.web.svc"}, true},
		"a user's, for all of another's": {[]string{"tukpub-0", "*.evil.svc"}, false},
		"a user's, its own long name":    {[]string{"tukpub-0", "tukpub-0.web.svc.cluster.local"}, true},
		"long names of another's alone":  {[]string{"tukpub-0", "tukpub-0.evil.svc.cluster.local"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			data, _ := leafOf(t, a, c.names...)
			pair, err := tls.X509KeyPair(data[KeyCertificate], data[KeyPrivateKey])
			g.Expect(err).NotTo(HaveOccurred())
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(a.PEM())
			shake := func(namespace string) error {
				left, right := net.Pipe()
				defer left.Close()
				defer right.Close()
				go func() { _ = tls.Server(left, &tls.Config{Certificates: []tls.Certificate{pair}}).Handshake() }()
				return tls.Client(right, &tls.Config{RootCAs: roots, ServerName: "tukpub-0",
					VerifyConnection: Of("tukpub-0", namespace)}).Handshake()
			}
			if c.is {
				g.Expect(shake("web")).To(Succeed())
			} else {
				g.Expect(shake("web")).To(MatchError(ContainSubstring("not that of tukpub-0 in namespace web")))
			}
			g.Expect(shake("")).To(Succeed(), "without a namespace the name alone counts")
		})
	}
}

// A listener whose name has dots gets no name in a certificate: that of a server of another namespace looks like it. A
// certificate that has one from before is issued anew; listeners that are gone are no reason.
func TestNoNameOfAnotherNamespaceIsIssued(t *testing.T) {
	g := NewWithT(t)
	a, err := NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	names := CertificateNames("evil", "tukpub", []string{"tukpub-0.web.svc", "content"})
	g.Expect(names).NotTo(ContainElement(ContainSubstring("web")))
	g.Expect(names).To(ContainElements("tukpub-0.evil.svc", "content.evil.svc"))
	before, leaf := leafOf(t, a, append(names, "tukpub-0.web", "tukpub-0.web.svc", "tukpub-0.web.svc.evil.svc")...)
	g.Expect(InNamespace(leaf, "web")).To(BeTrue(), "so it was")
	g.Expect(a.Renewal(before, names, time.Now())).To(ContainSubstring("another namespace: tukpub-0.web.svc"))
	after, leaf := leafOf(t, a, names...)
	g.Expect(InNamespace(leaf, "web")).To(BeFalse())
	g.Expect(InNamespace(leaf, "evil")).To(BeTrue())
	g.Expect(InNamespace(leaf, "")).To(BeFalse())
	g.Expect(a.Renewal(after, names, time.Now())).To(BeEmpty())
	gone := CertificateNames("evil", "tukpub", nil)
	g.Expect(a.Renewal(after, gone, time.Now())).To(BeEmpty(), strings.Join(gone, ", "))
}
