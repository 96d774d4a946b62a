// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
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
	columns := a.Table.Table.Columns
	if name := call.String("@column"); name != "" {
		c := a.Table.Table.Column(name)
		if c == nil {
			return raise(14020, 1)
		}
		columns = []*metadata.Column{c}
	}
	operation := strings.ToLower(call.String("@operation"))
	if operation != "add" && operation != "drop" {
		return raise(14019, 1)
	}
	for _, c := range columns {
		key := false
		for _, k := range a.Keys {
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
			text = "IF NOT EXISTS (SELECT 1 FROM dbo.sysarticlecolumns WHERE artid = @p1 AND colid = @p2) INSERT INTO " +
				"dbo.sysarticlecolumns VALUES (@p1, @p2, 0, 0, 0)"
		}
		if err := s.Exec(ctx, text, a.ID, int64(c.ID)); err != nil {
			return err
		}
	}
	return nil
}
