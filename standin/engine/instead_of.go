// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/tds"
)

// runs tells whether a trigger runs, at whatever depth.
func (s *Session) runs(t *metadata.Object) bool {
	for _, f := range s.frames {
		if f.trigger != nil && f.objectID == t.ID {
			return true
		}
	}
	return false
}

// changeInstead finds the rows that a change would make and gives them to its trigger.
func (s *Session) changeInstead(ctx context.Context, p *bind.Plan, w tds.Writer) error {
	r := p.Modification.Rows
	var rows []*foundRow
	err := s.writing(ctx, p.Modification, func(conn *sqlite.Conn) (err error) {
		rows, err = s.findRows(ctx, p, r, conn)
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.find.Action == "DELETE" {
			continue
		}
		row.new = append([]any(nil), row.old...)
		if row.new == nil {
			row.new = make([]any, len(r.Image))
		}
		for i, c := range row.find.Set {
			for at, col := range r.Image {
				if col.ID == c.ID {
					row.new[at] = row.values[i]
				}
			}
		}
	}
	count := int64(len(rows))
	s.rowCount = count
	if err := s.fire(ctx, p, p.Modification.Triggers[0], rows, w); err != nil {
		return err
	}
	s.rowCount = count
	return w.Done(s.completion(count))
}
