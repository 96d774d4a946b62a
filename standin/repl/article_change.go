// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"strings"

	"geosql.dev/operator/standin/engine"
)

func (e *Extension) articleColumn(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, a, err := e.publishedArticle(ctx, call)
	if err != nil {
		return err
	}
	if err := a.tablesOnly(); err != nil {
		return err
	}
	if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
		return err
	}
	columns := a.table.Table.Columns
	if name := call.String("@column"); name != "" {
		c := a.table.Table.Column(name)
		if c == nil {
			return raise(14020, 1)
		}
		columns = []*engine.Column{c}
	}
	operation := strings.ToLower(call.String("@operation"))
	if operation != "add" && operation != "drop" {
		return raise(14019, 1)
	}
	for _, c := range columns {
		key := false
		for _, k := range a.keys {
			key = key || k.ID == c.ID
		}
		switch {
		case operation == "drop" && key && call.String("@column") != "":
			return raise(20587, 1, "@column", "sp_articlecolumn")
		case operation == "drop" && key, c.Computed != "":
			continue
		}
		text := "DELETE FROM dbo.sysarticlecolumns WHERE artid = @p1 AND colid = @p2"
		if operation == "add" {
			text = "IF NOT EXISTS (SELECT 1 FROM dbo.sysarticlecolumns WHERE artid = @p1 AND colid = @p2) INSERT INTO dbo.sysarticlecolumns VALUES (@p1, @p2, 0, 0, 0)"
		}
		if err := s.Exec(ctx, text, a.id, int64(c.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) changeArticle(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, a, err := e.publishedArticle(ctx, call)
	if err != nil {
		return err
	}
	property, value := strings.ToLower(call.String("@property")), call.String("@value")
	switch property {
	case "description":
		return s.Exec(ctx, "UPDATE dbo.sysarticles SET description = @p2 WHERE artid = @p1", a.id, value)
	case "pre_creation_cmd":
		n, ok := preCreation[strings.ToLower(value)]
		if !ok {
			return raise(14061, 1)
		}
		if a.isModule() && n > 1 {
			return raise(21223, 1)
		}
		if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
			return err
		}
		return s.Exec(ctx, "UPDATE dbo.sysarticles SET pre_creation_cmd = @p2 WHERE artid = @p1", a.id, n)
	case "schema_option":
		var options uint64
		for _, c := range strings.TrimPrefix(strings.ToLower(value), "0x") {
			d := strings.IndexRune("0123456789abcdef", c)
			if d < 0 {
				return raise(20014, 1)
			}
			options = options<<4 | uint64(d)
		}
		if a.isModule() {
			if _, err := a.kindOfModule().schemaOptions(binary.BigEndian.AppendUint64(nil, options)); err != nil {
				return err
			}
		} else if err := e.checkTable(ctx, s, p.db, a.table, options); err != nil {
			return err
		}
		if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
			return err
		}
		return s.Exec(ctx, "UPDATE dbo.sysarticles SET schema_option = @p2 WHERE artid = @p1", a.id, binary.BigEndian.AppendUint64(nil, options))
	}
	if a.isModule() {
		return raise(21224, 1, property)
	}
	return raise(21023, 1, "@property = N'"+property+"'")
}
