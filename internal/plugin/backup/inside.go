// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/declared"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/plugin/cli"
)

// inside is what a store was read to have, with the store, which has to be closed.
type inside struct {
	name   v1alpha1.ObjectName
	bucket *store.Store
	has    backups.Stored
}

// read reads all that a store has below a folder, by the credentials of the Secret that its BackupStore names: nothing
// else needs to be there, neither a policy nor a server.
func (l look) read(ctx context.Context, name v1alpha1.ObjectName, folder string) (*inside, error) {
	var s v1alpha1.BackupStore
	if err := cli.Find(ctx, l.hub, &s, l.namespace, string(name)); err != nil {
		return nil, err
	}
	if v := s.Spec.Volume; v != nil {
		return nil, fmt.Errorf("BackupStore %s is on the volume of server %s, whose sidecar answers servers alone: "+
			"status.stores of the policies that name it say what it has", name, v.Server)
	}
	found, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	b, missing, err := declared.Bucket(found, l.hub, &s)
	cancel()
	if err == nil && missing != "" {
		err = fmt.Errorf("%s", missing)
	}
	if err != nil {
		return nil, fmt.Errorf("BackupStore %s: %w", name, err)
	}
	opened, err := store.Open(b)
	if err != nil {
		return nil, fmt.Errorf("BackupStore %s: %w", name, err)
	}
	in := &inside{name: name, bucket: opened}
	in.has, err = backups.Folder(ctx, opened, folder)
	if err != nil {
		opened.Close()
		return nil, fmt.Errorf("BackupStore %s: %w", name, err)
	}
	return in, nil
}

// stores are the names of those of the namespace.
func (l look) stores(ctx context.Context) ([]v1alpha1.ObjectName, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	var list v1alpha1.BackupStoreList
	if err := l.hub.List(ctx, &list, client.InNamespace(l.namespace)); err != nil {
		return nil, fmt.Errorf("list the BackupStores of namespace %s: %w", l.namespace, err)
	}
	var names []v1alpha1.ObjectName
	for i := range list.Items {
		names = append(names, v1alpha1.ObjectName(list.Items[i].Name))
	}
	slices.Sort(names)
	return names, nil
}

// family is a database's sets in a store, the newest last; another one of the same name is another family, and one of
// the same family by another name, which came from a copy of it, is another database.
type family struct {
	id, target, database string
	sets                 []backups.Kept
}

// families are those of a store, by target and name.
func (in *inside) families() []family {
	var all []family
	for _, k := range in.has.Sets {
		at := slices.IndexFunc(all, func(f family) bool {
			return backup.IdentityOf(f.id, f.database) == k.Identity() && f.target == k.Target
		})
		if at < 0 {
			all = append(all, family{id: k.Family, target: k.Target})
			at = len(all) - 1
		}
		all[at].sets = append(all[at].sets, k)
		all[at].database = k.Database
	}
	slices.SortStableFunc(all, func(a, b family) int {
		return strings.Compare(a.target+"/"+strings.ToLower(a.database), b.target+"/"+strings.ToLower(b.database))
	})
	return all
}

// chains are the sets as chains are made of them.
func (f family) chains() []backup.Set {
	var sets []backup.Set
	for _, k := range f.sets {
		set := k.Set
		set.Damaged = k.Damaged
		sets = append(sets, set)
	}
	return sets
}

// state is what is known of a set by reading it back, for which no key is needed.
func state(k backups.Kept) string {
	known := "not read back"
	switch {
	case k.Damaged:
		known = "damaged"
	case k.Verified:
		known = "verified"
	}
	if k.Encryption != nil {
		known += ", encrypted"
	}
	return known
}

func at(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format(time.RFC3339)
}
