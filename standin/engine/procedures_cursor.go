// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// installCursorProcedures registers the procedures of server cursors as procedures of a batch; the protocol serves the
// same ones, with the same handles (docs/relational-databases/system-stored-procedures/sp-cursoropen-transact-sql.md
// and its neighbours).
func installCursorProcedures(r *Registry) {
	for _, name := range []string{"sp_cursor", "sp_cursorclose", "sp_cursorexecute", "sp_cursorfetch", "sp_cursoropen",
		"sp_cursoroption", "sp_cursorprepare", "sp_cursorprepexec", "sp_cursorunprepare"} {
		r.Procedure(
			Procedure{
				Name:       name,
				Parameters: []Parameter{},
				Variadic:   true,
				Run:        func(ctx context.Context, c *ProcCall) error { return c.cursor(ctx, name) },
			},
		)
	}
}

// cursorHost executes the statements of cursors within the batch that opens them.
type cursorHost struct{ *Session }

func (h cursorHost) Execute(ctx context.Context, text, declaration string, params []tds.Param, w tds.Writer) error {
	return h.executeText(ctx, text, declaration, params, w, false)
}

// cursor executes a cursor procedure. Its arguments count by their place, whatever they are called, as those of a
// remote procedure call do.
func (c *ProcCall) cursor(ctx context.Context, name string) error {
	s := c.Session
	call := tds.Call{Name: name, Params: make([]tds.Param, len(c.extra))}
	for i, a := range c.extra {
		if a.rows != nil || a.table != nil {
			return unsupported(name + " with a table for a parameter")
		}
		call.Params[i] = tds.Param{Name: a.name, Type: a.typ, Value: sqltype.Bare(a.value), Output: a.output != nil}
		if a.typ.Kind == sqltype.Unknown {
			call.Params[i].Type = sqltype.NVarCharMax
		}
	}
	if s.request.Cursors == nil {
		s.request.Cursors = tds.NewCursors(s.preparedStatements())
	}
	status := &returnStatus{Writer: c.Writer}
	given, err := s.request.Cursors.Call(ctx, cursorHost{s}, name, call, status)
	c.SetStatus(status.status)
	var told *sqlerr.Error
	if errors.As(err, &told) {
		return told
	}
	if err != nil {
		return err
	}
	for i, a := range c.extra {
		if a.output == nil {
			continue
		}
		value, from := call.Params[i].Value, call.Params[i].Type
		if n, ok := given[i]; ok {
			value, from = n, sqltype.IntType
		}
		v, e := sqltype.Convert(value, from, a.output.typ, 0, sqltype.Explicit)
		if e != nil {
			return e
		}
		a.output.value = v
	}
	return nil
}

// returnStatus keeps the status for the procedure itself.
type returnStatus struct {
	tds.Writer
	status int32
}

func (w *returnStatus) ReturnStatus(status int32) error {
	w.status = status
	return nil
}

// ReturnValue: the values of output parameters of the statement are those of its parameters.
func (w *returnStatus) ReturnValue(string, sqltype.Type, any) error { return nil }

var _ tds.CursorHost = cursorHost{(*Session)(nil)}
