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

// knownPartner is what a statement asks again that ends a partner's trust: whether a group of the instance has a
// replica on the host, or spans groups, so that replicas of others connect.
// Source: docs/relational-databases/system-catalog-views/sys-availability-replicas-transact-sql.md,
// sys-availability-groups-transact-sql.md.
func knownPartner(host string) string {
	return "EXISTS (SELECT 1 FROM sys.availability_replicas AS r JOIN sys.availability_groups AS g " +
		"ON g.group_id = r.group_id WHERE r.replica_server_name = " + String(host) + " OR g.is_distributed = 1)"
}

// RevokeConnectOnEndpoint lets a partner's login connect to the endpoint no more, unless a group of the instance has a
// replica on the host now. Source: docs/t-sql/statements/revoke-endpoint-permissions-transact-sql.md.
func RevokeConnectOnEndpoint(endpoint, login, host string) Statement {
	return new(builder).
		sql("IF NOT ", knownPartner(host), "\n    REVOKE CONNECT ON ENDPOINT::").name(endpoint).sql(" FROM ").name(login).
		done("let " + login + " connect to endpoint " + endpoint + " no more")
}

// DropPartnerCertificate drops a partner's certificate if it exists, unless a group of the instance has a replica on
// the host now. Source: docs/t-sql/statements/drop-certificate-transact-sql.md.
func DropPartnerCertificate(name, host string) Statement {
	return new(builder).
		sql("IF CERT_ID(").str(name).sql(") IS NOT NULL AND NOT ", knownPartner(host), "\n    DROP CERTIFICATE ").name(name).
		done("trust certificate " + name + " no more")
}

// DropPartnerUser drops the user in master that owned a partner's certificates if it exists, unless a group of the
// instance has a replica on the host now. Source: docs/t-sql/statements/drop-user-transact-sql.md.
func DropPartnerUser(user, host string) Statement {
	return new(builder).
		sql("IF DATABASE_PRINCIPAL_ID(").str(user).sql(") IS NOT NULL AND NOT ", knownPartner(host), "\n    DROP USER ").
		name(user).
		done("drop user " + user)
}

// DropPartnerLogin drops a partner's login if it exists, unless a group of the instance has a replica on the host now.
// Source: docs/t-sql/statements/drop-login-transact-sql.md.
func DropPartnerLogin(login, host string) Statement {
	return new(builder).
		sql("IF SUSER_ID(").str(login).sql(") IS NOT NULL AND NOT ", knownPartner(host), "\n    DROP LOGIN ").name(login).
		done("drop login " + login)
}
