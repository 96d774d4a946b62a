// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/endpoint"
)

func certificate(g *WithT, name string, until time.Time) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     until,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func allow(names ...string) func(context.Context, *x509.Certificate) error {
	return func(_ context.Context, c *x509.Certificate) error {
		for _, n := range names {
			if c.Subject.CommonName == n {
				return nil
			}
		}
		return errors.New("not let in")
	}
}

func TestOnlyKnownValidCertificatesGetIn(t *testing.T) {
	g := NewWithT(t)
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	server := &endpoint.Identity{Certificate: certificate(g, "server", later), Authorize: allow("client", "expired")}
	s, err := endpoint.Listen("127.0.0.1:0", func(context.Context) (*endpoint.Identity, error) { return server, nil },
		func(_ context.Context, c *endpoint.Conn) {
			for {
				kind, payload, err := c.Receive()
				if err != nil {
					return
				}
				if c.Send(kind+1, append([]byte(c.Peer().Subject.CommonName+": "), payload...)) != nil {
					return
				}
			}
		})
	g.Expect(err).NotTo(HaveOccurred())
	defer s.Close()
	try := func(id *endpoint.Identity) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c, err := endpoint.Dial(ctx, s.Addr().String(), id)
		if err != nil {
			return "", err
		}
		defer c.Close()
		if err := c.Send(1, []byte("hello")); err != nil {
			return "", err
		}
		// With TLS 1.3 the client hears of a refusal only when it reads.
		kind, payload, err := c.Receive()
		if err != nil {
			return "", err
		}
		g.Expect(kind).To(Equal(byte(2)))
		return string(payload), nil
	}
	g.Expect(try(&endpoint.Identity{Certificate: certificate(g, "client", later), Authorize: allow("server")})).
		To(Equal("client: hello"))
	_, err = try(&endpoint.Identity{Certificate: certificate(g, "stranger", later), Authorize: allow("server")})
	g.Expect(err).To(HaveOccurred())
	_, err = try(&endpoint.Identity{Certificate: certificate(g, "client", later), Authorize: allow("other")})
	g.Expect(err).To(HaveOccurred())
	_, err = try(&endpoint.Identity{Certificate: certificate(g, "expired", before), Authorize: allow("server")})
	g.Expect(err).To(MatchError(ContainSubstring("valid from")))
}

func TestEndpointURLs(t *testing.T) {
	g := NewWithT(t)
	g.Expect(endpoint.ParseURL("TCP://sql-a-0.msdn.svc:5022")).To(Equal("sql-a-0.msdn.svc:5022"))
	g.Expect(endpoint.ParseURL("tcp://[::1]:5022")).To(Equal("[::1]:5022"))
	for _, bad := range []string{"", "TCP://host", "http://host:5022", "TCP://:5022", "TCP://host:5022/x", "host:5022"} {
		_, err := endpoint.ParseURL(bad)
		g.Expect(err).To(HaveOccurred(), bad)
	}
}
