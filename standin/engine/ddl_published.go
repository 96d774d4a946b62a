// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// TableAlteration is an ALTER TABLE statement on a published table.
type TableAlteration struct {
	Database *Database
	// Table is the table as it was before the statement.
	Table *metadata.Object
	// Head and Tail are the statement's text before and after the table's name.
	Head, Tail string
}

// AlterTableFunc carries out an ALTER TABLE statement on a published table: alter does what the statement says.
type AlterTableFunc func(ctx context.Context, s *Session, a TableAlteration, alter func() error) error

// OnAlterTable sets who carries out ALTER TABLE of tables that are published (Table.Replicated), to send it on.
func (r *Registry) OnAlterTable(f AlterTableFunc) { r.alterTable = f }

// alterTable runs f on the table of an ALTER TABLE statement.
func (s *Session) alterTable(
	ctx context.Context,
	node ast.Statement,
	n *ast.SchemaObjectName,
	f func(d *SchemaChange, o *metadata.Object) error,
) error {
	alter := func() error { return s.ChangeTable(ctx, n, "ALTER", f) }
	a, err := s.alteration(ctx, node, bind.NameOf(n), n)
	if err != nil {
		return err
	}
	if a == nil {
		return alter()
	}
	return s.inst.registry.alterTable(ctx, s, *a, alter)
}

// alteration describes an ALTER TABLE statement when its table is published, nil otherwise.
func (s *Session) alteration(
	ctx context.Context,
	node ast.Statement,
	name bind.ObjectName,
	n *ast.SchemaObjectName,
) (*TableAlteration, error) {
	if s.inst.registry.alterTable == nil || name.Temporary() {
		return nil, nil
	}
	db := s.db
	if name.Database != "" {
		db = s.inst.Database(name.Database)
	}
	if db == nil {
		return nil, nil
	}
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, err
	}
	o := s.lookUp(db.ID(), sch, name)
	if o == nil || o.Table == nil || !o.Table.Replicated {
		return nil, nil
	}
	head, tail, ok := s.textAround(node, n)
	if !ok {
		return nil, errors.New("the text of ALTER TABLE on a published table is not known")
	}
	return &TableAlteration{Database: db, Table: o, Head: head, Tail: tail}, nil
}

// textAround is the text of a statement of the running batch before and after a name.
func (s *Session) textAround(node ast.Statement, name *ast.SchemaObjectName) (head, tail string, ok bool) {
	f := s.frame()
	if f == nil || f.batch == nil {
		return "", "", false
	}
	return f.batch.Around(node, name)
}

// atomicSavepoint is what Atomically goes back to within a user transaction.
const atomicSavepoint = "\x00atomic"

// Atomically runs f as one statement: of what it does all is kept, or nothing. Outside a transaction it commits when f
// returns nil; within one, the rest of the transaction stays as it is. What f did is undone also when ctx ended during
// it.
func (s *Session) Atomically(ctx context.Context, f func() error) error {
	if s.count == 0 {
		s.beginTransaction("")
		if err := f(); err != nil {
			if s.count > 0 {
				s.rollbackTransaction()
			}
			return err
		}
		return s.commitTransaction(ctx)
	}
	if err := s.saveTransaction(ctx, atomicSavepoint); err != nil {
		return err
	}
	err := f()
	if s.count == 0 || s.doomed {
		return err // the whole transaction goes
	}
	if err != nil {
		if e := s.rollbackTo(context.WithoutCancel(ctx), atomicSavepoint); e != nil {
			return e
		}
	}
	s.saves = s.saves[:len(s.saves)-1]
	s.local.release(len(s.saves))
	for i := range s.later {
		s.later[i].saves = min(s.later[i].saves, len(s.saves))
	}
	for _, o := range s.open {
		if e := s.inTx(context.WithoutCancel(ctx), o,
			func(tx *storage.Tx) error { return tx.ReleaseSavepoint(atomicSavepoint) }); e != nil {
			return e
		}
	}
	return err
}
