// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestCertificateStatementsThatAreRefused goes by docs/t-sql/statements/create-certificate-transact-sql.md,
// backup-certificate-transact-sql.md and those of the master key: what they refuse leaves no certificate and no file.
func TestCertificateStatementsThatAreRefused(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.newDatabase(t, "one")
	converse(t, connection(t, i.open(t, "one")), []say{
		{
			"CREATE MASTER KEY k ENCRYPTION BY PASSWORD = 'C0ntract-Suite'",
			"!102/15",
		}, {"CREATE MASTER KEY", "!40517/16"}, {"CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'C0ntract-Suite'", "ok"},
		{
			"CREATE CERTIFICATE c WITH SUBJECT = ''",
			"!15212/16",
		}, {"CREATE CERTIFICATE c WITH SUBJECT = 'c', EXPIRY_DATE = 'tomorrow'", "!241/16"},
		{"CREATE CERTIFICATE c WITH SUBJECT = 'c', EXPIRY_DATE = '20301301'", "!241/16"},
		{
			"CREATE CERTIFICATE c WITH SUBJECT = 'c', START_DATE = '31 October 2029', EXPIRY_DATE = 'Oct 30, 2029'",
			"!15213/16",
		},
		{"CREATE CERTIFICATE c FROM FILE = ''", "!15208/16"}, {"CREATE CERTIFICATE c FROM BINARY = 0x", "!15208/16"},
		{
			"CREATE CERTIFICATE c FROM FILE = 'c.cer' WITH PRIVATE KEY (DECRYPTION BY PASSWORD = 'C0ntract-Suite')",
			"!102/15",
		}, {"CREATE CERTIFICATE c FROM FILE = 'c.pfx' WITH FORMAT = 'PFX', PRIVATE KEY (DECRYPTION BY PASSWORD = " +
			"'C0ntract-Suite')", "!40517/16"},
		{"SELECT COUNT(*) FROM sys.certificates", "0"},
		{
			"CREATE CERTIFICATE c WITH SUBJECT = 'c', START_DATE = '10/31/2020', EXPIRY_DATE = '31 October 2099'",
			"ok",
		}, {"SELECT start_date, expiry_date FROM sys.certificates", "2020-10-31T00:00:00 2099-10-31T00:00:00"},
		{
			"BACKUP CERTIFICATE c TO FILE = 'c.pfx' WITH FORMAT = 'PFX', PRIVATE KEY (ENCRYPTION BY PASSWORD = " +
				"'C0ntract-Suite')",
			"!40517/16",
		}, {"BACKUP CERTIFICATE c TO URL = 'https://localhost/c'", "!40517/16"},
		{
			"BACKUP MASTER KEY TO URL = 'https://localhost/k' ENCRYPTION BY PASSWORD = 'C0ntract-Suite'",
			"!40517/16",
		}, {"RESTORE MASTER KEY FROM URL = 'https://localhost/k' DECRYPTION BY PASSWORD = 'x' ENCRYPTION BY PASSWORD = " +
			"'C0ntract-Suite'", "!40517/16"},
		// A private key's file that is there takes the certificate's file back.
		{
			"BACKUP CERTIFICATE c TO FILE = 'c.cer' WITH PRIVATE KEY (FILE = 'c.pvk', ENCRYPTION BY PASSWORD = " +
				"'C0ntract-Suite')",
			"ok",
		}, {"BACKUP CERTIFICATE c TO FILE = 'd.cer' WITH PRIVATE KEY (FILE = 'c.pvk', ENCRYPTION BY PASSWORD = " +
			"'C0ntract-Suite')", "!15240/16"},
		{
			"DROP CERTIFICATE c",
			"ok",
		}, {"CREATE CERTIFICATE d FROM FILE = 'd.cer'", "!15208/16"},
		{"CREATE CERTIFICATE d FROM FILE = 'c.cer' WITH PRIVATE KEY (FILE = 'c.pvk', DECRYPTION BY PASSWORD = " +
			"'C0ntract-Suite')", "ok"},
	})
}
