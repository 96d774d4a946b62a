// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"regexp"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/syntax/token"
)

// executeAsOwner is sys.sql_modules.execute_as_principal_id of EXECUTE AS OWNER.
const executeAsOwner = -2

var (
	alterWord     = regexp.MustCompile(`(?i)^alter\b`)
	createOrAlter = regexp.MustCompile(`(?i)^(create\s+)or(\s+)alter\b`)
)

// storedDefinition is the text of a module as the catalogue keeps it: its batch, in which a CREATE statement stands,
// whichever statement defined it. Of CREATE OR ALTER the space between its words stays, as scripts of databases show
// (CREATE   PROCEDURE), so that lines have their numbers.
func storedDefinition(st syntax.Statement) string {
	create := createOrAlter.ReplaceAllString(alterWord.ReplaceAllString(st.Text, "CREATE"), "$1$2")
	if st.Before+st.After == "" {
		return syntax.Statement{Text: create, Terminated: st.Terminated}.Definition() // an element of CREATE SCHEMA
	}
	return st.Before + create + st.After
}

// define gives a module its text and what the options in it say. The session needs IMPERSONATE on the user or login
// that EXECUTE AS names (docs/t-sql/statements/execute-as-clause-transact-sql.md, Permissions).
func (d *SchemaChange) define(o *metadata.Object, st syntax.Statement) error {
	o.Definition, o.QuotedIdentifier, o.AnsiNullsOff = storedDefinition(
		st,
	), d.s.settings.options["QuotedIdentifier"], !d.s.settings.options["AnsiNulls"]
	options := token.ModuleOptionsOf(o.Definition, o.QuotedIdentifier)
	switch {
	case options.Has("NATIVE_COMPILATION"):
		return unsupported("NATIVE_COMPILATION")
	case options.ExecuteAs != "" && (o.Kind == metadata.KindView || o.Kind == metadata.KindInline):
		return sqlerr.New(156, 1, "EXECUTE")
	}
	o.Encrypted, o.NullOnNull, o.Recompiled = options.Has("ENCRYPTION"), options.Has("RETURNS NULL ON NULL INPUT"),
		options.Has("RECOMPILE")
	o.ExecuteAs, o.ExecuteAsLogin = nil, ""
	if o.Kind == metadata.KindScopedTrigger && o.Schema == metadata.ScopedSchema(metadata.ServerScope) {
		return d.executeAsLogin(o, options)
	}
	return d.executeAs(o, options)
}

func (d *SchemaChange) executeAs(o *metadata.Object, options token.ModuleOptions) error {
	principal := int32(executeAsOwner)
	switch options.ExecuteAs {
	case "", "CALLER":
		return nil
	case "OWNER":
		if o.Kind == metadata.KindScopedTrigger {
			return sqlerr.New(102, 1, "OWNER") // DDL triggers have none
		}
	case "SELF":
		u, err := d.s.userIn(d.ctx, d.db)
		if err != nil {
			return err
		}
		principal = u.ID
	case "USER":
		if err := d.mayImpersonate("USER", options.User); err != nil {
			return err
		}
		id, err := d.s.principalID(d.ctx, options.User)
		if err != nil {
			return err
		}
		principal = int32(id)
	}
	o.ExecuteAs = &principal
	return nil
}

func (d *SchemaChange) executeAsLogin(o *metadata.Object, options token.ModuleOptions) error {
	switch options.ExecuteAs {
	case "OWNER":
		return sqlerr.New(102, 1, "OWNER") // triggers of the server have none
	case "SELF":
		o.ExecuteAsLogin = d.s.login.Name
	case "USER":
		if err := d.mayImpersonate("LOGIN", options.User); err != nil {
			return err
		}
		o.ExecuteAsLogin = options.User
	}
	return nil
}

func (d *SchemaChange) mayImpersonate(kind, name string) error {
	if d.s.inst.registry.impersonate == nil {
		return unsupported("EXECUTE AS")
	}
	leave, err := d.s.inst.registry.impersonate(d.ctx, d.s, kind, name)
	if err == nil {
		leave()
	}
	return err
}

// asOf runs a module's statements as whom its EXECUTE AS says, otherwise as its caller.
func (s *Session) asOf(ctx context.Context, o *metadata.Object, f func() error) error {
	return s.asCaller(func() error { return s.asPrincipalOf(ctx, o, f) })
}

func (s *Session) asPrincipalOf(ctx context.Context, o *metadata.Object, f func() error) error {
	if o.ExecuteAs == nil && o.ExecuteAsLogin == "" || s.inst.registry.actAs == nil {
		return f()
	}
	principal := int32(0)
	if o.ExecuteAs != nil {
		if principal = *o.ExecuteAs; principal == executeAsOwner {
			sch, err := s.schema(ctx, s.db.ID())
			if err != nil {
				return err
			}
			principal = 1
			if owned := sch.Schemas[o.Schema]; owned != nil {
				principal = owned.Principal
			}
		}
	}
	leave, err := s.inst.registry.actAs(ctx, s, s.db, principal, o.ExecuteAsLogin)
	if err != nil {
		return err
	}
	defer leave()
	return f()
}

// ShownDefinition is a module's text as the views show it: NULL when it is encrypted.
func ShownDefinition(o *metadata.Object) any {
	if o.Encrypted {
		return nil
	}
	return TextOrNull(o.Definition)
}
