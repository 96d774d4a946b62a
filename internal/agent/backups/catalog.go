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

// catalog knows what a store has of a target. Each description is read once, and again where another was stored in its
// place: a set that is sent again may be encrypted to another key.
type catalog struct {
	name, folder string
	store        *store.Store
	now          func() time.Time

	mu     sync.Mutex
	stored Stored
	// changed are the sets that were changed since the last list was begun, which may not show it.
	changed map[string]bool
}

// Folder is what a store has below a folder: the sets that are described there, each with whether it was found damaged,
// and, of a target's folder, whose it is.
func Folder(ctx context.Context, from *store.Store, folder string) (Stored, error) {
	objects, err := from.List(ctx, folder+"/")
	if err != nil {
		return Stored{}, err
	}
	c := &catalog{folder: folder, store: from}
	read, err := c.described(ctx, objects)
	if err == nil {
		read.Owner, err = c.claimed(ctx, objects)
	}
	return read, err
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
	read, err := c.readAll(ctx)
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

// readAll reads the sets, and what is left of others.
func (c *catalog) readAll(ctx context.Context) (Stored, error) {
	objects, err := c.store.List(ctx, c.folder+"/")
	if err != nil {
		return Stored{}, err
	}
	uploads, err := c.store.Uploads(ctx, c.folder+"/", c.now().Add(-leftFor))
	if err != nil {
		return Stored{}, err
	}
	read, err := c.described(ctx, objects)
	if err != nil {
		return Stored{}, err
	}
	read.Leftovers = leftovers(slices.DeleteFunc(slices.Clone(objects), c.isOwner), uploads)
	read.Owner, err = c.claimed(ctx, objects)
	return read, err
}

func (c *catalog) isOwner(o store.Object) bool { return o.Key == backup.OwnerKey(c.folder) }

// claimed says whose the folder with these objects is; nil where nobody's. Where the list does not show it, it is not
// asked for: a store may refuse to say of one object that it is not there.
func (c *catalog) claimed(ctx context.Context, objects []store.Object) (*backup.Owner, error) {
	if !slices.ContainsFunc(objects, c.isOwner) {
		return nil, nil
	}
	owner, err := c.owner(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &owner, nil
}

// described are the sets of these objects.
func (c *catalog) described(ctx context.Context, objects []store.Object) (Stored, error) {
	folders := map[string]map[string]store.Object{}
	for _, o := range objects {
		folder := path.Dir(o.Key)
		if folders[folder] == nil {
			folders[folder] = map[string]store.Object{}
		}
		folders[folder][path.Base(o.Key)] = o
	}
	known := c.knownKeys()
	var (
		mu   sync.Mutex
		read Stored
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
	beside map[string]store.Object,
	known map[string]Kept,
) (Kept, error) {
	k, there := known[folder]
	d, at := k.Description, beside[backup.DescriptionName].Modified
	if !there || !k.Described.Equal(at) {
		var err error
		if d, err = c.describe(ctx, folder); err != nil {
			return Kept{}, err
		}
	}
	if !hasFiles(beside, d) {
		// A long list may be older at its begin than at its end: the files may have come in between.
		objects, err := c.store.List(ctx, folder+"/")
		if err != nil {
			return Kept{}, err
		}
		beside = map[string]store.Object{}
		for _, o := range objects {
			beside[path.Base(o.Key)] = o
		}
		if _, whole := beside[backup.DescriptionName]; !whole {
			return Kept{}, fmt.Errorf("%s: %w", folder, store.ErrNotFound)
		}
	}
	k = marked(d, beside)
	k.Described = at
	return k, nil
}

// marked is a set with what the objects beside its description say of it. Of both marks that of damage counts.
func marked(d backup.Description, beside map[string]store.Object) Kept {
	verified, isVerified := beside[verifiedName]
	damaged, isDamaged := beside[damagedName]
	k := Kept{Description: d, Damaged: isDamaged || !hasFiles(beside, d), Checked: verified.Modified}
	k.Verified = isVerified && !k.Damaged
	if damaged.Modified.After(k.Checked) {
		k.Checked = damaged.Modified
	}
	return k
}

// hasFiles says whether all files of a set are among the objects beside its description.
func hasFiles(beside map[string]store.Object, d backup.Description) bool {
	return !slices.ContainsFunc(d.Files, func(f backup.File) bool {
		o, there := beside[f.Name]
		return !there || o.Bytes != f.Bytes
	})
}

// errDescription says that a description is there and is none: the set restores nothing, and others are not concerned.
var errDescription = errors.New("it cannot be used")

func (c *catalog) knownKeys() map[string]Kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]Kept{}
	for _, s := range c.stored.Sets {
		known[s.Folder()] = s
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
