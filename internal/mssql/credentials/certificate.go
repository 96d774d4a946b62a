// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/rsa"
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
// A listener whose name has dots has none: it could be that of a server of another namespace.
func CertificateNames(namespace string, server v1alpha1.ServerName, listeners []string) []string {
	return append(ServiceNames(namespace, server, listeners), "localhost", "127.0.0.1")
}

// ServiceNames are those of CertificateNames by which anybody but the pod itself uses the server: what an issuer that
// signs for services alone can be asked for.
func ServiceNames(namespace string, server v1alpha1.ServerName, listeners []string) []string {
	names := serviceNames(HostName(server), namespace)
	for _, l := range listeners {
		if strings.Contains(l, ".") {
			continue
		}
		names = append(names, serviceNames(l, namespace)...)
		names = append(names, serviceNames(l+"-ro", namespace)...)
	}
	return names
}

func serviceNames(name, namespace string) []string {
	return []string{
		name,
		name + "." + namespace,
		name + "." + namespace + ".svc",
		name + "." + namespace + ".svc.cluster.local",
	}
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
	// chain is tls.crt, authorities ca.crt.
	chain, authorities []byte
}

// Life is how long it was issued for.
func (c Certificate) Life() time.Duration { return c.leaf.NotAfter.Sub(c.leaf.NotBefore) }

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
	if block, _ := pem.Decode(data[KeyPrivateKey]); block != nil &&
		(block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "") {
		return Certificate{}, fmt.Errorf(
			"%s is encrypted, and the engine has no way to be told its passphrase: put the plain key there",
			KeyPrivateKey,
		)
	}
	if _, err := tls.X509KeyPair(data[KeyCertificate], data[KeyPrivateKey]); err != nil {
		return Certificate{}, fmt.Errorf("%s and %s do not belong together", KeyCertificate, KeyPrivateKey)
	}
	if len(certificatesOf(data[KeyCA])) == 0 {
		return Certificate{}, fmt.Errorf("read %s: no certificate in it", KeyCA)
	}
	verify := func(usage x509.ExtKeyUsage) error { return signed(leaf, data[KeyCertificate], data[KeyCA], usage) }
	if err := verify(x509.ExtKeyUsageServerAuth); err != nil {
		return Certificate{}, fmt.Errorf("%s is not signed by %s for servers: %w", KeyCertificate, KeyCA, err)
	}
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	return Certificate{Expires: leaf.NotAfter, RenewAt: leaf.NotBefore.Add(life * 2 / 3), Names: names,
		Client: verify(
			x509.ExtKeyUsageClientAuth,
		) == nil, leaf: leaf, chain: data[KeyCertificate], authorities: data[KeyCA]}, nil
}

// Unfit says why a server must not be given the certificate now; empty when it may. The certificate, the intermediate
// ones and the CA that has signed them must all have begun and not have ended, and the key must be one that SQL Server
// on Linux takes: it asks for KeySpec AT_KEYEXCHANGE (docs/linux/sql-server-linux-encrypted-connections.md), which keys
// of elliptic curves don't have. A server that was started with another one would not be listened to by anybody.
func (c Certificate) Unfit(now time.Time) string {
	if key, ok := c.leaf.PublicKey.(*rsa.PublicKey); !ok {
		return fmt.Sprintf(
			"its key is of type %s, and SQL Server takes RSA keys alone: have one issued with an RSA key of %d bits or more",
			c.leaf.PublicKeyAlgorithm,
			RSABits,
		)
	} else if key.N.BitLen() < RSABits {
		return fmt.Sprintf("its RSA key has %d bits, and clients want %d at least", key.N.BitLen(), RSABits)
	}
	if now.Before(c.leaf.NotBefore) {
		return "it begins at " + written(c.leaf.NotBefore) + "; it is taken then, or put one in its place that is valid now"
	}
	if !now.Before(c.Expires) {
		return "it ended at " + written(c.Expires)
	}
	if err := verified(c.leaf, c.chain, c.authorities, x509.ExtKeyUsageServerAuth, now); err != nil {
		return fmt.Sprintf(
			"it is not verified by %s now: %v; the CA, or one between, has ended or not begun: renew that and what "+
				"it has signed",
			KeyCA,
			err,
		)
	}
	return ""
}

// Verified tells whether somebody who trusts its CAs takes the certificate at a moment: it, the intermediate ones and
// the CA have begun and not ended.
func (c Certificate) Verified(at time.Time) bool {
	return c.leaf != nil && verified(c.leaf, c.chain, c.authorities, x509.ExtKeyUsageServerAuth, at) == nil
}

func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// verified verifies a certificate for a moment. chain has intermediate certificates.
func verified(leaf *x509.Certificate, chain, authorities []byte, usage x509.ExtKeyUsage, at time.Time) error {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	intermediates.AppendCertsFromPEM(chain)
	_, err := leaf.Verify(
		x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}},
	)
	return err
}

// Covers tells whether the certificate is good for the host name.
func (c Certificate) Covers(host string) bool {
	return c.leaf != nil && c.leaf.VerifyHostname(host) == nil
}

// Of verifies, as VerifyConnection of a tls.Config whose ServerName is the host, that the other side is that of a
// namespace: one CA signs the certificates of all, in which servers of two namespaces may have one name. A certificate
// that names no namespace is a user's own (spec.tls), of a CA that is trusted for these servers alone; what the
// operator issues names one. Without a namespace the name alone counts.
func Of(host, namespace string) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if err := ofNamespace(state.PeerCertificates[0], host, namespace); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
}

// Of says why the function Of does not take the certificate for a server's of a namespace; nil when it does.
func (c Certificate) Of(host, namespace string) error { return ofNamespace(c.leaf, host, namespace) }

func ofNamespace(leaf *x509.Certificate, host, namespace string) error {
	service := host + "." + namespace + ".svc"
	if namespace == "" || leaf.VerifyHostname(service) == nil || leaf.VerifyHostname(service+".cluster.local") == nil ||
		!slices.ContainsFunc(leaf.DNSNames, func(name string) bool {
			return strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".svc.cluster.local")
		}) {
		return nil
	}
	return fmt.Errorf("it is not that of %s in namespace %s, but for %s", host, namespace,
		strings.Join(leaf.DNSNames, ", "))
}

// namespaceOf a Service's name, "<service>.<namespace>.svc"; empty for a name of another form.
func namespaceOf(name string) string {
	labels := strings.Split(name, ".")
	if len(labels) != 3 || labels[2] != "svc" {
		return ""
	}
	return labels[1]
}

// InNamespace says whether a certificate, which the CA of all namespaces has signed, is that of a server of one
// namespace.
func InNamespace(leaf *x509.Certificate, namespace string) bool {
	return namespace != "" &&
		slices.ContainsFunc(leaf.DNSNames, func(name string) bool { return namespaceOf(name) == namespace })
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
	if !SignedBy(data, a.pem) {
		return "it is of another CA"
	}
	var missing []string
	for _, n := range names {
		if !c.Covers(n) {
			missing = append(missing, n)
		}
	}
	foreign := slices.DeleteFunc(slices.Clone(c.leaf.DNSNames), func(name string) bool {
		return !strings.HasSuffix(name, ".svc") || slices.ContainsFunc(names, func(wanted string) bool {
			return wanted == name || namespaceOf(wanted) != "" && namespaceOf(wanted) == namespaceOf(name)
		})
	})
	switch {
	case len(missing) > 0:
		return "it lacks " + strings.Join(missing, ", ")
	case len(foreign) > 0:
		return "it is for names of another namespace: " + strings.Join(foreign, ", ")
	case now.Before(c.leaf.NotBefore):
		return "it begins at " + written(c.leaf.NotBefore)
	case !now.Before(c.RenewAt):
		return "two thirds of its life have passed (it ends " + written(c.Expires) + ")"
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
