// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// CertificateNames are the names that a server's certificate must have: the instance's name as clients of the
// namespace, of other namespaces and of the pod itself use it, and the listeners of its groups.
func CertificateNames(namespace string, server v1alpha1.ServerName, listeners []string) []string {
	names := serviceNames(HostName(server), namespace)
	for _, l := range listeners {
		names = append(names, serviceNames(l, namespace)...)
		names = append(names, serviceNames(l+"-ro", namespace)...)
	}
	return append(names, "localhost", "127.0.0.1")
}

func serviceNames(name, namespace string) []string {
	return []string{name, name + "." + namespace, name + "." + namespace + ".svc", name + "." + namespace + ".svc.cluster.local"}
}

// Certificate is what is known of a server's certificate.
type Certificate struct {
	// Expires is when it ends.
	Expires time.Time
	// RenewAt is when two thirds of its life have passed.
	RenewAt time.Time
	// Names are its DNS names and addresses.
	Names []string
	// Client tells that it may be shown by a client too (extended key usage).
	Client bool

	leaf *x509.Certificate
}

// ParseCertificate reads the data of a kubernetes.io/tls Secret with ca.crt and checks that key and certificate belong
// together and that ca.crt has signed it. The error never quotes the key.
func ParseCertificate(data map[string][]byte) (Certificate, error) {
	for _, key := range []string{KeyCertificate, KeyPrivateKey, KeyCA} {
		if len(data[key]) == 0 {
			return Certificate{}, fmt.Errorf("key %s is missing: a kubernetes.io/tls Secret with %s, %s and %s is needed",
				key, KeyCertificate, KeyPrivateKey, KeyCA)
		}
	}
	leaf, err := firstCertificate(data[KeyCertificate])
	if err != nil {
		return Certificate{}, fmt.Errorf("read %s: %w", KeyCertificate, err)
	}
	if _, err := tls.X509KeyPair(data[KeyCertificate], data[KeyPrivateKey]); err != nil {
		return Certificate{}, fmt.Errorf("%s and %s do not belong together", KeyCertificate, KeyPrivateKey)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data[KeyCA]) {
		return Certificate{}, fmt.Errorf("read %s: no certificate in it", KeyCA)
	}
	intermediates := x509.NewCertPool()
	intermediates.AppendCertsFromPEM(data[KeyCertificate])
	verify := func(usage x509.ExtKeyUsage) error {
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: intermediates, CurrentTime: leaf.NotBefore.Add(time.Second), KeyUsages: []x509.ExtKeyUsage{usage},
		})
		return err
	}
	if err := verify(x509.ExtKeyUsageServerAuth); err != nil {
		return Certificate{}, fmt.Errorf("%s is not signed by %s for servers: %w", KeyCertificate, KeyCA, err)
	}
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	return Certificate{Expires: leaf.NotAfter, RenewAt: leaf.NotBefore.Add(life * 2 / 3), Names: names,
		Client: verify(x509.ExtKeyUsageClientAuth) == nil, leaf: leaf}, nil
}

// Covers tells whether the certificate is good for the host name.
func (c Certificate) Covers(host string) bool {
	return c.leaf != nil && c.leaf.VerifyHostname(host) == nil
}

// Renewal says why the certificate in data must be issued anew; empty when it need not.
func (a *Authority) Renewal(data map[string][]byte, names []string, now time.Time) string {
	if len(data) == 0 {
		return "there is none"
	}
	c, err := ParseCertificate(data)
	if err != nil {
		return err.Error()
	}
	if !bytes.Equal(bytes.TrimSpace(data[KeyCA]), bytes.TrimSpace(a.pem)) {
		return "it is of another CA"
	}
	var missing []string
	for _, n := range names {
		if !c.Covers(n) {
			missing = append(missing, n)
		}
	}
	switch {
	case len(missing) > 0:
		return "it lacks " + strings.Join(missing, ", ")
	case !now.Before(c.RenewAt):
		return "two thirds of its life have passed (it ends " + c.Expires.UTC().Format(time.RFC3339) + ")"
	}
	return ""
}

func firstCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
