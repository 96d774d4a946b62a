// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/internal/backup/store"
)

// openingExtension ends the name of a file that is being decrypted in its place: one that an earlier life has left is
// neither encrypted nor decrypted.
const openingExtension = ".opening"

// locked says that a chain has a set for which the order has no key.
type locked struct {
	Store, Recipient string
	Set              backup.Set
	// None says that the store declares no encryption at all.
	None bool
}

// Error implements error. It names the public key alone.
func (l *locked) Error() string {
	lacks := "of which the Secret that spec.encryption names has no private key: add it there as another line"
	if l.None {
		lacks = "and the BackupStore declares no spec.encryption: declare it with the Secret that has the private key"
	}
	return fmt.Sprintf("store %s: the %s (%s) is encrypted to %s, %s", l.Store, l.Set, l.Set.ID, l.Recipient, lacks)
}

// lockedSet is the first set of a plan that no private key of the order decrypts; nil where there is none.
func lockedSet(s orders.BackupStore, p backup.Plan) *locked {
	known := map[string]bool{}
	for _, d := range p.Sets {
		if d.Encryption == nil {
			continue
		}
		to := d.Encryption.Recipient
		opens, looked := known[to]
		if !looked {
			opens = seal.Opens(s.Identities(), to)
			known[to] = opens
		}
		if !opens {
			return &locked{Store: s.Name, Recipient: to, Set: d.Set, None: s.Encryption == nil}
		}
	}
	return nil
}

// bringFile has a file of a set on the backup volume as the engine wrote it. One that is not as its description says is
// ErrDamaged, of the store or of its encryption.
func (r *runner) bringFile(
	ctx context.Context,
	o *observed,
	from *store.Store,
	dir string,
	d backup.Description,
	f backup.File,
	progress func(int64),
) error {
	stored, written := filepath.Join(dir, f.Name), filepath.Join(dir, f.Written().Name)
	if f.Plain != nil {
		if done, err := decrypted(ctx, written, *f.Plain); done || err != nil {
			return err
		}
		if err := os.Remove(stored + openingExtension); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	err := from.Download(ctx, d.KeyOf(f.Name), stored, f.SHA256, progress)
	if errors.Is(err, store.ErrDamaged) {
		// What was there of a download that was cut off may be what is damaged: it is gone now.
		err = from.Download(ctx, d.KeyOf(f.Name), stored, f.SHA256, progress)
	}
	if err != nil || f.Plain == nil {
		return err
	}
	// Under another name: a life that ends in the middle leaves no file that the next one goes on with.
	if err := os.Rename(stored, stored+openingExtension); err != nil {
		return err
	}
	r.at(ctx, "decrypting: "+f.Name)
	chosen, err := r.chosenOrder(o)
	if err != nil {
		return err
	}
	err = seal.Open(ctx, stored+openingExtension, seal.Content{Bytes: f.Plain.Bytes, SHA256: f.Plain.SHA256},
		chosen.Identities())
	if errors.Is(err, seal.ErrKey) {
		return fmt.Errorf("%s of the %s, which is encrypted to %s: %w; the Secret had its private key", f.Name, d.Set,
			d.Encryption.Recipient, err)
	}
	if err != nil {
		return err
	}
	return os.Rename(stored+openingExtension, written)
}

// decrypted says that a file is there as the engine wrote it. One that is something else goes.
func decrypted(ctx context.Context, file string, was backup.File) (bool, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	seen := sha256.New()
	bytes, err := io.Copy(seen, store.Reading(ctx, f))
	if err != nil {
		return false, fmt.Errorf("read what is there: %w", err)
	}
	if bytes == was.Bytes && hex.EncodeToString(seen.Sum(nil)) == was.SHA256 {
		return true, nil
	}
	return false, os.Remove(file)
}
