// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"

	"github.com/google/uuid"

	"geosql.dev/standin/backupmedia"
	"geosql.dev/standin/engine"
)

// mediaSets are the numbers of media sets: that of the first backup set that is known of each.
func mediaSets(list []backupRecord) map[uuid.UUID]int64 {
	out := map[uuid.UUID]int64{}
	for _, b := range list {
		if _, known := out[b.Note.Media]; !known {
			out[b.Note.Media] = b.ID
		}
	}
	return out
}

// installMediaViews registers msdb.dbo.backupmediaset and backupmediafamily
// (docs/relational-databases/system-tables/backupmediaset-transact-sql.md, backupmediafamily-transact-sql.md).
func installMediaViews(r *engine.Registry) {
	r.View(engine.View{
		Database: "msdb",
		Schema:   "dbo",
		Name:     "backupmediafamily",
		Columns: engine.ColumnList(
			"media_set_id int, family_sequence_number tinyint, media_family_id uniqueidentifier, media_count int, " +
				"logical_device_name nvarchar(128), physical_device_name nvarchar(260), device_type tinyint, " +
				"physical_block_size int, mirror tinyint",
		),
		Rows: mediaFamilies,
	})
	r.View(engine.View{
		Database: "msdb",
		Schema:   "dbo",
		Name:     "backupmediaset",
		Columns: engine.ColumnList(
			"media_set_id int, media_uuid uniqueidentifier, media_family_count tinyint, name nvarchar(128), description " +
				"nvarchar(255), software_name nvarchar(128), software_vendor_id int, MTF_major_version tinyint, " +
				"mirror_count tinyint, is_password_protected bit, is_compressed bit, is_encrypted bit",
		),
		Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
			var rows [][]any
			err := eachMediaSet(ctx, s, func(b backupRecord) {
				rows = append(rows, []any{b.ID, b.Note.Media, int64(len(b.devices())), nil, nil, nil, nil, nil, int64(1), false,
					false, false})
			})
			return rows, err
		},
	})
}

func mediaFamilies(ctx context.Context, s *engine.Session) ([][]any, error) {
	var rows [][]any
	err := eachMediaSet(ctx, s, func(b backupRecord) {
		for i, path := range b.devices() {
			family := i + 1
			rows = append(rows, []any{b.ID, int64(family), backupmedia.FamilyID(b.Note.Media, family), int64(1), nil, path,
				int64(2), int64(4096), int64(0)})
		}
	})
	return rows, err
}

// eachMediaSet is called with the first backup set that is known of each media set, whose number is the media set's.
func eachMediaSet(ctx context.Context, s *engine.Session, do func(backupRecord)) error {
	list, err := documents[backupRecord](ctx, s, "__backupset")
	if err != nil {
		return err
	}
	media := mediaSets(list)
	for _, b := range list {
		if media[b.Note.Media] == b.ID {
			do(b)
		}
	}
	return nil
}
