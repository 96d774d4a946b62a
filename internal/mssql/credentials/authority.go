// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

const (
	// authorityLife is how long the CA's certificate is valid.
	authorityLife = 10 * 365 * 24 * time.Hour
	// certificateLife is how long a server's certificate is valid; it is renewed after two thirds of it.
	certificateLife = 365 * 24 * time.Hour
	// backdate allows for clocks of sites that are behind the hub's.
	backdate = time.Hour
	// MaxClockDifference is how far the clock of an API server may be from the clock by which something is issued: two
	// sites then differ by no more than the backdate, and what one of them shows has begun for the other.
	MaxClockDifference = backdate / 2
	// RSABits of servers' keys. SQL Server on Linux takes RSA keys
	// (docs/linux/sql-server-linux-encrypted-connections.md shows rsa:2048).
	RSABits = 2048
	// authorityBits of a CA's key, which is used for ten years.
	authorityBits = 3072
)

// Authority is the operator's certificate authority. It has an RSA key, as servers have: that SQL Server on Linux takes
// a certificate with an ECDSA signature is documented nowhere. One of an earlier release has an ECDSA P-256 key, and
// keeps it.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// NewAuthority makes a CA that is valid for ten years from now.
func NewAuthority(now time.Time) (*Authority, error) {
	key, err := rsa.GenerateKey(rand.Reader, authorityBits)
	if err != nil {
		return nil, fmt.Errorf("make the key of the CA: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               authorityName(),
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the CA: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the CA: %w", err)
	}
	return &Authority{certificate: certificate, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// authorityName is the subject of every CA that the operator makes for servers.
func authorityName() pkix.Name {
	return pkix.Name{CommonName: "geosql-operator CA", Organization: []string{"geosql.dev"}}
}

// ParseAuthority reads the CA from the data of its Secret.
func ParseAuthority(data map[string][]byte) (*Authority, error) {
	certificate, err := firstCertificate(data[KeyCertificate])
	if err != nil {
		return nil, fmt.Errorf("read %s of Secret %s: %w", KeyCertificate, CASecretName, err)
	}
	block, _ := pem.Decode(data[KeyPrivateKey])
	if block == nil {
		return nil, fmt.Errorf("read %s of Secret %s: no PEM block", KeyPrivateKey, CASecretName)
	}
	key, err := parseKey(block)
	if err != nil {
		// The parser's text may quote what it read.
		return nil, fmt.Errorf("read %s of Secret %s: neither an RSA nor an EC private key", KeyPrivateKey, CASecretName)
	}
	public, ok := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return nil, fmt.Errorf("secret %s: %s and %s do not belong together", CASecretName, KeyCertificate, KeyPrivateKey)
	}
	return &Authority{certificate: certificate, key: key, pem: encode("CERTIFICATE", certificate.Raw)}, nil
}

// Data is the CA as the data of its Secret.
func (a *Authority) Data() (map[string][]byte, error) {
	switch key := a.key.(type) {
	case *rsa.PrivateKey:
		return map[string][]byte{KeyCertificate: a.pem,
			KeyPrivateKey: encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))}, nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("encode the key of the CA: %w", err)
		}
		return map[string][]byte{KeyCertificate: a.pem, KeyPrivateKey: encode("EC PRIVATE KEY", der)}, nil
	}
	return nil, fmt.Errorf("encode the key of the CA: %T", a.key)
}

// parseKey reads a key in the form of its block.
func parseKey(block *pem.Block) (crypto.Signer, error) {
	if block.Type == "RSA PRIVATE KEY" {
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

// PEM is the CA's certificate.
func (a *Authority) PEM() []byte { return slices.Clone(a.pem) }

// Expires is when the CA's certificate ends.
func (a *Authority) Expires() time.Time { return a.certificate.NotAfter }

// Unfit says why nothing is to be issued by the CA now; empty when it may. It does not live as long as what it would
// issue, or has not begun: a clock was ahead when it was made, and nobody trusts it until then. Another one must take
// its place, and be trusted by all, while its certificates are valid.
func (a *Authority) Unfit(now time.Time) string {
	switch {
	case now.Add(certificateLife).After(a.certificate.NotAfter):
		return "the present one ends at " + written(a.certificate.NotAfter)
	case now.Before(a.certificate.NotBefore):
		return "the present one begins at " + written(a.certificate.NotBefore)
	}
	return ""
}

// Issue makes an RSA key and a certificate for it over the names, valid for a year from now, as the data of a
// kubernetes.io/tls Secret with ca.crt. The first name becomes the subject. What would have to be issued again at once
// is an error: each certificate costs its engine a restart, and there would be no end of them.
func (a *Authority) Issue(names []string, now time.Time) (map[string][]byte, error) {
	if len(names) == 0 {
		return nil, errors.New("issue a certificate: no names")
	}
	if why := a.Unfit(now); why != "" {
		return nil, again(names[0], "the CA is to be replaced first: "+why)
	}
	data, err := a.sign(names, now)
	if err != nil {
		return nil, err
	}
	if why := a.Renewal(data, names, now); why != "" {
		return nil, again(names[0], why)
	}
	return data, nil
}

func again(name, why string) error {
	return fmt.Errorf("issue the certificate of %s: it would have to be issued again at once: %s", name, why)
}

func (a *Authority) sign(names []string, now time.Time) (map[string][]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, RSABits)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", names[0], err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: names[0]},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", names[0], err)
	}
	return map[string][]byte{
		KeyCertificate: encode("CERTIFICATE", der),
		KeyPrivateKey:  encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)),
		KeyCA:          a.PEM(),
	}, nil
}

func serialNumber() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
