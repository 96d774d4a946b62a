// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// installPreparedProcedures registers the prepare family as procedures of a batch; the protocol serves the same ones,
// with the same handles (docs/relational-databases/system-stored-procedures/sp-prepare-transact-sql.md,
// sp-execute-transact-sql.md, sp-prepexec-transact-sql.md, sp-unprepare-transact-sql.md).
func installPreparedProcedures(r *Registry) {
	handle := Parameter{Name: "@handle", Type: sqltype.IntType, Required: true}
	statement := []Parameter{
		{Name: "@handle", Type: sqltype.IntType, Output: true},
		{Name: "@params", Type: nmax},
		{Name: "@stmt", Type: nmax, Required: true},
	}
	r.Procedure(
		Procedure{
			Name:       "sp_prepare",
			Parameters: append(statement[:3:3], Parameter{Name: "@options", Type: sqltype.IntType}),
			Run:        prepare,
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_prepexec",
			Parameters: statement,
			Variadic:   true,
			Run: func(ctx context.Context, c *ProcCall) error {
				if !c.IsNull("@handle") {
					c.Session.preparedStatements().Drop(int32(c.Int("@handle"))) // the new statement takes its place
				}
				if err := prepare(ctx, c); err != nil {
					return err
				}
				return runText(ctx, c, c.String("@stmt"), c.String("@params"))
			},
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_execute",
			Parameters: []Parameter{handle},
			Variadic:   true,
			Run: func(ctx context.Context, c *ProcCall) error {
				p, err := c.Session.preparedStatements().Find(int32(c.Int("@handle")))
				if err != nil {
					return err
				}
				if p.Procedure != "" {
					return unsupported("the call of a procedure that sp_prepexecrpc has prepared, in a batch,")
				}
				return runText(ctx, c, p.Text, p.Declaration)
			},
		},
	)
	r.Procedure(
		Procedure{Name: "sp_unprepare", Parameters: []Parameter{handle}, Run: func(_ context.Context, c *ProcCall) error {
			if n := int32(c.Int("@handle")); !c.Session.preparedStatements().Drop(n) {
				return sqlerr.New(8179, 5, n)
			}
			return nil
		}},
	)
}

// preparedStatements are the session's prepared statements.
func (s *Session) preparedStatements() *tds.PreparedStatements {
	if s.request.Prepared == nil {
		s.request.Prepared = &tds.PreparedStatements{}
	}
	return s.request.Prepared
}

// prepare is sp_prepare: it gives a statement a handle. A statement that does not parse has none, one that is not
// Unicode neither (214).
func prepare(ctx context.Context, c *ProcCall) error {
	for _, name := range []string{"@params", "@stmt"} {
		if err := c.wide(name, name); err != nil {
			return err
		}
	}
	p := tds.Prepared{Text: c.String("@stmt"), Declaration: c.String("@params")}
	if err := c.Session.judgePrepared(ctx, p, !c.IsNull("@options") && c.Int("@options")&returnMetadata != 0,
		c.Writer); err != nil {
		return err
	}
	handle, err := c.Session.preparedStatements().Keep(p)
	if err != nil {
		return err
	}
	c.SetOutput("@handle", int64(handle))
	return nil
}

// returnMetadata is the option of sp_prepare that asks for the columns of the statement.
const returnMetadata = 0x0001

// Prepare serves tds.Session.
func (s *Session) Prepare(ctx context.Context, p tds.Prepared, describe bool, w tds.Writer) error {
	var failed error
	if err := s.serve(ctx, p.Text, w, func(ctx context.Context) error {
		failed = s.judgePrepared(ctx, p, describe, w)
		return nil
	}); err != nil {
		return err
	}
	return failed
}

// judgePrepared judges a statement and, when asked, describes its first result set. What does not parse or cannot be
// described is told and fails with 8180, which is what CATCH has of it.
func (s *Session) judgePrepared(ctx context.Context, p tds.Prepared, describe bool, w tds.Writer) error {
	_, cause := s.batches.parameters(p.Declaration)
	if cause == nil {
		_, cause = s.batches.parse(p.Text, p.Declaration, s.settings.options["QuotedIdentifier"])
	}
	var columns []tds.Column
	if cause == nil && describe {
		var err error
		if columns, cause, err = s.firstColumns(ctx, p.Text, p.Declaration); err != nil {
			return err
		}
	}
	switch {
	case cause != nil:
		if s.tryDepth == 0 {
			if err := w.Message(cause); err != nil {
				return err
			}
		}
		return sqlerr.New(8180, 1)
	case len(columns) > 0:
		if err := w.Columns(columns); err != nil {
			return err
		}
		return w.Done(tds.Rows(0))
	}
	return nil
}
