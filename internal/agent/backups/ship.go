// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
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

// send brings a set into a store as it was packed for it, its description last. Files are looked for before and after
// it: whoever removes what is left of sets may have begun before the description was there. may is asked before it
// begins, and before there is a description.
func send(ctx context.Context, to *store.Store, l *local, p parcel, may func(context.Context) error,
	progress func(bytes int64)) error {
	if err := may(ctx); err != nil {
		return err
	}
	before := int64(0)
	for n, f := range p.Files {
		if err := l.upload(ctx, to, p, n, func(bytes int64) { progress(before + bytes) }); err != nil {
			return err
		}
		before += f.Bytes
	}
	content, err := p.Encode()
	if err != nil {
		return err
	}
	if err := may(ctx); err != nil {
		return err
	}
	has, err := there(ctx, to, p.Description)
	if err != nil {
		return err
	}
	for _, name := range p.stale() {
		if key := p.KeyOf(name); has[key] {
			if err := to.Remove(ctx, key); err != nil {
				return err
			}
		}
	}
	if err := giveUp(ctx, to, p); err != nil {
		return err
	}
	if err := to.Put(ctx, p.Key(), content); err != nil {
		return err
	}
	_, err = there(ctx, to, p.Description)
	if errors.Is(err, errGone) {
		return errors.Join(err, to.Remove(ctx, p.Key()))
	}
	return err
}

// giveUp gives up the uploads of what is none of a set's files that are encrypted now: no list shows that parts of them
// as the engine wrote them are there.
func giveUp(ctx context.Context, to *store.Store, p parcel) error {
	if p.Encryption == nil {
		return nil
	}
	uploads, err := to.Uploads(ctx, p.Folder()+"/", time.Time{})
	if err != nil {
		return err
	}
	for _, u := range uploads {
		if slices.ContainsFunc(p.Files, func(f backup.File) bool { return p.KeyOf(f.Name) == u.Key }) {
			continue
		}
		if err := to.Abort(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// stale are the names of what may be there of an earlier sending: a mark is of what was there before, since these files
// were not read back, and files of a set that is encrypted now may have come as they are.
func (p parcel) stale() []string {
	names := []string{verifiedName, damagedName}
	for _, f := range p.Files {
		if f.Plain != nil {
			names = append(names, f.Plain.Name)
		}
	}
	return names
}

// errGone says that files are not in a store any more that were sent.
var errGone = errors.New("what was sent is not there any more")

// there says whether the files of a set are in a store, with their bytes, and which objects its folder has.
func there(ctx context.Context, in *store.Store, d backup.Description) (has map[string]bool, err error) {
	objects, err := in.List(ctx, d.Folder()+"/")
	if err != nil {
		return nil, err
	}
	bytes := map[string]int64{}
	has = map[string]bool{}
	for _, o := range objects {
		bytes[o.Key], has[o.Key] = o.Bytes, true
	}
	for _, f := range d.Files {
		if !has[d.KeyOf(f.Name)] || bytes[d.KeyOf(f.Name)] != f.Bytes {
			return has, fmt.Errorf("%s in %s: %w", d.KeyOf(f.Name), in, errGone)
		}
	}
	return has, nil
}

// errRemoved says that a set that was to be read back is there no more.
var errRemoved = errors.New("it was removed meanwhile")

// check reads the files of a set back and marks it as verified or damaged, if it may. An error says that neither is
// known. Of a set that was marked before the other mark goes before this one is written: with both it counts as
// damaged.
func check(ctx context.Context, from *store.Store, k Kept, server string, may func(context.Context) error,
	now func() time.Time) (damage string, err error) {
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
	if err := described(ctx, from, k); err != nil {
		return "", err
	}
	if err := may(ctx); err != nil {
		return "", err
	}
	name, other := verifiedName, damagedName
	if damage != "" {
		name, other = damagedName, verifiedName
	}
	if k.Verified || k.Damaged {
		if err := from.Remove(ctx, path.Join(k.Folder(), other)); err != nil {
			return "", err
		}
	}
	content, err := json.Marshal(mark{At: now().UTC(), By: server, Message: damage})
	if err != nil {
		return "", fmt.Errorf("mark the %s: %w", k.Set, err)
	}
	return damage, from.Put(ctx, path.Join(k.Folder(), name), content)
}

// described says that a set has the description still by which it was read back: one that was sent again may have
// another, with files that are encrypted anew.
func described(ctx context.Context, from *store.Store, k Kept) error {
	content, err := from.Read(ctx, k.Key(), describedMost)
	if errors.Is(err, store.ErrNotFound) {
		return errRemoved
	}
	if err != nil {
		return err
	}
	if d, err := backup.Decode(content); err == nil && d.Sum != k.Sum {
		return fmt.Errorf("the %s was sent again while it was read back: it is read once more", k.Set)
	}
	return nil
}

// remove removes a set from a store: first its description, so that what is left of it is no set, then the rest. What
// is left of one stays when it was touched since it was listed: it is on its way again.
func remove(ctx context.Context, from *store.Store, r Remove, now time.Time) error {
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
	uploads, err := from.Uploads(ctx, folder+"/", now.Add(-leftFor))
	if err != nil {
		return err
	}
	if r.Set == nil && touched(objects, uploads).After(now.Add(-leftFor)) {
		return nil
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
	for _, u := range uploads {
		if err := from.Abort(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// touched is when something of a folder was last stored, by the store's clock.
func touched(objects []store.Object, uploads []store.Upload) (last time.Time) {
	for _, o := range objects {
		if o.Modified.After(last) {
			last = o.Modified
		}
	}
	for _, u := range uploads {
		if u.Moved.After(last) {
			last = u.Moved
		}
	}
	return last
}

// RemoveSet removes a set from a store, for who has read that nothing needs it.
func RemoveSet(ctx context.Context, from *store.Store, set Kept) error {
	return remove(ctx, from, Remove{Set: &set}, time.Now())
}
