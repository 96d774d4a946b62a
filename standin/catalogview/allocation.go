// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"errors"
	"slices"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
)

// allocationUnits are one of rows for each partition, with the pages of sys.dm_db_partition_stats.
func allocationUnits(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	list, err := partitionRecords(ctx, s)
	out := make([]engine.Record, 0, len(list))
	for _, p := range list {
		out = append(
			out,
			engine.Record{
				"allocation_unit_id": p["hobt_id"].(int64) | 1<<62,
				"type":               1,
				"type_desc":          "IN_ROW_DATA",
				"container_id":       p["hobt_id"],
				"data_space_id":      p["data_space_id"],
				"total_pages":        int64(1),
				"used_pages":         int64(1),
				"data_pages":         int64(1),
			},
		)
	}
	return out, err
}

// wholeIndexes are partitions put together to the heaps and indexes that they are of.
func wholeIndexes(list []engine.Record) []engine.Record {
	var out []engine.Record
	for _, rec := range list {
		if rec["partition_number"] == 1 {
			out = append(out, rec)
		} else {
			last := out[len(out)-1]
			last["rows"] = last["rows"].(int64) + rec["rows"].(int64)
		}
	}
	return out
}

// visibleTables are those of VisibleObjects that are tables of users.
func visibleTables(ctx context.Context, s *engine.Session) (*metadata.Catalog, []*metadata.Object, error) {
	sch, list, err := s.VisibleObjects(ctx)
	return sch, slices.DeleteFunc(list, func(o *metadata.Object) bool { return o.Kind != metadata.KindTable }), err
}

// partitionRecords counts the rows of every partition of every table; each index of a table has as many.
func partitionRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	sch, list, err := visibleTables(ctx, s)
	if err != nil {
		return nil, err
	}
	conn, release, err := s.Conn(ctx, s.ViewDatabase())
	if err != nil {
		return nil, err
	}
	defer release()
	var out []engine.Record
	for _, o := range list {
		from := conn
		if o.ID < 0 {
			from = s.TemporaryConn()
		}
		counted := map[metadata.Place]map[int]int64{}
		add := func(index int32, compression int, place metadata.Place) error {
			counts := counted[place]
			if counts == nil {
				var err error
				if counts, err = engine.PartitionRows(from, sch, o, place); err != nil {
					return err
				}
				counted[place] = counts
			}
			for i, group := range sch.GroupsOf(place) {
				id := metadata.PartitionID(o.ID, index, i+1)
				out = append(
					out,
					engine.Record{
						"partition_id":            id,
						"object_id":               o.ID,
						"index_id":                index,
						"partition_number":        i + 1,
						"hobt_id":                 id,
						"rows":                    counts[i+1],
						"filestream_filegroup_id": 0,
						"data_space_id":           group,
						"data_compression":        compression,
						"data_compression_desc":   engine.Description(int64(compression), "NONE", "ROW", "PAGE"),
						"xml_compression":         false,
						"xml_compression_desc":    "OFF",
					},
				)
			}
			return nil
		}
		var err error
		if !o.Table.IsClustered() {
			err = add(0, o.Table.Compression, o.Table.Place)
		}
		for _, i := range o.Table.Indexes {
			err = errors.Join(err, add(i.ID, i.Compression, i.Place))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
