// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Encryption says what the server offers in PRELOGIN.
type Encryption int

const (
	// EncryptionOptional encrypts the login always when the client can, and all traffic when the client asks for it.
	EncryptionOptional Encryption = iota
	// EncryptionRequired encrypts all traffic (network.forceencryption = 1 of mssql.conf).
	EncryptionRequired
	// EncryptionUnsupported never encrypts; passwords cross the wire as good as plain. For tests.
	EncryptionUnsupported
)

// alpnStrict is the protocol name of TDS 8.0 in TLS ([MS-TDS] 2.2.6.5 and 3.2.5.1).
const alpnStrict = "tds/8.0"

// SelfSigned makes a certificate for name that is valid for ten years, as the server makes one for itself when it was
// given none. Clients that verify certificates will refuse it.
func SelfSigned(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generate key for self-signed certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generate serial number for self-signed certificate: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make self-signed certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// tlsConfigs derives the two configurations in use: inside PRELOGIN, where clients break on TLS 1.3 because its
// server messages after the handshake arrive unwrapped, and TDS 8.0, which begins with TLS.
func tlsConfigs(base *tls.Config) (wrapped, strict *tls.Config) {
	wrapped = base.Clone()
	wrapped.MaxVersion = tls.VersionTLS12
	if base.MaxVersion != 0 && base.MaxVersion < tls.VersionTLS12 {
		wrapped.MaxVersion = base.MaxVersion
	}
	if wrapped.MinVersion > wrapped.MaxVersion {
		wrapped.MinVersion = wrapped.MaxVersion
	}
	wrapped.NextProtos = nil
	wrapped.SessionTicketsDisabled = true
	wrapped.DynamicRecordSizingDisabled = true
	strict = base.Clone()
	strict.NextProtos = []string{alpnStrict}
	strict.SessionTicketsDisabled = true
	return wrapped, strict
}

// handshakeConn carries a TLS handshake inside PRELOGIN packets and, once through is set, plain TLS records.
type handshakeConn struct {
	net.Conn
	in      *packetReader
	out     *packetWriter
	through bool
	read    bytes.Buffer
	pending bytes.Buffer
}

func (h *handshakeConn) Read(p []byte) (int, error) {
	if h.through {
		return h.Conn.Read(p)
	}
	if err := h.flush(); err != nil {
		return 0, err
	}
	for h.read.Len() == 0 {
		m, err := h.in.message(maxHandshake)
		if err != nil {
			return 0, err
		}
		if m.typ != packetPreLogin {
			return 0, fmt.Errorf("packet of type 0x%02x during the TLS handshake", m.typ)
		}
		h.read.Write(m.body)
	}
	return h.read.Read(p)
}

// maxHandshake bounds one flight of a client's handshake.
const maxHandshake = 64 << 10

func (h *handshakeConn) Write(p []byte) (int, error) {
	if h.through {
		return h.Conn.Write(p)
	}
	return h.pending.Write(p)
}

// flush sends one flight of the handshake as one PRELOGIN message.
func (h *handshakeConn) flush() error {
	if h.pending.Len() == 0 {
		return nil
	}
	h.out.typ = packetPreLogin
	defer func() { h.out.typ = packetReply }()
	if _, err := h.out.Write(h.pending.Bytes()); err != nil {
		return err
	}
	h.pending.Reset()
	return h.out.end()
}

// peekedConn gives back a byte that was read to tell TDS 8.0 from earlier versions.
type peekedConn struct {
	net.Conn
	first []byte
}

func (p *peekedConn) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
