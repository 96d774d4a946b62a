// SPDX-License-Identifier: Apache-2.0

// Package article is what a publication has of a table, view, procedure or function: its columns and filter, and what
// is made of it for subscribers: commands of the log's records, scripts, and procedures that apply changes.
package article

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Bits of schema_option that decide what the snapshot's script has (sp_addarticle).
const (
	OptionScript       = 0x01
	OptionProcedures   = 0x02
	OptionIdentity     = 0x04
	optionRowVersion   = 0x08
	optionClustered    = 0x10
	optionNonclustered = 0x40
	OptionForeignKeys  = 0x200
	OptionChecks       = 0x400
	OptionDefaults     = 0x800
	OptionCollation    = 0x1000
	optionUnique       = 0x4000
	OptionCompression  = 0x400000000
	optionFiltered     = 0x4000000000
	DefaultOptions     = 0x30F3
)

// Article is what is needed to replicate a table.
type Article struct {
	ID          int64
	Publication int64
	// Kind is sysarticles.type. A definition has no columns; its table is the view, procedure or function.
	Kind        int64
	Name        string
	Object      int32
	DestOwner   string
	DestTable   string
	Insert      string
	Update      string
	Delete      string
	Options     uint64
	PreCreation int64
	Status      int64
	Active      bool
	// SnapshotOnly articles may have no primary key; the log reader does not know them.
	SnapshotOnly bool
	Filter       string
	Table        *metadata.Object
	Schema       string
	// Columns are those that are published, Keys those of the primary key, in key order.
	Columns, Keys []*metadata.Column
	// Versions are rowversion columns whose values the subscriber makes itself (0x08); others arrive as binary(8).
	Versions []*metadata.Column
}

// Resolve reads the table, view, procedure or function of an article, and which of its columns are published.
func (a *Article) Resolve(ctx context.Context, s *engine.Session, db *engine.Database, columns []int32) error {
	o, err := s.Object(ctx, db, a.Object)
	if err != nil {
		return err
	}
	if o == nil || o.Table == nil && !a.IsModule() {
		return sqlerr.Raise(14027, 1, a.Name)
	}
	a.Table = o
	if a.Schema, err = s.SchemaNameOf(ctx, db, o); err != nil {
		return err
	}
	if a.DestOwner == "" {
		a.DestOwner = a.Schema
	}
	if a.IsModule() {
		return nil
	}
	for _, id := range columns {
		c := o.Table.ColumnByID(id)
		switch {
		case c == nil:
		case c.Type.Kind == sqltype.RowVersion && a.Options&optionRowVersion != 0:
			a.Versions = append(a.Versions, c)
		default:
			a.Columns = append(a.Columns, c)
		}
	}
	pk := o.Table.PrimaryKey()
	if pk == nil && a.SnapshotOnly {
		return nil
	}
	if pk == nil {
		return sqlerr.Raise(14088, 1, o.Name)
	}
	for _, k := range pk.Keys {
		a.Keys = append(a.Keys, o.Table.ColumnByID(k.Column))
	}
	return nil
}
