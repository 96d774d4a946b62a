// SPDX-License-Identifier: Apache-2.0

package tsql

import "strconv"

// MirroringEndpoint is the name of the endpoint that carries log between replicas; an instance has one of its kind.
const MirroringEndpoint = "Hadr_endpoint"

// EndpointRole is the ROLE of a database mirroring endpoint.
type EndpointRole string

// The roles that the operator uses; Express has configuration-only replicas with WITNESS alone
// (docs/linux/sql-server-linux-create-availability-group.md).
const (
	EndpointRoleAll     EndpointRole = "ALL"
	EndpointRoleWitness EndpointRole = "WITNESS"
)

// CreateMirroringEndpoint creates the database mirroring endpoint, authenticated by a certificate, if there is none.
// Source: docs/t-sql/statements/create-endpoint-transact-sql.md.
func CreateMirroringEndpoint(port int, certificate string, role EndpointRole) Statement {
	return new(builder).
		sql("IF NOT EXISTS (SELECT 1 FROM sys.database_mirroring_endpoints)\n    CREATE ENDPOINT ").name(MirroringEndpoint).
		sql(" STATE = STARTED AS TCP (LISTENER_PORT = ", strconv.Itoa(port), ", LISTENER_IP = ALL)").
		sql(" FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE ").name(certificate).
		sql(", ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = ", string(role), ")").
		done("create the endpoint for log between replicas")
}

// StartEndpoint starts a stopped or disabled endpoint. Source: docs/t-sql/statements/alter-endpoint-transact-sql.md.
func StartEndpoint(name string) Statement {
	return new(builder).sql("ALTER ENDPOINT ").name(name).sql(" STATE = STARTED").done("start endpoint " + name)
}

// RestartEndpoint stops and starts an endpoint: its connections break, and are made anew.
// Source: docs/t-sql/statements/alter-endpoint-transact-sql.md.
func RestartEndpoint(name string) Statement {
	return new(builder).
		sql("ALTER ENDPOINT ").name(name).sql(" STATE = STOPPED;\n").
		sql("ALTER ENDPOINT ").name(name).sql(" STATE = STARTED").
		done("restart endpoint " + name)
}

// SetEndpointCertificate makes an endpoint show another certificate.
// Source: docs/t-sql/statements/alter-endpoint-transact-sql.md.
func SetEndpointCertificate(name, certificate string) Statement {
	return new(builder).
		sql("ALTER ENDPOINT ").name(name).
		sql(" FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE ").name(certificate).sql(")").
		done("show certificate " + certificate + " on endpoint " + name)
}

// GrantConnectOnEndpoint lets a partner's login connect to the endpoint.
// Source: docs/t-sql/statements/grant-endpoint-permissions-transact-sql.md.
func GrantConnectOnEndpoint(endpoint, login string) Statement {
	return new(builder).
		sql("GRANT CONNECT ON ENDPOINT::").name(endpoint).sql(" TO ").name(login).
		done("let " + login + " connect to endpoint " + endpoint)
}
