// SPDX-License-Identifier: Apache-2.0

package backupmedia

import (
	"github.com/google/uuid"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// MaxDevices is how many devices a backup may have at most (docs/t-sql/statements/backup-transact-sql.md).
const MaxDevices = 64

// FamilyID is the identity of a media family, by its number from 1.
func FamilyID(media uuid.UUID, family int) uuid.UUID {
	if family == 1 {
		return media
	}
	return uuid.NewSHA1(media, []byte{byte(family)})
}

// Order puts the devices of a statement, of each its path and its sets, in the order of their families, and gives their
// places in the statement. Devices that are not one whole media set are 3132 (one is missing), 3231 (one too many),
// 3258 (one of another) and 3227 (one of them twice). A device without sets has no number: it gets one that is left.
func Order(paths []string, media []storage.Media) ([]int, error) {
	order := make([]int, len(paths))
	for i := range order {
		order[i] = -1
	}
	var set uuid.UUID
	known := false
	for i, path := range paths {
		if len(media[i].Sets) == 0 {
			continue
		}
		header := media[i].Sets[0].Header
		label, err := LabelOf(header, path)
		if err != nil {
			return nil, err
		}
		family, families := header.Place()
		switch {
		case families < len(paths):
			return nil, sqlerr.New(3231, 1, path, families, len(paths))
		case families > len(paths):
			return nil, sqlerr.New(3132, 1, families, len(paths))
		case known && label.Media != set:
			return nil, sqlerr.New(3258, 1, path)
		case order[family-1] >= 0:
			return nil, sqlerr.New(3227, 1, path, family, paths[order[family-1]])
		}
		set, known, order[family-1] = label.Media, true, i
	}
	left := 0
	for i := range paths {
		if len(media[i].Sets) > 0 {
			continue
		}
		for order[left] >= 0 {
			left++
		}
		order[left] = i
	}
	return order, nil
}
