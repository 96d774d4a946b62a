// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/security"
	"geosql.dev/standin/sqlerr"
)

const createKey = "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password'"

// endpointOn gives an instance a certificate and an endpoint with it.
func endpointOn(i *instance, name string) {
	i.sa().do(createKey, "CREATE CERTIFICATE ["+name+"] WITH SUBJECT = N'"+name+"', EXPIRY_DATE = N'2099-01-01'",
		"CREATE ENDPOINT [Hadr_endpoint] STATE = STARTED AS TCP (LISTENER_PORT = 5022, LISTENER_IP = ALL) FOR "+
			"DATABASE_MIRRORING "+
			"(AUTHENTICATION = CERTIFICATE ["+name+"], ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = ALL)")
}

func TestCertificatesMoveThroughTSQL(t *testing.T) {
	g := NewWithT(t)
	one, two := start(t, "ONE"), start(t, "TWO")
	endpointOn(one, "cert_one")
	endpointOn(two, "cert_two")
	ctx := context.Background()
	config, err := one.security.MirroringEndpoint(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Name).To(Equal("Hadr_endpoint"))
	g.Expect(config.State).To(Equal("STARTED"))
	g.Expect(config.Port).To(Equal(5022))
	g.Expect(config.Problem).NotTo(HaveOccurred())
	g.Expect(config.Certificate.PublicKey).To(Equal(config.Key.Public()))

	// The public part travels as text, as an operator sends it.
	encoded := one.sa().value("SELECT CERTENCODED(CERT_ID('cert_one'))").([]byte)
	g.Expect(encoded).To(Equal(config.Certificate.Raw))
	_, err = two.security.AuthenticatePeer(ctx, encoded)
	g.Expect(number(err)).To(BeEquivalentTo(28035), "unknown")
	two.sa().do("CREATE LOGIN [peer] WITH PASSWORD = N'P3er-Password'", "CREATE USER [peer] FOR LOGIN [peer]",
		"CREATE CERTIFICATE [cert_one] AUTHORIZATION [peer] FROM BINARY = 0x"+hex.EncodeToString(encoded))
	_, err = two.security.AuthenticatePeer(ctx, encoded)
	g.Expect(number(err)).To(BeEquivalentTo(28034), "without CONNECT")
	two.sa().do("GRANT CONNECT ON ENDPOINT::[Hadr_endpoint] TO [peer]")
	login, err := two.security.AuthenticatePeer(ctx, encoded)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(login.Name).To(Equal("peer"))
	two.sa().do("ALTER LOGIN [peer] DISABLE")
	_, err = two.security.AuthenticatePeer(ctx, encoded)
	g.Expect(number(err)).To(BeEquivalentTo(28034), "disabled")

	row := two.sa().
		rows("SELECT c.pvt_key_encryption_type, c.subject, u.name FROM sys.certificates c JOIN sys.database_principals u " +
			"ON u.principal_id = c.principal_id WHERE c.name = 'cert_one'")
	g.Expect(row).To(Equal([][]any{{"NA", "cert_one", "peer"}}))
	g.Expect(two.sa().value("SELECT CERTPRIVATEKEY(CERT_ID('cert_one'), 'Str0ng-Password')")).To(BeNil())
}

func number(err error) int32 {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func TestCertificateFiles(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	dir := t.TempDir()
	cer, pvk := filepath.Join(dir, "c.cer"), filepath.Join(dir, "c.pvk")
	g.Expect(sa.refused("CREATE CERTIFICATE [c] WITH SUBJECT = 'c'")).To(BeEquivalentTo(15581), "no master key")
	sa.do(createKey)
	g.Expect(sa.refused(createKey)).To(BeEquivalentTo(15578))
	sa.do("CREATE CERTIFICATE [c] WITH SUBJECT = 'c', START_DATE = '2026-01-01', EXPIRY_DATE = '2030-01-01'")
	g.Expect(sa.refused("CREATE CERTIFICATE [c] WITH SUBJECT = 'c'")).To(BeEquivalentTo(15232))
	g.Expect(sa.refused("DROP MASTER KEY")).To(BeEquivalentTo(15580))
	backup := "BACKUP CERTIFICATE [c] TO FILE = '" + cer + "' WITH PRIVATE KEY (FILE = '" + pvk +
		"', ENCRYPTION BY PASSWORD = 'B4ckup-Password')"
	sa.do(backup)
	g.Expect(sa.refused(backup)).To(BeEquivalentTo(15240), "never over a file that is there")
	der, err := os.ReadFile(cer)
	g.Expect(err).NotTo(HaveOccurred())
	parsed, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed.NotAfter.Year()).To(Equal(2030))
	sa.do("DROP CERTIFICATE [c]")
	load := "CREATE CERTIFICATE [c] FROM FILE = '" + cer + "' WITH PRIVATE KEY (FILE = '" + pvk +
		"', DECRYPTION BY PASSWORD = '"
	g.Expect(sa.refused(load + "wrong')")).To(BeEquivalentTo(15465))
	sa.do(load + "B4ckup-Password')")
	g.Expect(sa.value("SELECT pvt_key_encryption_type FROM sys.certificates WHERE name = 'c'")).To(Equal("MK"))
	g.Expect(sa.refused("CREATE CERTIFICATE [d] FROM FILE = '/nowhere'")).To(BeEquivalentTo(15208))
	g.Expect(sa.refused("CREATE CERTIFICATE [d] WITH SUBJECT = 'd', START_DATE = '2030-01-01', EXPIRY_DATE = " +
		"'2029-01-01'")).
		To(BeEquivalentTo(15213))
}

func TestMasterKeyNeedsItsPasswordElsewhere(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	sa.do(createKey, "ALTER MASTER KEY DROP ENCRYPTION BY SERVICE MASTER KEY")
	g.Expect(sa.refused("CREATE CERTIFICATE [c] WITH SUBJECT = 'c'")).To(BeEquivalentTo(15581))
	g.Expect(sa.refused("OPEN MASTER KEY DECRYPTION BY PASSWORD = 'wrong'")).To(BeEquivalentTo(15465))
	sa.do("OPEN MASTER KEY DECRYPTION BY PASSWORD = 'M4ster-Password'; CREATE CERTIFICATE [c] WITH SUBJECT = 'c'")
	g.Expect(sa.value("SELECT COUNT(*) FROM sys.symmetric_keys WHERE name = '##MS_DatabaseMasterKey##'")).
		To(BeEquivalentTo(1))
}

func TestEndpoints(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	var seen []security.EndpointConfig
	i.security.OnEndpointChange(func(c security.EndpointConfig) { seen = append(seen, c) })
	make := func(name, rest string) string {
		return "CREATE ENDPOINT [" + name + "] AS TCP (LISTENER_PORT = 5022) FOR DATABASE_MIRRORING (" + rest +
			", ROLE = ALL)"
	}
	g.Expect(sa.refused(make("e", "AUTHENTICATION = CERTIFICATE [nothing]"))).To(BeEquivalentTo(15151))
	endpointOn(i, "c")
	g.Expect(sa.refused(make("e", "AUTHENTICATION = CERTIFICATE [c]"))).To(BeEquivalentTo(7862), "one for each instance")
	g.Expect(sa.refused("DROP CERTIFICATE [c]")).To(BeEquivalentTo(15352), "in use")
	g.Expect(sa.refused("ALTER ENDPOINT [Hadr_endpoint] AS TCP (LISTENER_PORT = 80)")).To(BeEquivalentTo(7810))
	g.Expect(sa.refused("BEGIN TRAN; DROP ENDPOINT [Hadr_endpoint]; COMMIT")).To(BeEquivalentTo(226))
	sa.do("ALTER ENDPOINT [Hadr_endpoint] STATE = STOPPED AS TCP (LISTENER_PORT = 5023)")
	g.Expect(sa.rows("SELECT name, state_desc, role_desc, connection_auth_desc, is_encryption_enabled, " +
		"encryption_algorithm_desc FROM sys.database_mirroring_endpoints")).
		To(Equal([][]any{{"Hadr_endpoint", "STOPPED", "ALL", "CERTIFICATE", true, "AES"}}))
	g.Expect(sa.value("SELECT port FROM sys.tcp_endpoints WHERE type_desc = 'DATABASE_MIRRORING'")).
		To(BeEquivalentTo(5023))
	sa.do("DROP ENDPOINT [Hadr_endpoint]", "DROP CERTIFICATE [c]")
	g.Expect(seen).To(HaveLen(3))
	g.Expect(seen[0].State).To(Equal("STARTED"))
	g.Expect(seen[1].Port).To(Equal(5023))
	g.Expect(seen[2].Name).To(BeEmpty())
}
