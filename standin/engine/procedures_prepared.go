// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/tds"
)

// installPreparedProcedures registers the prepare family as procedures of a batch; the protocol serves the same ones, with the same handles
// (docs/relational-databases/system-stored-procedures/sp-prepare-transact-sql.md, sp-execute-transact-sql.md, sp-prepexec-transact-sql.md,
// sp-unprepare-transact-sql.md).
func installPreparedProcedures(r *Registry) {
	handle := Parameter{Name: "@handle", Type: sqltype.IntType, Required: true}
	statement := []Parameter{{Name: "@handle", Type: sqltype.IntType, Output: true}, {Name: "@params", Type: nmax}, {Name: "@stmt", Type: nmax, Required: true}}
	r.Procedure(Procedure{Name: "sp_prepare", Parameters: append(statement[:3:3], Parameter{Name: "@options", Type: sqltype.IntType}), Run: prepare})
	r.Procedure(Procedure{Name: "sp_prepexec", Parameters: statement, Variadic: true, Run: func(ctx context.Context, c *ProcCall) error {
		if !c.IsNull("@handle") {
			c.Session.preparedStatements().Drop(int32(c.Int("@handle"))) // the new statement takes its place
		}
		if err := prepare(ctx, c); err != nil {
			return err
		}
		return runText(ctx, c, c.String("@stmt"), c.String("@params"))
	}})
	r.Procedure(Procedure{Name: "sp_execute", Parameters: []Parameter{handle}, Variadic: true, Run: func(ctx context.Context, c *ProcCall) error {
		p, err := c.Session.preparedStatements().Find(int32(c.Int("@handle")))
		if err != nil {
			return err
		}
		return runText(ctx, c, p.Text, p.Declaration)
	}})
	r.Procedure(Procedure{Name: "sp_unprepare", Parameters: []Parameter{handle}, Run: func(_ context.Context, c *ProcCall) error {
		if n := int32(c.Int("@handle")); !c.Session.preparedStatements().Drop(n) {
			return sqlerr.New(8179, 5, n)
		}
		return nil
	}})
}

// preparedStatements are the session's prepared statements.
func (s *Session) preparedStatements() *tds.PreparedStatements {
	if s.request.Prepared == nil {
		s.request.Prepared = &tds.PreparedStatements{}
	}
	return s.request.Prepared
}

// prepare is sp_prepare: it gives a statement a handle. A statement that does not parse has none (8180, which is what CATCH has of it), one
// that is not Unicode neither (214).
func prepare(_ context.Context, c *ProcCall) error {
	if !c.IsNull("@options") && c.Int("@options") != 0 {
		return unsupported("RETURN_METADATA of sp_prepare in a batch")
	}
	for _, name := range []string{"@params", "@stmt"} {
		if err := c.wide(name, name); err != nil {
			return err
		}
	}
	text, declaration := c.String("@stmt"), c.String("@params")
	s := c.Session
	_, err := s.batches.parameters(declaration)
	if err == nil {
		_, err = s.batches.parse(text, declaration, s.settings.options["QuotedIdentifier"])
	}
	if err != nil {
		if s.tryDepth == 0 {
			if e := c.Writer.Message(err); e != nil {
				return e
			}
		}
		return sqlerr.New(8180, 1)
	}
	handle, e := s.preparedStatements().Keep(tds.Prepared{Text: text, Declaration: declaration})
	if e != nil {
		return e
	}
	c.SetOutput("@handle", int64(handle))
	return nil
}
