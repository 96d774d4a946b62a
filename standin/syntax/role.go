// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/sqlc-dev/teesql/ast"

// CreateRole is CREATE [SERVER] ROLE (docs/t-sql/statements/create-role-transact-sql.md,
// create-server-role-transact-sql.md).
type CreateRole struct {
	own
	Server        bool
	Name          string
	Authorization string
}

// AlterRole is ALTER [SERVER] ROLE (docs/t-sql/statements/alter-role-transact-sql.md,
// alter-server-role-transact-sql.md): one of the three is given.
type AlterRole struct {
	own
	Server                         bool
	Name                           string
	AddMember, DropMember, NewName string
}

// DropRole is DROP [SERVER] ROLE.
type DropRole struct {
	own
	Server   bool
	IfExists bool
	Name     string
}

func parseRole(p *parser) ast.Statement {
	switch {
	case p.accept("CREATE", "SERVER", "ROLE"):
		return p.createRole(true)
	case p.accept("CREATE", "ROLE"):
		return p.createRole(false)
	case p.accept("ALTER", "SERVER", "ROLE"):
		return p.alterRole(true)
	case p.accept("ALTER", "ROLE"):
		return p.alterRole(false)
	case p.accept("DROP", "SERVER", "ROLE"):
		return &DropRole{Server: true, Name: p.name()}
	case p.accept("DROP", "ROLE"):
		n := &DropRole{IfExists: p.accept("IF", "EXISTS")}
		n.Name = p.name()
		return n
	}
	return nil
}

func (p *parser) createRole(server bool) ast.Statement {
	n := &CreateRole{Server: server, Name: p.name()}
	if p.accept("AUTHORIZATION") {
		n.Authorization = p.name()
	}
	return n
}

func (p *parser) alterRole(server bool) ast.Statement {
	n := &AlterRole{Server: server, Name: p.name()}
	switch {
	case p.accept("ADD"):
		p.expect("MEMBER")
		n.AddMember = p.name()
	case p.accept("DROP"):
		p.expect("MEMBER")
		n.DropMember = p.name()
	default:
		p.expect("WITH", "NAME", "=")
		n.NewName = p.name()
	}
	return n
}
