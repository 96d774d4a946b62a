// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql/driver"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
)

// AccessFor is how long a manager uses credentials that it has read before it reads them again. The server's own
// controller reads them twice as often, and tells: what others use is as old as its last look.
const AccessFor = time.Minute

// cachedAccess keeps the credentials that were read, in memory alone, until they are too old, are refused, or are known
// to have changed. A watch would tell of changes sooner, and would need the right to list the Secrets of every
// namespace that has a server.
type cachedAccess struct {
	source AccessSource
	// lasts is how long they are used; 0 keeps none.
	lasts time.Duration
	now   func() time.Time

	mu   sync.Mutex
	kept map[types.NamespacedName]keptAccess
}

type keptAccess struct {
	access Access
	// asked is when the reading began: no change before it is missing. known is false of credentials that were dropped
	// then: what was asked for earlier is not kept any more.
	asked time.Time
	known bool
}

// of gives what is kept, or what is read now.
func (c *cachedAccess) of(ctx context.Context, server types.NamespacedName) (Access, error) {
	asked := c.now()
	c.mu.Lock()
	kept := c.kept[server]
	c.mu.Unlock()
	if kept.known && asked.Sub(kept.asked) < c.lasts {
		return kept.access, nil
	}
	access, err := c.source.Access(ctx, server.Namespace, v1alpha1.ServerName(server.Name))
	if err != nil {
		return Access{}, err
	}
	c.keep(server, keptAccess{access: access, asked: asked, known: true})
	return access, nil
}

// keep takes over what is newer than what is there.
func (c *cachedAccess) keep(server types.NamespacedName, k keptAccess) {
	if c.lasts == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !k.asked.Before(c.kept[server].asked) {
		c.kept[server] = k
	}
	// No secret stays in memory longer than it may be used.
	maps.DeleteFunc(c.kept, func(_ types.NamespacedName, old keptAccess) bool { return k.asked.Sub(old.asked) > c.lasts })
}

// drop lets the next use read anew, whatever is being read meanwhile.
func (c *cachedAccess) drop(server types.NamespacedName) {
	c.keep(server, keptAccess{asked: c.now()})
}

func serverKey(namespace string, server v1alpha1.ServerName) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: string(server)}
}

// Access gives the credentials of a server as Open uses them: read within Options.AccessFor, and not against
// Options.Check.
func (c *Connector) Access(ctx context.Context, namespace string, server v1alpha1.ServerName) (Access, error) {
	if c.options.Check != nil {
		if err := c.options.Check(ctx, namespace, server); err != nil {
			return Access{}, err
		}
	}
	return c.access.of(ctx, serverKey(namespace, server))
}

// Keep tells credentials of a server that were read elsewhere; asked is when their reading began.
func (c *Connector) Keep(namespace string, server v1alpha1.ServerName, access Access, asked time.Time) {
	c.access.keep(serverKey(namespace, server), keptAccess{access: access, asked: asked, known: true})
}

// Reread says that the credentials of a server have changed: the next Open reads them.
func (c *Connector) Reread(namespace string, server v1alpha1.ServerName) {
	c.access.drop(serverKey(namespace, server))
}

// refusals tells of logins that fail for what they were tried with.
type refusals struct {
	driver.Connector
	tell func()
}

// Connect logs in.
func (r refusals) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil && (HasNumber(err, numberLoginFailed, numberDisabled, numberLockedOut, numberExpired,
		numberMustChange) || classify(err) == Untrusted) {
		r.tell()
	}
	return conn, err
}
