// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// CreateUser is CREATE USER (docs/t-sql/statements/create-user-transact-sql.md): for Login (the user's own name when
// neither is given), for Certificate, or WithoutLogin.
type CreateUser struct {
	own
	Name          string
	Login         string
	Certificate   string
	WithoutLogin  bool
	DefaultSchema *string
}

// AlterUser is ALTER USER (docs/t-sql/statements/alter-user-transact-sql.md); nil is not given.
type AlterUser struct {
	own
	Name          string
	NewName       *string
	Login         *string
	DefaultSchema *string
}

// DropUser is DROP USER.
type DropUser struct {
	own
	IfExists bool
	Name     string
}

func parseUser(p *parser) ast.Statement {
	switch {
	case p.accept("CREATE", "USER"):
		return p.createUser()
	case p.accept("ALTER", "USER"):
		return p.alterUser()
	case p.accept("DROP", "USER"):
		n := &DropUser{IfExists: p.accept("IF", "EXISTS")}
		n.Name = p.name()
		return n
	}
	return nil
}

func (p *parser) createUser() ast.Statement {
	n := &CreateUser{Name: p.name()}
	switch {
	case p.accept("WITHOUT", "LOGIN"):
		n.WithoutLogin = true
	case p.is("FOR"), p.is("FROM"):
		p.next()
		p.absentOrigin()
		if p.accept("CERTIFICATE") {
			n.Certificate = p.name()
			break
		}
		p.expect("LOGIN")
		n.Login = p.name()
	default:
		n.Login = n.Name
	}
	if p.accept("WITH") {
		p.userOptions(func() bool {
			switch {
			case p.valued("DEFAULT_SCHEMA"):
				n.DefaultSchema = ptr(p.name())
			case p.is("PASSWORD", "=") && n.Login == n.Name:
				p.refuseWith(33233) // no database is contained
			default:
				return false
			}
			return true
		})
	}
	return n
}

func (p *parser) alterUser() ast.Statement {
	n := &AlterUser{Name: p.name()}
	p.expect("WITH")
	p.userOptions(func() bool {
		switch {
		case p.valued("NAME"):
			n.NewName = ptr(p.name())
		case p.valued("LOGIN"):
			n.Login = ptr(p.name())
		case p.accept("DEFAULT_SCHEMA", "=", "NULL"):
			n.DefaultSchema = ptr("")
		case p.valued("DEFAULT_SCHEMA"):
			n.DefaultSchema = ptr(p.name())
		default:
			return false
		}
		return true
	})
	return n
}

// absentUserOptions are those of users of contained databases and of encrypted columns.
var absentUserOptions = token.Words("PASSWORD OLD_PASSWORD DEFAULT_LANGUAGE SID ALLOW_ENCRYPTED_VALUE_MODIFICATIONS")

func (p *parser) userOptions(option func() bool) {
	seen := map[string]bool{}
	for {
		p.once(seen, p.peek().Fold)
		if !option() {
			if absentUserOptions[p.peek().Fold] {
				p.unsupported("The option " + p.peek().Fold + " of a user")
			}
			p.unknownOption("USER")
		}
		if !p.accept(",") {
			return
		}
	}
}
