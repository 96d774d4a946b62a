// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr"
	"geosql.dev/standin/security"
)

// mirroring lets availability groups ask the security extension: extensions do not know each other.
type mirroring struct {
	*security.Extension
	// serverName is the instance's, peers where endpoints are that are not looked up.
	serverName string
	peers      map[string]string
}

// Ensure that it fits.
var _ hadr.Security = mirroring{}

// Endpoint serves hadr.Security.
func (m mirroring) Endpoint(ctx context.Context) (hadr.Endpoint, error) {
	c, err := m.MirroringEndpoint(ctx)
	e := hadr.Endpoint{Name: c.Name, Started: c.State == "STARTED", IP: c.IP, Port: c.Port, Role: c.Role,
		Certificate: c.Certificate, Key: c.Key, Problem: c.Problem, Reach: m.reach}
	own := net.JoinHostPort(m.serverName, strconv.Itoa(c.Port))
	if at, err := netip.ParseAddrPort(m.reach(own)); err == nil {
		e.IP, e.Port = at.Addr().String(), int(at.Port())
	}
	return e, err
}

// reach is where the endpoint of a name and port is.
func (m mirroring) reach(address string) string {
	if at, ok := m.peers[strings.ToLower(address)]; ok {
		return at
	}
	return address
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
