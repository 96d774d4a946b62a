// SPDX-License-Identifier: Apache-2.0

package tsql

import "time"

// CreateMasterKey creates the master key of the connection's database if there is none.
// Source: docs/t-sql/statements/create-master-key-transact-sql.md.
func CreateMasterKey(password string) Statement {
	return new(builder).
		sql("IF NOT EXISTS (SELECT 1 FROM sys.symmetric_keys WHERE name = N'##MS_DatabaseMasterKey##')\n    CREATE MASTER " +
			"KEY ENCRYPTION BY PASSWORD = ").
		secret(password).
		done("create the database's master key")
}

// certificateTime is a date in the form that START_DATE and EXPIRY_DATE take in every language setting.
func certificateTime(t time.Time) string { return t.UTC().Format("20060102 15:04:05") }

// CreateSelfSignedCertificate creates a self-signed certificate in master if there is none of that name. Without
// EXPIRY_DATE it would end after one year, unnoticed until the next connection. Source:
// docs/t-sql/statements/create-certificate-transact-sql.md.
func CreateSelfSignedCertificate(name, subject string, start, expiry time.Time) Statement {
	return new(builder).
		sql("IF CERT_ID(").str(name).sql(") IS NULL\n    CREATE CERTIFICATE ").name(name).
		sql(" WITH SUBJECT = ").str(subject).
		sql(", START_DATE = ").str(certificateTime(start)).
		sql(", EXPIRY_DATE = ").str(certificateTime(expiry)).
		done("create certificate " + name)
}

// ReadCertificate selects a certificate's public part in DER, its thumbprint and its expiry.
// Source: docs/t-sql/functions/certencoded-transact-sql.md, sys.certificates.
func ReadCertificate(name string) Statement {
	return new(builder).
		sql("SELECT CERTENCODED(CERT_ID(").
		str(name).sql(")), c.thumbprint, c.expiry_date FROM sys.certificates AS c WHERE c.name = ").str(name).
		done("read the public part of certificate " + name)
}

// CreatePartnerCertificate stores a partner's public part under a user that owns it, if there is none of that name.
// Source: docs/t-sql/statements/create-certificate-transact-sql.md (AUTHORIZATION, FROM BINARY).
func CreatePartnerCertificate(name, owner string, der []byte) Statement {
	return new(builder).
		sql("IF CERT_ID(").str(name).sql(") IS NULL\n    CREATE CERTIFICATE ").name(name).
		sql(" AUTHORIZATION ").name(owner).
		sql(" FROM BINARY = ", Binary(der)).
		done("trust certificate " + name)
}

// DropCertificate drops a certificate if it exists. Source: docs/t-sql/statements/drop-certificate-transact-sql.md.
func DropCertificate(name string) Statement {
	return new(builder).
		sql("IF CERT_ID(").str(name).sql(") IS NOT NULL\n    DROP CERTIFICATE ").name(name).
		done("drop certificate " + name)
}

// CreateUserForLogin creates a database user for a login, in the connection's database, if there is none of that name.
// Source: docs/t-sql/statements/create-user-transact-sql.md.
func CreateUserForLogin(user, login string) Statement {
	return new(builder).
		sql("IF DATABASE_PRINCIPAL_ID(").
		str(user).sql(") IS NULL\n    CREATE USER ").name(user).sql(" FOR LOGIN ").name(login).
		done("create user " + user)
}
