// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"slices"

	"geosql.dev/operator/internal/tsql"
)

// Partners are the servers with which an instance exchanges log, and what lets them connect.
type Partners struct {
	// Hosts are the servers, in no order, on which the groups of the instance have replicas, its own among them.
	Hosts []string
	// Distributed says that one of the groups spans groups: replicas of others connect, too.
	Distributed bool
	// Endpoint is the name of the endpoint to which they connect, empty when there is none.
	Endpoint string
	// Connectors are the logins that may connect to it.
	Connectors map[string]bool
	// Certificates are the names of the certificates in master by their owner's login, sorted.
	Certificates map[string][]string
	// Users are the users of master that have a login, by name, with the login's name.
	Users map[string]string
}

// ReadPartners reads with whom an instance exchanges log.
func ReadPartners(ctx context.Context, q Querier) (Partners, error) {
	p := Partners{Connectors: map[string]bool{}, Certificates: map[string][]string{}, Users: map[string]string{}}
	err := readAll(ctx, q, "read with which servers the instance exchanges log", []read{
		{tsql.KnownReplicas(), func(r Row) error {
			var host string
			var distributed bool
			err := r.Scan(&host, &distributed)
			p.Hosts, p.Distributed = append(p.Hosts, host), p.Distributed || distributed
			return err
		}},
		{tsql.EndpointState(), func(r Row) error {
			var state, role string
			var port int
			var certificate sql.NullString
			return r.Scan(&p.Endpoint, &state, &role, &port, &certificate)
		}},
		{tsql.EndpointConnectors(), func(r Row) error {
			var login string
			err := r.Scan(&login)
			p.Connectors[login] = true
			return err
		}},
		{tsql.Certificates(), func(r Row) error {
			c, err := scanCertificate(r)
			p.Certificates[c.Login] = append(p.Certificates[c.Login], c.Name)
			return err
		}},
		{tsql.UsersOfLogins(), func(r Row) error {
			var user, login string
			err := r.Scan(&user, &login)
			p.Users[user] = login
			return err
		}},
	}...)
	if err != nil {
		return Partners{}, err
	}
	for _, names := range p.Certificates {
		slices.Sort(names)
	}
	return p, nil
}
