// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/hadr"
	"geosql.dev/operator/standin/security"
)

// mirroring lets availability groups ask the security extension: extensions do not know each other.
type mirroring struct{ *security.Extension }

// Ensure that it fits.
var _ hadr.Security = mirroring{}

// Endpoint serves hadr.Security.
func (m mirroring) Endpoint(ctx context.Context) (hadr.Endpoint, error) {
	c, err := m.MirroringEndpoint(ctx)
	return hadr.Endpoint{Name: c.Name, Started: c.State == "STARTED", IP: c.IP, Port: c.Port, Role: c.Role,
		Certificate: c.Certificate, Key: c.Key, Problem: c.Problem}, err
}

// OnEndpointChange serves hadr.Security.
func (m mirroring) OnEndpointChange(f func()) {
	m.Extension.OnEndpointChange(func(security.EndpointConfig) { f() })
}

// AuthenticatePeer serves hadr.Security.
func (m mirroring) AuthenticatePeer(ctx context.Context, der []byte) error {
	_, err := m.Extension.AuthenticatePeer(ctx, der)
	return err
}

// MayOnGroup serves hadr.Security.
func (m mirroring) MayOnGroup(ctx context.Context, s *engine.Session, permission string, id int32) bool {
	return m.Extension.MayOnGroup(ctx, s, permission, id)
}
