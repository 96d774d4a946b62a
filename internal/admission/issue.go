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

	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 365 * 24 * time.Hour
)

// names are those under which the manager is called: by the API server, and by who reads the metrics.
func (s *Serving) names() []string {
	names := []string{s.opts.Host}
	if s.opts.Host == "" {
		names[0] = s.opts.Service + "." + s.opts.Namespace + ".svc"
	}
	if s.opts.MetricsService != "" {
		names = append(names, s.opts.MetricsService+"."+s.opts.Namespace+".svc")
	}
	return names
}

// clockDiffers is why nothing is issued now: by the manager's clock it would end, or begin, at another time than for
// those who verify it.
func (s *Serving) clockDiffers(now time.Time) error {
	ahead, known := s.opts.Clock.Difference(now)
	if apart := ahead.Apart(); known && apart.Abs() > credentials.MaxClockDifference {
		return fmt.Errorf("no certificate is issued: the clock of the hub's API server is ahead of the manager's by %s, and "+
			"%s at most are allowed", apart.Round(time.Second), credentials.MaxClockDifference)
	}
	return nil
}

// ready says whether a certificate is shown.
func (s *Serving) ready(*http.Request) error {
	if s.current.Load() == nil {
		return errNotReady
	}
	return nil
}

// good reports whether a Secret's certificate fits its key, is issued by its CA for the names, and has a third of its
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
	for _, name := range s.names() {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			return false
		}
	}
	return now.Before(renew)
}

// issue makes a certificate from the CA in old, or from a new CA when old has none that outlives the certificate. The
// former CA is trusted beside a new one until it has ended: another manager shows what it has signed for a while.
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
		Subject:      pkix.Name{CommonName: s.names()[0]},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range s.names() {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
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
		keyCA:                   append(encodeCertificate(ca.Raw), former(old[keyCA], ca, now)...),
		keyCAKey:                caKeyPEM,
		corev1.TLSCertKey:       encodeCertificate(der),
		corev1.TLSPrivateKeyKey: keyPEM,
	}, nil
}

// former are the CAs of a bundle, PEM, that have begun, have not ended and are not the present one.
func former(bundle []byte, present *x509.Certificate, now time.Time) []byte {
	var kept []byte
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return kept
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err == nil && !ca.Equal(present) && now.After(ca.NotBefore) && now.Before(ca.NotAfter) {
			kept = append(kept, encodeCertificate(ca.Raw)...)
		}
	}
}

// AuthorityExpires is when the CA ends that signs the certificate of webhooks and metrics; data is the Secret's.
func AuthorityExpires(data map[string][]byte) (time.Time, error) {
	block, _ := pem.Decode(data[keyCA])
	if block == nil {
		return time.Time{}, fmt.Errorf("read %s of Secret %s: no PEM block", keyCA, SecretName)
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, fmt.Errorf("read %s of Secret %s: %w", keyCA, SecretName, err)
	}
	return ca.NotAfter, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
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
	if err != nil || pair.Leaf == nil || !pair.Leaf.IsCA || pair.Leaf.NotAfter.Before(now.Add(leafLife)) ||
		now.Before(pair.Leaf.NotBefore) {
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
