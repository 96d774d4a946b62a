// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
)

const (
	// verifiedName and damagedName are objects beside a description: its files were read back as they were written, or
	// were not.
	verifiedName = "verified.json"
	damagedName  = "damaged.json"
	// describedMost is how many bytes a description has at most.
	describedMost = 1 << 20
	// readAtOnce is how many descriptions are read at once.
	readAtOnce = 8
)

// catalog knows what a store has of a target. Descriptions do not change, so that each is read once.
type catalog struct {
	name, folder string
	store        *store.Store
	now          func() time.Time

	mu     sync.Mutex
	stored Stored
}

// Folder is what a store has below a folder: the sets that are described there, each with whether it was found damaged.
func Folder(ctx context.Context, from *store.Store, folder string) (Stored, error) {
	c := &catalog{folder: folder, store: from}
	return c.read(ctx)
}

// current is what was last listed.
func (c *catalog) current() Stored {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stored
	s.Name = c.name
	return s
}

// list lists all that the store has. One that fails leaves what is known, and its error beside it.
func (c *catalog) list(ctx context.Context) error {
	at := c.now()
	read, err := c.read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.stored.Err = err
		return err
	}
	read.Listed = at
	checked := map[string]string{}
	for _, k := range c.stored.Sets {
		checked[k.ID] = k.CheckedFor
	}
	for i := range read.Sets {
		read.Sets[i].CheckedFor = checked[read.Sets[i].ID]
	}
	c.stored = read
	return nil
}

func (c *catalog) read(ctx context.Context) (Stored, error) {
	objects, err := c.store.List(ctx, c.folder+"/")
	if err != nil {
		return Stored{}, err
	}
	folders := map[string]map[string]time.Time{}
	for _, o := range objects {
		folder, name := path.Dir(o.Key), path.Base(o.Key)
		if folders[folder] == nil {
			folders[folder] = map[string]time.Time{}
		}
		folders[folder][name] = o.Modified
	}
	known := c.knownKeys()
	var (
		mu   sync.Mutex
		read Stored
	)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	for folder, names := range folders {
		if _, described := names[backup.DescriptionName]; !described {
			read.Leftovers = append(read.Leftovers, folder)
			continue
		}
		group.Go(func() error {
			d, there := known[folder]
			if !there {
				var err error
				d, err = c.describe(ctx, folder)
				switch {
				case errors.Is(err, store.ErrNotFound):
					return nil // it was removed meanwhile
				case errors.Is(err, errDescription):
					mu.Lock()
					defer mu.Unlock()
					read.Unreadable = append(read.Unreadable, err.Error())
					return nil
				case err != nil:
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			read.Sets = append(read.Sets, marked(d, names))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Stored{}, err
	}
	slices.SortFunc(read.Sets, func(a, b Kept) int { return a.Finished.Compare(b.Finished) })
	slices.Sort(read.Leftovers)
	slices.Sort(read.Unreadable)
	return read, nil
}

// marked is a set with what the objects beside it say of reading it back.
func marked(d backup.Description, beside map[string]time.Time) Kept {
	k := Kept{Description: d}
	verified, damaged := beside[verifiedName], beside[damagedName]
	_, k.Verified = beside[verifiedName]
	_, k.Damaged = beside[damagedName]
	k.Checked = verified
	if damaged.After(verified) {
		k.Checked = damaged
	}
	return k
}

// errDescription says that a description is there and is none: the set restores nothing, and others are not concerned.
var errDescription = errors.New("it cannot be used")

func (c *catalog) knownKeys() map[string]backup.Description {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]backup.Description{}
	for _, s := range c.stored.Sets {
		known[s.Folder()] = s.Description
	}
	return known
}

// describe reads a description; one that is not where it says is not believed.
func (c *catalog) describe(ctx context.Context, folder string) (backup.Description, error) {
	content, err := c.store.Read(ctx, path.Join(folder, backup.DescriptionName), describedMost)
	if err != nil {
		return backup.Description{}, err
	}
	d, err := backup.Decode(content)
	if err == nil && d.Folder() != folder {
		err = fmt.Errorf("it describes the set of %s", d.Folder())
	}
	if err != nil {
		return d, fmt.Errorf("%s in %s: %w: %w", folder, c.store, errDescription, err)
	}
	return d, nil
}

// change notes what was done to a set since the list: it was checked, or removed (nil).
func (c *catalog) change(id string, to func(Kept) *Kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sets []Kept
	for _, s := range c.stored.Sets {
		next := &s
		if s.ID == id {
			next = to(s)
		}
		if next != nil {
			sets = append(sets, *next)
		}
	}
	c.stored.Sets = sets
}
