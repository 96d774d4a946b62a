// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"net"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// firstEndpoint is the first endpoint_id of user-made endpoints.
const firstEndpoint int32 = 65536

// endpoint is a DATABASE_MIRRORING endpoint; there is at most one.
type endpoint struct {
	ID      int32     `json:"id"`
	Name    string    `json:"name"`
	Owner   int32     `json:"owner"`
	State   string    `json:"state"`
	Port    int64     `json:"port"`
	IP      string    `json:"ip"`
	Created time.Time `json:"created"`
	// Certificate is the certificate_id in master.
	Certificate int32    `json:"certificate"`
	Encryption  string   `json:"encryption"`
	Algorithms  []string `json:"algorithms"`
	Role        string   `json:"role"`
}

func (ep *endpoint) key() int32 { return ep.ID }

func (c *serverCatalog) endpoint(name string) *endpoint {
	for _, ep := range c.endpoints {
		if strings.EqualFold(ep.Name, name) {
			return ep
		}
	}
	return nil
}

// createEndpoint is CREATE ENDPOINT ... FOR DATABASE_MIRRORING. Errors: 7862 there is one, 28055 a certificate that
// can't be used, 15151, and 226 inside a transaction.
func (e *Extension) createEndpoint(ctx context.Context, s *engine.Session, n *syntax.CreateEndpoint) error {
	if s.InUserTransaction() {
		return failure(226, 1, "CREATE ENDPOINT")
	}
	if !e.mayServer(ctx, s, "CREATE ENDPOINT", "ALTER ANY ENDPOINT") {
		return notPermitted()
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	if catalog.endpoint(n.Name) != nil || builtinEndpoint(n.Name) {
		return failure(15530, 1, "endpoint", n.Name)
	}
	if len(catalog.endpoints) > 0 {
		return failure(7862, 1)
	}
	ep := &endpoint{Name: n.Name, Owner: s.Login().ID, State: "STOPPED", IP: "ALL", Created: e.now().UTC(),
		Encryption: "REQUIRED", Algorithms: []string{"AES"}}
	if n.Authorization != "" {
		l := catalog.login(n.Authorization)
		if l == nil || l.Type == rolePrincipal || !e.mayActAsLogin(ctx, s, l) {
			return failure(15151, 1, "find", "login", n.Authorization)
		}
		ep.Owner = l.ID
	}
	if err := e.applyEndpoint(ctx, s, ep, n.EndpointOptions, true); err != nil {
		return err
	}
	return e.changeEndpoint(ctx, s, func(tx *storage.Tx) error {
		if ep.ID, err = nextID(tx, tableEndpoints, firstEndpoint); err != nil {
			return err
		}
		return put(tx, tableEndpoints, ep)
	})
}

// changeEndpoint writes and says so. The endpoint listens as it is declared also when the client is gone by then:
// nobody would open it later.
func (e *Extension) changeEndpoint(ctx context.Context, s *engine.Session, f func(*storage.Tx) error) error {
	err := e.writing(ctx, s, e.master(), f)
	if err == nil || ctx.Err() != nil {
		e.endpointChanged(context.WithoutCancel(ctx))
	}
	return err
}

// applyEndpoint sets the given options.
func (e *Extension) applyEndpoint(
	ctx context.Context,
	s *engine.Session,
	ep *endpoint,
	o syntax.EndpointOptions,
	create bool,
) error {
	if o.State != "" {
		ep.State = o.State
	}
	if o.Port != 0 {
		if o.Port < 1024 || o.Port > 32767 {
			return failure(7810, 2, o.Port, "LISTENER_PORT")
		}
		ep.Port = o.Port
	}
	if o.IP != "" {
		if o.IP != "ALL" && net.ParseIP(o.IP) == nil {
			return failure(7887, 1)
		}
		ep.IP = o.IP
	}
	m := o.Mirroring
	if m == nil {
		return nil
	}
	if m.Windows != "" || create && m.Certificate == "" {
		// Windows authentication, the default, needs a domain, which an instance on Linux is not in.
		return failure(7871, 1, "AUTHENTICATION = WINDOWS")
	}
	if m.Certificate != "" {
		id, err := e.endpointCertificate(ctx, s, m.Certificate)
		if err != nil {
			return err
		}
		ep.Certificate = id
	}
	if m.Encryption != "" {
		ep.Encryption, ep.Algorithms = m.Encryption, m.Algorithms
		if m.Encryption == "DISABLED" {
			ep.Algorithms = nil
		} else if len(m.Algorithms) == 0 {
			ep.Algorithms = []string{"AES"}
		}
	}
	if m.Role != "" {
		// The only role that these editions have (docs/t-sql/statements/create-endpoint-transact-sql.md, ROLE).
		if edition := strings.ToLower(e.inst.Config().Edition); m.Role != "WITNESS" &&
			(strings.HasPrefix(edition, "express") || strings.HasPrefix(edition, "web")) {
			return failure(7871, 2, "ROLE = "+m.Role)
		}
		ep.Role = m.Role
	}
	return nil
}

// endpointCertificate finds a certificate of master that can authenticate: valid now, with a private key that the
// master key encrypts.
func (e *Extension) endpointCertificate(ctx context.Context, s *engine.Session, name string) (int32, error) {
	catalog, err := e.database(ctx, s, e.master())
	if err != nil {
		return 0, err
	}
	c := catalog.certificate(name)
	if c == nil {
		return 0, failure(15151, 1, "find", "certificate", name)
	}
	parsed, err := c.x509()
	if err != nil {
		return 0, err
	}
	now := e.now()
	if c.Encryption != byMasterKey || now.Before(parsed.NotBefore) || now.After(parsed.NotAfter) {
		return 0, failure(28055, 1, name)
	}
	if _, err := e.privateKey(s, e.master(), catalog, c, ""); err != nil {
		return 0, failure(28055, 2, name)
	}
	return c.ID, nil
}

func (e *Extension) alterEndpoint(ctx context.Context, s *engine.Session, n *syntax.AlterEndpoint) error {
	if s.InUserTransaction() {
		return failure(226, 1, "ALTER ENDPOINT")
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	if builtinEndpoint(n.Name) && e.mayServer(ctx, s, "ALTER ANY ENDPOINT") {
		return sqlerr.Unsupported("ALTER ENDPOINT of a built-in endpoint")
	}
	found := catalog.endpoint(n.Name)
	if found == nil || !e.maySecurable(ctx, s, "ALTER", classEndpoint, found.ID) {
		return failure(15151, 1, "alter", "endpoint", n.Name)
	}
	o := n.EndpointOptions
	if o.State == "" && o.Port == 0 && o.IP == "" && o.Mirroring == nil {
		return failure(7863, 1)
	}
	if o.TSQL {
		return failure(7860, 1)
	}
	ep := *found
	if err := e.applyEndpoint(ctx, s, &ep, o, false); err != nil {
		return err
	}
	return e.changeEndpoint(ctx, s, func(tx *storage.Tx) error { return put(tx, tableEndpoints, &ep) })
}

func (e *Extension) dropEndpoint(ctx context.Context, s *engine.Session, n *syntax.DropEndpoint) error {
	if s.InUserTransaction() {
		return failure(226, 1, "DROP ENDPOINT")
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	if builtinEndpoint(n.Name) {
		return failure(7873, 1, n.Name)
	}
	ep := catalog.endpoint(n.Name)
	if ep == nil ||
		!e.maySecurable(ctx, s, "CONTROL", classEndpoint, ep.ID) && !e.mayServer(ctx, s, "ALTER ANY ENDPOINT") {
		return failure(15151, 1, "drop", "endpoint", n.Name)
	}
	return e.changeEndpoint(ctx, s, func(tx *storage.Tx) error {
		for _, p := range catalog.permissions {
			if p.Class == classEndpoint && p.Major == ep.ID {
				if err := remove(tx, tableServerPermissions, p.ID); err != nil {
					return err
				}
			}
		}
		return remove(tx, tableEndpoints, ep.ID)
	})
}

func (e *Extension) changeEndpointOwner(ctx context.Context, s *engine.Session, name, principal string) error {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	found := catalog.endpoint(name)
	if found == nil || !e.maySecurable(ctx, s, "TAKE OWNERSHIP", classEndpoint, found.ID) {
		return failure(15151, 1, "find", "endpoint", name)
	}
	l := catalog.login(principal)
	if l == nil || l.Type == rolePrincipal || !e.mayActAsLogin(ctx, s, l) {
		return failure(15151, 1, "find", "principal", principal)
	}
	ep := *found
	ep.Owner = l.ID
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error { return put(tx, tableEndpoints, &ep) })
}
