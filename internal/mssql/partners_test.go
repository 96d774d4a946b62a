// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	testengine "geosql.dev/operator/test/support/engine"
)

// public is the public part of a certificate.
func public(t *testing.T, name string) []byte {
	t.Helper()
	g := NewWithT(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return der
}

// What lets a partner connect goes, all of it, and can be told to go again; that of a server on which a group of the
// instance has a replica stays, whatever was read before.
func TestAPartnerIsTrustedUntilNoGroupHasIt(t *testing.T) {
	g := NewWithT(t)
	e := testengine.Start(t, "web", "tukpub")
	sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	now := time.Now()
	made := []tsql.Statement{
		tsql.CreateMasterKey("Long-enough.1"),
		tsql.CreateSelfSignedCertificate("geosql_tukpub_1", "own", now.Add(-time.Hour), now.Add(time.Hour)),
		tsql.CreateMirroringEndpoint(5022, "geosql_tukpub_1", tsql.EndpointRoleAll),
		tsql.CreateGroup(tsql.Group{Name: "content", ClusterType: tsql.ClusterNone, Replicas: []tsql.Replica{
			{Server: "tukpub-0", EndpointURL: "TCP://tukpub-0:5022", Mode: tsql.SynchronousCommit},
			{Server: "quisec-0", EndpointURL: "TCP://quisec-0:5022", Mode: tsql.AsynchronousCommit},
		}}),
	}
	take := map[string][]tsql.Statement{}
	for _, partner := range []string{"quisec", "dubsec"} {
		login, host, certificate := "geosql_partner_"+partner, partner+"-0", "geosql_"+partner+"_1"
		made = append(made,
			tsql.CreateLogin(tsql.Login{Name: login, SID: credentials.SID("web", login), Password: "Long-enough.1"}),
			tsql.CreateUserForLogin(login, login), tsql.GrantConnectOnEndpoint(tsql.MirroringEndpoint, login),
			tsql.CreatePartnerCertificate(certificate, login, public(t, partner)))
		take[partner] = []tsql.Statement{
			tsql.RevokeConnectOnEndpoint(tsql.MirroringEndpoint, login, host), tsql.DropPartnerCertificate(certificate, host),
			tsql.DropPartnerUser(login, host), tsql.DropPartnerLogin(login, host),
		}
	}
	for _, s := range made {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	look := func() mssql.Partners {
		p, err := mssql.ReadPartners(t.Context(), sa)
		g.Expect(err).NotTo(HaveOccurred())
		return p
	}
	before := look()
	g.Expect(before.Hosts).To(ConsistOf("tukpub-0", "quisec-0"))
	g.Expect(before.Distributed).To(BeFalse())
	g.Expect(before.Endpoint).To(Equal(tsql.MirroringEndpoint))
	for _, login := range []string{"geosql_partner_quisec", "geosql_partner_dubsec"} {
		g.Expect(before.Connectors).To(HaveKey(login))
		g.Expect(before.Users).To(HaveKeyWithValue(login, login))
		g.Expect(before.Certificates[login]).To(HaveLen(1))
	}

	for partner, statements := range take {
		for i, s := range statements {
			g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), "%s: %s", partner, s.Redacted())
			if i > 0 {
				g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), "again: %s", s.Redacted())
			}
		}
	}
	after := look()
	g.Expect(after.Connectors).To(And(HaveKey("geosql_partner_quisec"), Not(HaveKey("geosql_partner_dubsec"))))
	g.Expect(after.Users).To(And(HaveKey("geosql_partner_quisec"), Not(HaveKey("geosql_partner_dubsec"))))
	g.Expect(after.Certificates).To(And(HaveKey("geosql_partner_quisec"), Not(HaveKey("geosql_partner_dubsec"))))
	logins, err := mssql.ReadLogins(t.Context(), sa)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(logins).To(And(HaveKey("geosql_partner_quisec"), Not(HaveKey("geosql_partner_dubsec"))))
}
