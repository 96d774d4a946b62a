// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
)

// errOtherHub says that a target's folder in a store is another hub's.
var errOtherHub = errors.New("it is another hub's")

// ownerMost is how many bytes an owner's object has at most.
const ownerMost = 64 << 10

// owner reads whose the folder is.
func (c *catalog) owner(ctx context.Context) (backup.Owner, error) {
	content, err := c.store.Read(ctx, backup.OwnerKey(c.folder), ownerMost)
	if err != nil {
		return backup.Owner{}, err
	}
	return backup.DecodeOwner(content), nil
}

// claim makes the folder in a store the order's hub's where it is to be. It is so once a list shows it: of two that
// claim one at once the later one may have it, if the store knows no conditions.
func (r *runner) claim(ctx context.Context, c *catalog) error {
	s := c.current()
	if !r.planClaim(s) {
		return nil
	}
	content, err := backup.Owner{Hub: r.order.Owner, Claim: uuid.NewString(), Server: r.server, At: r.now().UTC(),
		Policy: r.order.Namespace + "/" + r.order.Policy}.Encode()
	if err != nil {
		return err
	}
	key := backup.OwnerKey(c.folder)
	if s.Owner == nil {
		if err := c.store.PutNew(ctx, key, content); !errors.Is(err, store.ErrExists) {
			return err
		}
		return nil
	}
	is, err := c.owner(ctx)
	switch {
	case err != nil:
		return err
	case is.Claim != s.Owner.Claim: // nobody spoke of this one
		return nil
	}
	r.log.Warn("a folder of backups is taken over", "store", c.name, "folder", c.folder, "formerly", is.Hub)
	return c.store.Put(ctx, key, content)
}

// mine asks a store right before something is written or removed there whose the folder is: a list may be old.
func (r *runner) mine(ctx context.Context, c *catalog) error {
	if r.order.Owner == "" {
		return nil
	}
	is, err := c.owner(ctx)
	if err == nil && is.Hub != r.order.Owner {
		err = fmt.Errorf("%s in %s: %w", c.folder, c.store, errOtherHub)
	}
	return err
}
