// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/syntax"
)

// statementBits, objectBits and columnBits are the bits of PERMISSIONS
// (docs/t-sql/functions/permissions-transact-sql.md), by the permission that each asks for. A grant on columns opens
// nothing here, so that ANY is ALL.
var (
	statementBits = []permissionBit{
		{0x2, "CREATE TABLE"},
		{0x4, "CREATE PROCEDURE"},
		{0x8, "CREATE VIEW"},
		{0x10, "CREATE RULE"},
		{0x20, "CREATE DEFAULT"},
		{0x40, "BACKUP DATABASE"},
		{0x80, "BACKUP LOG"},
	}
	objectBits = []permissionBit{
		{0x1001, "SELECT"},
		{0x2002, "UPDATE"},
		{0x4004, "REFERENCES"},
		{0x8, "INSERT"},
		{0x10, "DELETE"},
		{0x20, "EXECUTE"},
	}
	columnBits = []permissionBit{{0x1, "SELECT"}, {0x2, "UPDATE"}, {0x4, "REFERENCES"}}
)

type permissionBit struct {
	bits int64
	name string
}

// grantable is how far to the left the bits of what may be granted stand.
const grantable = 16

// permissionBits is PERMISSIONS([object_id [, column]]); NULL for what isn't there.
func (e *Extension) permissionBits(s *engine.Session, args []any) (any, error) {
	ctx, db := context.Background(), s.CurrentDatabase()
	t := target{sec: securable{class: classDatabase}, db: db}
	if len(args) == 0 {
		bits := e.bitsOf(ctx, s, t, statementBits)
		if db.Name() == "master" && e.mayServer(ctx, s, "CREATE ANY DATABASE") {
			bits |= 1 | e.grantableBit(
				ctx,
				s,
				target{sec: securable{class: classServer}, server: true},
				permissionBit{1, "CREATE ANY DATABASE"},
			)
		}
		return bits, nil
	}
	id, ok := args[0].(int64)
	if !ok {
		return nil, nil
	}
	kind := ""
	err := e.reading(ctx, s, db, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(
			conn,
			"SELECT json_extract(doc, '$.schema'), json_extract(doc, '$.kind') FROM __objects WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{id}, ResultFunc: func(stmt *sqlite.Stmt) error {
				t.sec = securable{class: classObject, major: int32(id), schema: stmt.ColumnInt32(0)}
				kind = stmt.ColumnText(1)
				return nil
			}},
		)
	})
	if err != nil || kind == "" {
		return nil, err
	}
	known := objectBits
	if len(args) > 1 {
		column, _ := text(args, 1)
		columns, err := e.columnsOf(ctx, s, t)
		if _, found := columns[strings.ToLower(column)]; err != nil || !found {
			return nil, err
		}
		known = columnBits
	}
	var applicable []permissionBit
	for _, b := range known {
		if module := kind == "P" || kind == "FN"; module == (b.name == "EXECUTE") {
			applicable = append(applicable, b)
		}
	}
	return e.bitsOf(ctx, s, t, applicable), nil
}

// bitsOf are the bits of what s may do, and of what it may grant.
func (e *Extension) bitsOf(ctx context.Context, s *engine.Session, t target, known []permissionBit) int64 {
	var bits int64
	for _, b := range known {
		if e.may(ctx, s, t.db, t.sec, b.name) {
			bits |= b.bits
		}
		bits |= e.grantableBit(ctx, s, t, b)
	}
	return bits
}

func (e *Extension) grantableBit(ctx context.Context, s *engine.Session, t target, b permissionBit) int64 {
	if _, err := e.grantor(ctx, s, t, &syntax.PermissionStatement{}, []string{b.name}); err != nil {
		return 0
	}
	return b.bits << grantable
}
