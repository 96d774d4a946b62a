// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"net"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
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

func builtinEndpoint(name string) bool {
	for _, b := range builtinEndpoints {
		if strings.EqualFold(b.name, name) {
			return true
		}
	}
	return false
}

var endpointStates = map[string]int{"STARTED": 0, "STOPPED": 1, "DISABLED": 2}

func (e *Extension) installEndpointViews(r *engine.Registry) {
	e.view(r, "dm_tcp_listener_states", documented("sys.dm_tcp_listener_states"), e.listenerRows)
	base := documented("sys.endpoints")
	e.view(r, "endpoints", base, e.endpointRows)
	e.view(r, "tcp_endpoints", documented("sys.tcp_endpoints", slices.Clone(base)...), e.endpointRows)
	e.view(r, "database_mirroring_endpoints", documented("sys.database_mirroring_endpoints", slices.Clone(base)...),
		func(ctx context.Context, s *engine.Session) ([]viewRow, error) {
			rows, err := e.endpointRows(ctx, s)
			return slices.DeleteFunc(rows, func(r viewRow) bool { return r["type"] != 4 }), err
		})
}

// listenerRows is sys.dm_tcp_listener_states: the port of clients, and that of the mirroring endpoint while it is
// started (docs/relational-databases/system-dynamic-management-views/sys-dm-tcp-listener-states-transact-sql.md).
func (e *Extension) listenerRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	if err := s.Require(ctx, engine.Permission{Name: "VIEW SERVER SECURITY STATE"}); err != nil {
		return nil, err
	}
	c, err := e.server(ctx, s)
	if err != nil {
		return nil, err
	}
	row := func(id, kind int, description, address string, port int64) viewRow {
		v4 := net.ParseIP(address)
		return viewRow{
			"listener_id": id,
			"ip_address":  address,
			"is_ipv4":     v4 != nil && v4.To4() != nil,
			"port":        port,
			"type":        kind,
			"type_desc":   description,
			"state":       1,
			"state_desc":  "ONLINE",
			"start_time":  e.inst.StartTime().UTC(),
		}
	}
	rows := []viewRow{row(1, 0, "TSQL", "0.0.0.0", int64(e.inst.Config().Port))}
	for _, ep := range c.endpoints {
		if ep.State != "STARTED" {
			continue
		}
		address := ep.IP
		if address == "ALL" {
			address = "0.0.0.0"
		}
		rows = append(rows, row(len(rows)+1, 2, "DATABASE_MIRRORING", address, ep.Port))
	}
	return rows, nil
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
		if !e.maySecurable(ctx, s, "VIEW DEFINITION", classEndpoint, ep.ID) &&
			!e.maySecurable(ctx, s, "CONNECT", classEndpoint, ep.ID) {
			continue
		}
		rows = append(rows, mirroringRow(ep))
	}
	return rows, nil
}

func mirroringRow(ep *endpoint) viewRow {
	roles := map[string]int{"PARTNER": 1, "WITNESS": 2, "ALL": 3}
	algorithm, description := encryptionAlgorithm(ep)
	row := viewRow{
		"name":                      ep.Name,
		"endpoint_id":               ep.ID,
		"principal_id":              ep.Owner,
		"protocol":                  2,
		"protocol_desc":             "TCP",
		"type":                      4,
		"type_desc":                 "DATABASE_MIRRORING",
		"state":                     endpointStates[ep.State],
		"state_desc":                ep.State,
		"is_admin_endpoint":         false,
		"port":                      ep.Port,
		"is_dynamic_port":           false,
		"role":                      roles[ep.Role],
		"role_desc":                 ep.Role,
		"is_encryption_enabled":     ep.Encryption != "DISABLED",
		"connection_auth":           4,
		"connection_auth_desc":      "CERTIFICATE",
		"certificate_id":            ep.Certificate,
		"encryption_algorithm":      algorithm,
		"encryption_algorithm_desc": description,
	}
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
