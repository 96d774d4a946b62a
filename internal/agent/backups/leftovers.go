// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"maps"
	"path"
	"slices"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
)

// leftovers are the folders without a description, those too that have nothing but an upload that is not complete.
func leftovers(objects []store.Object, uploads []store.Upload) (all []Leftover) {
	type content struct {
		objects []store.Object
		uploads []store.Upload
	}
	folders, described := map[string]*content{}, map[string]bool{}
	in := func(key string) *content {
		folder := path.Dir(key)
		if folders[folder] == nil {
			folders[folder] = &content{}
		}
		return folders[folder]
	}
	for _, o := range objects {
		c := in(o.Key)
		c.objects = append(c.objects, o)
		if path.Base(o.Key) == backup.DescriptionName {
			described[path.Dir(o.Key)] = true
		}
	}
	for _, u := range uploads {
		c := in(u.Key)
		c.uploads = append(c.uploads, u)
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if !described[folder] {
			all = append(all, Leftover{folder, touched(folders[folder].objects, folders[folder].uploads)})
		}
	}
	return all
}
