// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"

	"geosql.dev/standin/engine"
)

// EndpointConfig is the instance's DATABASE_MIRRORING endpoint as the transport between replicas needs it.
type EndpointConfig struct {
	// Name and ID are sys.database_mirroring_endpoints'; an empty Name means that there is no endpoint.
	Name string
	ID   int32
	// State is STARTED, STOPPED or DISABLED.
	State string
	// Port is LISTENER_PORT; IP is an address, empty for ALL.
	Port int
	IP   string
	// Role is WITNESS, PARTNER or ALL; Encryption is DISABLED, SUPPORTED or REQUIRED.
	Role, Encryption string
	// Certificate and Key are what the endpoint authenticates with; nil with Problem set when they can't be used.
	Certificate *x509.Certificate
	Key         *rsa.PrivateKey
	// Problem says why the endpoint can't authenticate (28055: no private key, not valid now, no master key).
	Problem error
}

// MirroringEndpoint is the endpoint; its Name is empty when there is none.
func (e *Extension) MirroringEndpoint(ctx context.Context) (EndpointConfig, error) {
	server, err := e.server(ctx, nil)
	if err != nil || len(server.endpoints) == 0 {
		return EndpointConfig{}, err
	}
	ep := server.endpoints[0]
	config := EndpointConfig{
		Name:       ep.Name,
		ID:         ep.ID,
		State:      ep.State,
		Port:       int(ep.Port),
		Role:       ep.Role,
		Encryption: ep.Encryption,
	}
	if ep.IP != "ALL" {
		config.IP = ep.IP
	}
	catalog, err := e.database(ctx, nil, e.master())
	if err != nil {
		return EndpointConfig{}, err
	}
	c := catalog.certificateByID(ep.Certificate)
	if c == nil {
		config.Problem = failure(28055, 3, "")
		return config, nil
	}
	key, err := e.privateKey(nil, e.master(), catalog, c, "")
	if err == nil {
		config.Certificate, err = c.x509()
	}
	if err != nil {
		config.Problem = failure(28055, 2, c.Name)
		return config, nil
	}
	config.Key = key
	if now := e.now(); now.Before(config.Certificate.NotBefore) || now.After(config.Certificate.NotAfter) {
		// Open connections stay; new ones are refused.
		config.Problem = failure(28055, 1, c.Name)
	}
	return config, nil
}

// OnEndpointChange registers a func that is called after CREATE, ALTER and DROP ENDPOINT with what is now.
func (e *Extension) OnEndpointChange(f func(EndpointConfig)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed = append(e.changed, f)
}

func (e *Extension) endpointChanged(ctx context.Context) {
	config, err := e.MirroringEndpoint(ctx)
	if err != nil {
		return
	}
	e.mu.Lock()
	listeners := append([]func(EndpointConfig){}, e.changed...)
	e.mu.Unlock()
	for _, f := range listeners {
		f(config)
	}
}

// AuthenticatePeer says which login a peer is that proved to have the private key of a certificate: the certificate's
// public part must be in master, valid now, owned by a user whose login has CONNECT on the endpoint and is not
// disabled. Errors are those of the handshake: 28035 the certificate isn't known or is owned by none, 28022 and 28023
// not yet or no more valid, 28034 no CONNECT permission. The peer still has to be made to prove it (TLS does).
func (e *Extension) AuthenticatePeer(ctx context.Context, der []byte) (engine.Login, error) {
	catalog, err := e.database(ctx, nil, e.master())
	if err != nil {
		return engine.Login{}, err
	}
	server, err := e.server(ctx, nil)
	if err != nil {
		return engine.Login{}, err
	}
	var c *certificate
	for _, candidate := range catalog.certificates {
		if bytes.Equal(candidate.DER, der) {
			c = candidate
			break
		}
	}
	if c == nil {
		return engine.Login{}, failure(28035, 1, "the certificate is not in the master database", 1)
	}
	parsed, err := c.x509()
	if err != nil {
		return engine.Login{}, err
	}
	if now := e.now(); now.Before(parsed.NotBefore) {
		return engine.Login{}, failure(28022, 1)
	} else if now.After(parsed.NotAfter) {
		return engine.Login{}, failure(28023, 1)
	}
	l := server.loginOfUser(catalog.userByID(c.Owner))
	if l == nil {
		return engine.Login{}, failure(28035, 2, "the certificate's owner has no login", 2)
	}
	if len(server.endpoints) == 0 || l.Disabled ||
		!server.allowed(l.ID, securable{class: classEndpoint, major: server.endpoints[0].ID}, "CONNECT") {
		return engine.Login{}, failure(28034, 1, l.Name, 84)
	}
	return server.asLogin(l), nil
}

// loginOfUser is the login of a user of master, nil for none. dbo of master is sa.
func (c *serverCatalog) loginOfUser(u *user) *login {
	if u == nil {
		return nil
	}
	if u.ID == dboID {
		return c.loginByID(saID)
	}
	return c.loginBySID(u.SID)
}
