// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/hex"
	"testing"

	. "github.com/onsi/gomega"
)

// TestCertificatesAndEndpointsSurvive is what the set-up of an availability group needs of an instance, before and
// after it was killed.
func TestCertificatesAndEndpointsSurvive(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	admin := i.open(t, "")
	g.Expect(failure(t, admin, "CREATE CERTIFICATE own WITH SUBJECT = N'own'").Number).To(Equal(int32(15581)))
	mustExec(t, admin, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password'")
	mustExec(t, admin, "CREATE CERTIFICATE own WITH SUBJECT = N'own', EXPIRY_DATE = N'2099-12-31'")
	mustExec(
		t,
		admin,
		"CREATE ENDPOINT [Hadr_endpoint] STATE = STARTED AS TCP (LISTENER_PORT = 15022, LISTENER_IP = ALL) "+
			"FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE own, ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = ALL)",
	)
	mustExec(t, admin, "CREATE LOGIN peer WITH PASSWORD = N'P3er-Password'; CREATE USER peer FOR LOGIN peer")
	public := value(t, admin, "SELECT CERTENCODED(CERT_ID('own'))").([]byte)
	g.Expect(failure(t, admin,
		"CREATE CERTIFICATE own2 AUTHORIZATION peer FROM BINARY = 0x"+hex.EncodeToString(public)).Number).
		To(Equal(int32(15232)), "the same certificate under another name")
	mustExec(t, admin, "GRANT CONNECT ON ENDPOINT::[Hadr_endpoint] TO peer")
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	admin = i.open(t, "")
	g.Expect(query(t, admin, `SELECT e.name, e.state_desc, e.role_desc, c.name FROM sys.database_mirroring_endpoints e
		JOIN sys.certificates c ON c.certificate_id = e.certificate_id`)).To(Equal([][]any{{"Hadr_endpoint", "STARTED", "ALL", "own"}}))
	g.Expect(value(t, admin, "SELECT CERTENCODED(CERT_ID('own'))")).To(Equal(public))
	g.Expect(query(t, admin, `SELECT p.permission_name, p.state_desc FROM sys.server_permissions p
		JOIN sys.server_principals l ON l.principal_id = p.grantee_principal_id
		WHERE l.name = 'peer' AND p.class_desc = 'ENDPOINT'`)).To(Equal([][]any{{"CONNECT", "GRANT"}}))
	mustExec(t, admin, "ALTER ENDPOINT [Hadr_endpoint] STATE = STOPPED")
	g.Expect(value(t, admin, "SELECT state_desc FROM sys.endpoints WHERE name = 'Hadr_endpoint'")).To(Equal("STOPPED"))
	mustExec(t, admin, "DROP ENDPOINT [Hadr_endpoint]; DROP CERTIFICATE own; DROP MASTER KEY")
}
