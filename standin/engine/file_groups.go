// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// SpaceName is a name after ON, TEXTIMAGE_ON or MOVE TO, as a name or as a string.
func SpaceName(name *ast.IdentifierOrValueExpression) string {
	if name.Identifier != nil {
		return name.Identifier.Value
	}
	return strings.Trim(name.Value, `"'[]`)
}

// placeAt is the place that ON names; otherwise where the statement has none
// (docs/t-sql/statements/create-table-transact-sql.md and create-index-transact-sql.md, ON). "default" is what
// byDefault says. 1921: there is no such file group.
func (d *SchemaChange) placeAt(
	o *metadata.Object,
	on *ast.FileGroupOrPartitionScheme,
	otherwise, byDefault metadata.Place,
) (metadata.Place, error) {
	switch {
	case on == nil || on.Name == nil:
		return otherwise, nil
	case len(on.PartitionSchemeColumns) > 0:
		return d.partitionBy(o, on)
	case strings.EqualFold(SpaceName(on.Name), "default"):
		return byDefault, nil
	}
	return d.groupNamed(SpaceName(on.Name))
}

// groupNamed is the place of a file group that may be written.
func (d *SchemaChange) groupNamed(name string) (metadata.Place, error) {
	g := d.sch.FileGroup(name)
	switch {
	case g == nil:
		return metadata.Place{}, sqlerr.New(1921, 1, "filegroup", name)
	case g.FileGroup.ReadOnly:
		return metadata.Place{}, sqlerr.New(1924, 2, g.Name)
	}
	return placeIn(g), nil
}

func placeIn(g *metadata.Object) metadata.Place {
	if g.FileGroup.ID == metadata.PrimaryGroup {
		return metadata.Place{}
	}
	return metadata.Place{Space: g.FileGroup.ID}
}

// defaultPlace is where a table goes that no statement places.
func (d *SchemaChange) defaultPlace() (metadata.Place, error) {
	g := d.sch.DefaultGroup()
	if g.FileGroup.ReadOnly {
		return metadata.Place{}, sqlerr.New(1924, 2, g.Name)
	}
	return placeIn(g), nil
}

// placeTable places a new table, and its large values where TEXTIMAGE_ON says. 1709: it has none.
func (b *tableBuilder) placeTable(on *ast.FileGroupOrPartitionScheme, text *ast.IdentifierOrValueExpression) error {
	t := b.o.Table
	var err error
	if on == nil || strings.EqualFold(SpaceName(on.Name), "default") {
		t.Place, err = b.d.defaultPlace()
	} else {
		t.Place, err = b.d.placeAt(b.o, on, metadata.Place{}, metadata.Place{})
	}
	b.placed = true
	for _, f := range b.unplaced {
		err = errors.Join(err, f())
	}
	if err != nil || text == nil {
		return unjoin(err)
	}
	if t.Place.Column != 0 {
		return sqlerr.New(1707, 1)
	}
	if !t.Large() {
		return sqlerr.New(1709, 1)
	}
	place, err := b.d.defaultPlace()
	if !strings.EqualFold(SpaceName(text), "default") {
		place, err = b.d.groupNamed(SpaceName(text))
	}
	t.TextSpace = place.DataSpace()
	return err
}

// locate places an index: a clustered one takes the table along.
func (b *tableBuilder) locate(i *metadata.Index, on *ast.FileGroupOrPartitionScheme) error {
	t := b.o.Table
	if !b.placed && !b.altering {
		b.unplaced = append(b.unplaced, func() error { return b.locate(i, on) })
		return nil
	}
	byDefault := t.Place
	if b.verb == "CREATE INDEX" {
		byDefault = placeIn(b.d.sch.DefaultGroup())
	}
	var err error
	if i.Place, err = b.d.placeAt(b.o, on, t.Place, byDefault); err != nil {
		return err
	}
	if err := t.UniqueWithin(i); err != nil {
		return err
	}
	if i.Clustered {
		if t.TextSpace == 0 && t.Large() {
			t.TextSpace = t.Place.DataSpace() // large values stay where they are
		}
		t.Place = i.Place
	}
	return nil
}

// movedTo is MOVE TO of DROP INDEX; nil where it is not given.
func movedTo(options []ast.DropIndexOption) *ast.FileGroupOrPartitionScheme {
	for _, o := range options {
		if m, ok := o.(*ast.MoveToDropIndexOption); ok {
			return m.MoveTo
		}
	}
	return nil
}

// moveHeap leaves the heap that a table becomes without its clustered index where that was, or where MOVE TO says
// (docs/t-sql/statements/drop-index-transact-sql.md). 3748: another index has nothing to move.
func (d *SchemaChange) moveHeap(o *metadata.Object, dropped *metadata.Index, to *ast.FileGroupOrPartitionScheme) error {
	if to == nil {
		return nil
	}
	if !dropped.Clustered {
		return sqlerr.New(3748, 1, dropped.Name)
	}
	place, err := d.placeAt(o, to, o.Table.Place, placeIn(d.sch.DefaultGroup()))
	if err != nil {
		return err
	}
	o.Table.Place = place
	return nil
}

// keyMovedTo is MOVE TO of ALTER TABLE DROP CONSTRAINT; nil where it is not given.
func keyMovedTo(options []ast.DropClusteredConstraintOption) *ast.FileGroupOrPartitionScheme {
	for _, o := range options {
		if m, ok := o.(*ast.DropClusteredConstraintMoveOption); ok {
			return m.OptionValue
		}
	}
	return nil
}
