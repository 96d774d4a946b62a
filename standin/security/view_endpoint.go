// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"slices"
	"strings"

	"geosql.dev/operator/standin/engine"
)

// builtinEndpoints are those that every instance has (docs/relational-databases/system-catalog-views/
// sys-endpoints-transact-sql.md), of type TSQL.
var builtinEndpoints = []struct {
	id       int32
	name     string
	protocol int
	admin    bool
}{
	{1, "Dedicated Admin Connection", 2, true},
	{4, "TSQL Default TCP", 2, false},
}

var endpointStates = map[string]int{"STARTED": 0, "STOPPED": 1, "DISABLED": 2}

func (e *Extension) installEndpointViews(r *engine.Registry) {
	base := documented("sys.endpoints")
	e.view(r, "endpoints", base, e.endpointRows)
	e.view(r, "tcp_endpoints", documented("sys.tcp_endpoints", slices.Clone(base)...), e.endpointRows)
	e.view(r, "database_mirroring_endpoints", documented("sys.database_mirroring_endpoints", slices.Clone(base)...),
		func(ctx context.Context, s *engine.Session) ([]viewRow, error) {
			rows, err := e.endpointRows(ctx, s)
			return slices.DeleteFunc(rows, func(r viewRow) bool { return r["type"] != 4 }), err
		})
}

// endpointRows has the columns of all three views.
func (e *Extension) endpointRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	c, err := e.server(ctx, s)
	if err != nil {
		return nil, err
	}
	var rows []viewRow
	for _, b := range builtinEndpoints {
		port := 0
		if !b.admin {
			port = e.inst.Config().Port
		}
		rows = append(rows, viewRow{"name": b.name, "endpoint_id": b.id, "principal_id": int32(saID), "protocol": b.protocol,
			"protocol_desc": "TCP", "type": 2, "type_desc": "TSQL", "state": 0, "state_desc": "STARTED",
			"is_admin_endpoint": b.admin, "port": port, "is_dynamic_port": b.admin})
	}
	for _, ep := range c.endpoints {
		if !e.maySecurable(ctx, s, "VIEW DEFINITION", classEndpoint, ep.ID) && !e.maySecurable(ctx, s, "CONNECT", classEndpoint, ep.ID) {
			continue
		}
		rows = append(rows, mirroringRow(ep))
	}
	return rows, nil
}

func mirroringRow(ep *endpoint) viewRow {
	roles := map[string]int{"PARTNER": 1, "WITNESS": 2, "ALL": 3}
	algorithm, description := encryptionAlgorithm(ep)
	row := viewRow{"name": ep.Name, "endpoint_id": ep.ID, "principal_id": ep.Owner, "protocol": 2, "protocol_desc": "TCP", "type": 4,
		"type_desc": "DATABASE_MIRRORING", "state": endpointStates[ep.State], "state_desc": ep.State, "is_admin_endpoint": false,
		"port": ep.Port, "is_dynamic_port": false, "role": roles[ep.Role], "role_desc": ep.Role,
		"is_encryption_enabled": ep.Encryption != "DISABLED", "connection_auth": 4, "connection_auth_desc": "CERTIFICATE",
		"certificate_id": ep.Certificate, "encryption_algorithm": algorithm, "encryption_algorithm_desc": description}
	if ep.IP != "ALL" {
		row["ip_address"] = ep.IP
	}
	return row
}

// encryptionAlgorithm is encryption_algorithm and its description
// (docs/relational-databases/system-catalog-views/sys-database-mirroring-endpoints-transact-sql.md).
func encryptionAlgorithm(ep *endpoint) (int, string) {
	switch strings.Join(ep.Algorithms, ", ") {
	case "":
		return 0, "NONE"
	case "RC4":
		return 1, "RC4"
	case "AES":
		return 2, "AES"
	case "RC4, AES":
		return 3, "RC4, AES"
	}
	return 4, "AES, RC4"
}
