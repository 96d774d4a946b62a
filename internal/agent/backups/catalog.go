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
	// changed are the sets that were changed since the last list was begun, which may not show it.
	changed map[string]bool
}

// Folder is what a store has below a folder: the sets that are described there, each with whether it was found damaged.
func Folder(ctx context.Context, from *store.Store, folder string) (Stored, error) {
	c := &catalog{folder: folder, store: from, now: time.Now}
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
	c.mu.Lock()
	c.changed = map[string]bool{}
	c.mu.Unlock()
	read, err := c.read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.stored.Err = err
		return err
	}
	read.Listed = at
	read.Sets = slices.DeleteFunc(read.Sets, func(k Kept) bool { return c.changed[k.ID] })
	for _, k := range c.stored.Sets {
		if c.changed[k.ID] {
			read.Sets = append(read.Sets, k)
		}
	}
	slices.SortFunc(read.Sets, func(a, b Kept) int { return a.Finished.Compare(b.Finished) })
	c.stored = read
	return nil
}

func (c *catalog) read(ctx context.Context) (Stored, error) {
	objects, err := c.store.List(ctx, c.folder+"/")
	if err != nil {
		return Stored{}, err
	}
	uploads, err := c.store.Uploads(ctx, c.folder+"/", c.now().Add(-leftFor))
	if err != nil {
		return Stored{}, err
	}
	folders := map[string]map[string]int64{}
	for _, o := range objects {
		folder := path.Dir(o.Key)
		if folders[folder] == nil {
			folders[folder] = map[string]int64{}
		}
		folders[folder][path.Base(o.Key)] = o.Bytes
	}
	known := c.knownKeys()
	var (
		mu   sync.Mutex
		read = Stored{Leftovers: leftovers(objects, uploads)}
	)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	for folder, names := range folders {
		if _, whole := names[backup.DescriptionName]; !whole {
			continue
		}
		group.Go(func() error {
			kept, err := c.readSet(ctx, folder, names, known)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, store.ErrNotFound): // it was removed meanwhile
			case errors.Is(err, errDescription):
				read.Unreadable = append(read.Unreadable, err.Error())
			case err != nil:
				return err
			default:
				read.Sets = append(read.Sets, kept)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Stored{}, err
	}
	slices.Sort(read.Unreadable)
	return read, nil
}

// readSet is the set of a folder with these objects, by their sizes. One that lacks a file, or has it with another
// size, is damaged, whatever was marked before.
func (c *catalog) readSet(
	ctx context.Context,
	folder string,
	names map[string]int64,
	known map[string]backup.Description,
) (Kept, error) {
	d, there := known[folder]
	if !there {
		var err error
		if d, err = c.describe(ctx, folder); err != nil {
			return Kept{}, err
		}
	}
	if !hasFiles(names, d) {
		// A long list may be older at its begin than at its end: the files may have come in between.
		objects, err := c.store.List(ctx, folder+"/")
		if err != nil {
			return Kept{}, err
		}
		names = map[string]int64{}
		for _, o := range objects {
			names[path.Base(o.Key)] = o.Bytes
		}
		if _, whole := names[backup.DescriptionName]; !whole {
			return Kept{}, fmt.Errorf("%s: %w", folder, store.ErrNotFound)
		}
	}
	_, damaged := names[damagedName]
	_, verified := names[verifiedName]
	kept := Kept{Description: d, Damaged: damaged || !hasFiles(names, d)}
	kept.Verified = verified && !kept.Damaged
	return kept, nil
}

// hasFiles says whether all files of a set are among the objects beside its description.
func hasFiles(names map[string]int64, d backup.Description) bool {
	return !slices.ContainsFunc(d.Files, func(f backup.File) bool {
		bytes, there := names[f.Name]
		return !there || bytes != f.Bytes
	})
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
	if c.changed == nil {
		c.changed = map[string]bool{}
	}
	c.changed[id] = true
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
