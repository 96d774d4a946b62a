// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
)

// mark is what verifiedName and damagedName have.
type mark struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Message string    `json:"message,omitempty"`
}

// send brings a set into a store, its description last.
func send(ctx context.Context, to *store.Store, l *local, own Own, progress func(bytes int64)) error {
	before := int64(0)
	for _, f := range own.Files {
		err := to.Upload(ctx, own.KeyOf(f.Name), l.path(own, f.Name), func(bytes int64) { progress(before + bytes) })
		if err != nil {
			return err
		}
		before += f.Bytes
	}
	content, err := own.Encode()
	if err != nil {
		return err
	}
	return to.Put(ctx, own.Key(), content)
}

// check reads the files of a set back and marks it as verified or damaged. An error says that neither is known.
func check(ctx context.Context, from *store.Store, k Kept, server string, now func() time.Time) (damage string,
	err error) {
	for _, f := range k.Files {
		bytes, sum, err := from.Sum(ctx, k.KeyOf(f.Name), nil)
		switch {
		case errors.Is(err, store.ErrNotFound):
			damage = f.Name + " is not there"
		case err != nil:
			return "", err
		case bytes != f.Bytes || sum != f.SHA256:
			damage = fmt.Sprintf("%s has %d bytes with the SHA-256 %s, and was written with %d and %s", f.Name, bytes, sum,
				f.Bytes, f.SHA256)
		}
		if damage != "" {
			break
		}
	}
	name := verifiedName
	if damage != "" {
		name = damagedName
	}
	content, err := json.Marshal(mark{At: now().UTC(), By: server, Message: damage})
	if err != nil {
		return "", fmt.Errorf("mark the %s: %w", k.Set, err)
	}
	return damage, from.Put(ctx, path.Join(k.Folder(), name), content)
}

// remove removes a set from a store: first its description, so that what is left of it is no set, then the rest.
func remove(ctx context.Context, from *store.Store, r Remove, _ time.Time) error {
	folder := r.Leftover
	if r.Set != nil {
		folder = r.Set.Folder()
		if err := from.Remove(ctx, r.Set.Key()); err != nil {
			return err
		}
	}
	objects, err := from.List(ctx, folder+"/")
	if err != nil {
		return err
	}
	for _, o := range objects {
		if path.Base(o.Key) == backup.DescriptionName {
			return fmt.Errorf("%s in %s has a description again: it is not removed", folder, from)
		}
	}
	for _, o := range objects {
		if err := from.Remove(ctx, o.Key); err != nil {
			return err
		}
	}
	return from.AbortUploads(ctx, folder+"/", func(string) bool { return false })
}
