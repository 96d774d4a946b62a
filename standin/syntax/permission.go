// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// PermissionStatement is GRANT, DENY or REVOKE of permissions (docs/t-sql/statements/grant-transact-sql.md,
// deny-transact-sql.md, revoke-transact-sql.md and their pages by securable).
type PermissionStatement struct {
	own
	// Action is GRANT, DENY or REVOKE.
	Action string
	// Permissions are in upper case with single blanks ("VIEW SERVER STATE"), with the columns they are limited to.
	// ALL [PRIVILEGES] is "ALL".
	Permissions []PermissionSpec
	// On is the securable; nil stands for the server or the current database, as the permissions say.
	On *Securable
	// Principals are the grantees.
	Principals []string
	// WithGrantOption is for GRANT, GrantOptionFor for REVOKE, Cascade for DENY and REVOKE.
	WithGrantOption, GrantOptionFor, Cascade bool
	// As is the grantor of AS name, empty when not given.
	As string
}

// PermissionSpec is a permission, limited to columns when there are any.
type PermissionSpec struct {
	Name    string
	Columns []string
}

// Securable is what ON names.
type Securable struct {
	// Class is as written before the two colons, in upper case with single blanks: OBJECT (also when not written),
	// SCHEMA, DATABASE, LOGIN, USER, ROLE, SERVER ROLE, ENDPOINT, AVAILABILITY GROUP, CERTIFICATE, TYPE, ...
	Class string
	// Name has the parts of its name, the last one last.
	Name []string
	// Columns are those of ON table (column, ...).
	Columns []string
}

// AlterAuthorization is ALTER AUTHORIZATION ON class::name TO principal
// (docs/t-sql/statements/alter-authorization-transact-sql.md).
type AlterAuthorization struct {
	own
	On Securable
	// Principal is the new owner; SchemaOwner is TO SCHEMA OWNER.
	Principal   string
	SchemaOwner bool
}

// securableClasses are the classes that may stand before "::".
var securableClasses = []string{
	"AVAILABILITY GROUP", "SERVER ROLE", "APPLICATION ROLE", "SYMMETRIC KEY", "ASYMMETRIC KEY", "DATABASE", "OBJECT",
	"SCHEMA", "LOGIN", "ENDPOINT", "CERTIFICATE", "USER", "ROLE", "TYPE",
}

// absentClasses are those of what the stand-in never has.
var absentClasses = []string{
	"SEARCH PROPERTY LIST",
	"FULLTEXT CATALOG",
	"FULLTEXT STOPLIST",
	"ASSEMBLY",
	"CONTRACT",
	"MESSAGE TYPE",
	"REMOTE SERVICE BINDING",
	"ROUTE",
	"SERVICE",
	"XML SCHEMA COLLECTION",
	"DATABASE SCOPED CREDENTIAL",
	"EXTERNAL LANGUAGE",
}

func parsePermission(p *parser) ast.Statement {
	n := &PermissionStatement{Action: p.oneOf("GRANT", "DENY", "REVOKE")}
	if n.Action == "REVOKE" {
		n.GrantOptionFor = p.accept("GRANT", "OPTION", "FOR")
	}
	for {
		n.Permissions = append(n.Permissions, p.permission())
		if !p.accept(",") {
			break
		}
	}
	if p.accept("ON") {
		on := p.securable()
		n.On = &on
	}
	if n.Action == "REVOKE" && p.accept("FROM") {
		n.Principals = p.principals()
	} else {
		p.expect("TO")
		n.Principals = p.principals()
	}
	if n.Action == "GRANT" && p.accept("WITH") {
		p.expect("GRANT", "OPTION")
		n.WithGrantOption = true
	}
	if n.Action != "GRANT" {
		n.Cascade = p.accept("CASCADE")
	}
	if p.accept("AS") {
		n.As = p.name()
	}
	return n
}

// permission parses a permission's words up to a comma, a parenthesis, ON, TO or FROM.
func (p *parser) permission() PermissionSpec {
	var words []string
	for p.peek().Kind == token.Word && !p.is("ON") && !p.is("TO") && !p.is("FROM") {
		words = append(words, p.next().Fold)
	}
	if len(words) == 0 {
		p.refuse()
	}
	spec := PermissionSpec{Name: strings.Join(words, " ")}
	if spec.Name == "ALL PRIVILEGES" {
		spec.Name = "ALL"
	}
	if spec.Name == "EXEC" {
		spec.Name = "EXECUTE"
	}
	if !knownPermissions[spec.Name] {
		p.at -= len(words)
		p.refuse()
	}
	if p.is("(") && spec.Name != "ALL" {
		p.list(func() { spec.Columns = append(spec.Columns, p.name()) })
	}
	return spec
}

func (p *parser) securable() Securable {
	s := Securable{Class: "OBJECT"}
	for _, class := range absentClasses {
		if p.is(append(strings.Fields(class), "::")...) {
			p.unsupported("The securable class " + class)
		}
	}
	for _, class := range securableClasses {
		words := append(strings.Fields(class), "::")
		if p.accept(words...) {
			s.Class = class
			break
		}
	}
	parts := 1
	switch s.Class {
	case "OBJECT":
		parts = 4
	case "TYPE":
		parts = 2
	}
	s.Name = p.objectName(parts)
	if s.Class == "OBJECT" && p.is("(") {
		p.list(func() { s.Columns = append(s.Columns, p.name()) })
	}
	return s
}

// principals parses a list of grantees; PUBLIC is a reserved word and a principal.
func (p *parser) principals() []string {
	var all []string
	for {
		all = append(all, p.principal())
		if !p.accept(",") {
			return all
		}
	}
}

func (p *parser) principal() string {
	if p.accept("PUBLIC") {
		return "public"
	}
	return p.name()
}

func parseAuthorization(p *parser) ast.Statement {
	if !p.accept("ALTER", "AUTHORIZATION", "ON") {
		return nil
	}
	n := &AlterAuthorization{On: p.securable()}
	if len(n.On.Columns) > 0 {
		for !p.is("(") { // they are no securables of their own
			p.at--
		}
		p.refuse()
	}
	p.expect("TO")
	if inSchema := n.On.Class == "OBJECT" || n.On.Class == "TYPE"; inSchema && p.accept("SCHEMA", "OWNER") {
		n.SchemaOwner = true
		return n
	}
	n.Principal = p.principal()
	return n
}
