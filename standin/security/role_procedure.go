// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// installRoleProcedures registers the old forms of ALTER ROLE and ALTER SERVER ROLE and sp_droplinkedsrvlogin
// (docs/relational-databases/system-stored-procedures/sp-addrolemember-transact-sql.md and its neighbours).
func (e *Extension) installRoleProcedures(r *engine.Registry) {
	name := sqltype.Type{Kind: sqltype.NVarChar, Length: 128}
	two := func(first, second string) []engine.Parameter {
		return []engine.Parameter{{Name: first, Type: name, Required: true}, {Name: second, Type: name, Required: true}}
	}
	r.Procedure(
		engine.Procedure{Name: "sp_addrolemember", Parameters: two("@rolename", "@membername"), NoTransaction: true,
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				return e.alterRole(
					ctx,
					c.Session,
					&syntax.AlterRole{Name: c.String("@rolename"), AddMember: c.String("@membername")},
				)
			}},
	)
	r.Procedure(
		engine.Procedure{Name: "sp_droprolemember", Parameters: two("@rolename", "@membername"), NoTransaction: true,
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				return e.alterRole(
					ctx,
					c.Session,
					&syntax.AlterRole{Name: c.String("@rolename"), DropMember: c.String("@membername")},
				)
			}},
	)
	r.Procedure(
		engine.Procedure{Name: "sp_addsrvrolemember", Parameters: two("@loginame", "@rolename"), NoTransaction: true,
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				return e.alterRole(
					ctx,
					c.Session,
					&syntax.AlterRole{Server: true, Name: c.String("@rolename"), AddMember: c.String("@loginame")},
				)
			}},
	)
	r.Procedure(
		engine.Procedure{Name: "sp_dropsrvrolemember", Parameters: two("@loginame", "@rolename"), NoTransaction: true,
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				return e.alterRole(
					ctx,
					c.Session,
					&syntax.AlterRole{Server: true, Name: c.String("@rolename"), DropMember: c.String("@loginame")},
				)
			}},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_droplinkedsrvlogin",
			Parameters: two("@rmtsrvname", "@locallogin"),
			Run:        e.dropLinkedLogin,
		},
	)
}

// dropLinkedLogin is sp_droplinkedsrvlogin; @locallogin NULL drops the mapping of all logins that have no other.
func (e *Extension) dropLinkedLogin(ctx context.Context, call *engine.ProcCall) error {
	local, err := e.localLogin(ctx, call)
	if err != nil {
		return err
	}
	return e.changing(ctx, call.Session, call.String("@rmtsrvname"), "ALTER ANY LOGIN", func(s *server) error {
		if !s.dropLogin(local) {
			return failure(15185, 1, "(null)", strings.TrimSpace(call.String("@locallogin")), s.Name)
		}
		return nil
	})
}
