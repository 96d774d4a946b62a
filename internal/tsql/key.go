// SPDX-License-Identifier: Apache-2.0

package tsql

// EncryptedDatabases reads which user databases have an encryption key, with the thumbprint of what encrypts that key
// and what it is: CERTIFICATE, or ASYMMETRIC KEY of a provider outside. It takes VIEW SERVER STATE.
// Source: docs/relational-databases/system-dynamic-management-views/sys-dm-database-encryption-keys-transact-sql.md.
func EncryptedDatabases() Statement {
	return text(`SELECT d.name, k.encryptor_thumbprint, COALESCE(k.encryptor_type, N'')
FROM sys.dm_database_encryption_keys AS k JOIN sys.databases AS d ON d.database_id = k.database_id
WHERE k.database_id > 4 AND DATALENGTH(k.encryptor_thumbprint) > 0`)
}

// ReadKey selects a certificate of the connection's database by its thumbprint: its name, its public part in DER, and
// its private key in PVK encrypted by the password, NULL for who may not control it, or where the database's master key
// does not open it. Sources: docs/t-sql/functions/certencoded-transact-sql.md, certprivatekey-transact-sql.md.
func ReadKey(thumbprint []byte, password string) Statement {
	return new(builder).
		sql("SELECT c.name, CERTENCODED(c.certificate_id), CERTPRIVATEKEY(c.certificate_id, @password) ").
		sql("FROM sys.certificates AS c WHERE c.thumbprint = ", Binary(thumbprint)).
		secretArg("password", password).
		done("read the certificate with the thumbprint " + Binary(thumbprint) + " and its private key")
}

// KeyForm is a certificate with its private key, in PVK and encrypted by the password.
type KeyForm struct {
	Name            string
	Thumbprint, DER []byte
	PrivateKey      []byte
	Password        string
}

// CreateKey makes a certificate with its private key in the connection's database, if there is none of that thumbprint;
// the database's master key protects it from then on. Neither the password nor the private key is shown.
// Source: docs/t-sql/statements/create-certificate-transact-sql.md (FROM BINARY, WITH PRIVATE KEY).
func CreateKey(k KeyForm) Statement {
	return new(builder).
		sql("IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE thumbprint = ", Binary(k.Thumbprint), ")\n").
		sql("    CREATE CERTIFICATE ").name(k.Name).sql(" FROM BINARY = ", Binary(k.DER)).
		sql(" WITH PRIVATE KEY (BINARY = ").secretBinary(k.PrivateKey).
		sql(", DECRYPTION BY PASSWORD = ").secret(k.Password).sql(")").
		done("make certificate " + k.Name + " with the thumbprint " + Binary(k.Thumbprint))
}
