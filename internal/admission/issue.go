// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 365 * 24 * time.Hour
)

// host is the name or address under which the API server calls.
func (s *Serving) host() string {
	if s.opts.Host != "" {
		return s.opts.Host
	}
	return s.opts.Service + "." + s.opts.Namespace + ".svc"
}

// ready says whether a certificate is shown.
func (s *Serving) ready(*http.Request) error {
	if s.current.Load() == nil {
		return fmt.Errorf("the webhook certificate is not ready yet")
	}
	return nil
}

// good reports whether a Secret's certificate fits its key, is issued by its CA for the name, and has a third of its
// life before it.
func (s *Serving) good(secret *corev1.Secret, now time.Time) bool {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil || pair.Leaf == nil {
		return false
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data[keyCA]) {
		return false
	}
	renew := pair.Leaf.NotAfter.Add(-leafLife / 3)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: s.host(), Roots: roots, CurrentTime: now})
	return err == nil && now.Before(renew)
}

// issue makes a certificate from the CA in old, or from a new CA when old has none that outlives the certificate.
func (s *Serving) issue(old map[string][]byte, now time.Time) (map[string][]byte, error) {
	ca, caKey := parseCA(old, now)
	if ca == nil {
		var err error
		if ca, caKey, err = newCA(now); err != nil {
			return nil, err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(now),
		Subject:      pkix.Name{CommonName: s.host()},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(s.host()); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{s.host()}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("issuing the webhook certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	caKeyPEM, err := encodeKey(caKey)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		keyCA:                   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}),
		keyCAKey:                caKeyPEM,
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		corev1.TLSPrivateKeyKey: keyPEM,
	}, nil
}

// serial is unique enough for a CA that issues once a year.
func serial(now time.Time) *big.Int { return big.NewInt(now.UnixNano()) }

func newCA(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial(now),
		Subject:               pkix.Name{CommonName: "geosql-operator webhooks"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("issuing the webhooks' CA: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	return ca, key, err
}

func parseCA(data map[string][]byte, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	pair, err := tls.X509KeyPair(data[keyCA], data[keyCAKey])
	if err != nil || pair.Leaf == nil || !pair.Leaf.IsCA || pair.Leaf.NotAfter.Before(now.Add(leafLife)) {
		return nil, nil
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil
	}
	return pair.Leaf, key
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
