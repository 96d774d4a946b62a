// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"

	"geosql.dev/operator/standin/engine"
)

func (e *Extension) articleColumn(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, a, err := e.publishedTable(ctx, call)
	if err != nil {
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
		n, err := a.preCreationOf(value)
		if err != nil {
			return err
		}
		if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
			return err
		}
		return s.Exec(ctx, "UPDATE dbo.sysarticles SET pre_creation_cmd = @p2 WHERE artid = @p1", a.id, n)
	case "schema_option":
		options, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(value), "0x"), 16, 64)
		if err != nil {
			return raise(20014, 1)
		}
		if a.isModule() {
			err = a.kindOfModule().checkOptions(options)
		} else {
			err = e.checkTable(ctx, s, p.db, pub, a.table, options)
		}
		if err != nil {
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
