// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// CreateLogin is CREATE LOGIN (docs/t-sql/statements/create-login-transact-sql.md). Either Options.Password, Windows or
// Certificate is given.
type CreateLogin struct {
	own
	Name string
	// Windows is true for FROM WINDOWS, Certificate the certificate of FROM CERTIFICATE.
	Windows     bool
	Certificate string
	Options     LoginOptions
}

// LoginOptions are the options of CREATE and ALTER LOGIN; nil is not given.
type LoginOptions struct {
	// Password is the password in clear, PasswordHash the value of PASSWORD = 0x.. HASHED.
	Password     *string
	PasswordHash []byte
	OldPassword  *string
	MustChange   bool
	Unlock       bool
	// SID is for CREATE only.
	SID             []byte
	DefaultDatabase *string
	DefaultLanguage *string
	// Name is ALTER's new name.
	Name            *string
	CheckPolicy     *bool
	CheckExpiration *bool
	Credential      *string
	NoCredential    bool
}

// AlterLogin is ALTER LOGIN (docs/t-sql/statements/alter-login-transact-sql.md): ENABLE, DISABLE, or WITH Options.
type AlterLogin struct {
	own
	Name            string
	Enable, Disable bool
	Options         LoginOptions
}

// DropLogin is DROP LOGIN.
type DropLogin struct {
	own
	Name string
}

func parseLogin(p *parser) ast.Statement {
	switch {
	case p.accept("CREATE", "LOGIN"):
		return p.createLogin()
	case p.accept("ALTER", "LOGIN"):
		n := &AlterLogin{Name: p.name()}
		switch {
		case p.accept("ENABLE"):
			n.Enable = true
		case p.accept("DISABLE"):
			n.Disable = true
		case p.is("ADD", "CREDENTIAL"), p.is("DROP", "CREDENTIAL"):
			p.unsupported("ALTER LOGIN ... " + p.peek().Fold + " CREDENTIAL")
		default:
			p.expect("WITH")
			p.loginOptions(&n.Options, p.alterLoginOption)
		}
		return n
	case p.accept("DROP", "LOGIN"):
		return &DropLogin{Name: p.name()}
	}
	return nil
}

// absentOrigin refuses what a login or user may come from elsewhere.
func (p *parser) absentOrigin() {
	for _, origin := range [][]string{{"ASYMMETRIC", "KEY"}, {"EXTERNAL", "PROVIDER"}} {
		if p.is(origin...) {
			p.unsupported("FROM " + origin[0] + " " + origin[1])
		}
	}
}

func (p *parser) createLogin() ast.Statement {
	n := &CreateLogin{Name: p.name()}
	if p.accept("FROM") {
		if p.accept("WINDOWS") {
			n.Windows = true
			if p.accept("WITH") {
				p.loginOptions(&n.Options, p.commonLoginOption)
			}
			return n
		}
		p.absentOrigin()
		p.expect("CERTIFICATE")
		n.Certificate = p.name()
		return n
	}
	p.expect("WITH")
	if !p.is("PASSWORD") {
		p.refuse()
	}
	p.loginOptions(&n.Options, p.createLoginOption)
	return n
}

func (p *parser) loginOptions(o *LoginOptions, option func(*LoginOptions) bool) {
	seen := map[string]bool{}
	for {
		p.once(seen, p.peek().Fold)
		if !option(o) {
			p.unknownOption("LOGIN")
		}
		if !p.accept(",") {
			return
		}
	}
}

func (p *parser) createLoginOption(o *LoginOptions) bool {
	switch {
	case p.accept("PASSWORD"):
		p.expect("=")
		p.password(o)
		o.MustChange = p.accept("MUST_CHANGE")
	case p.valued("SID"):
		o.SID = p.binary()
	default:
		return p.sqlLoginOption(o)
	}
	return true
}

func (p *parser) alterLoginOption(o *LoginOptions) bool {
	switch {
	case p.accept("PASSWORD"):
		p.expect("=")
		p.password(o)
		if p.valued("OLD_PASSWORD") {
			o.OldPassword = ptr(p.stringLiteral())
			return true
		}
		o.MustChange = p.accept("MUST_CHANGE")
		o.Unlock = p.accept("UNLOCK")
		o.MustChange = o.MustChange || p.accept("MUST_CHANGE")
	case p.valued("NAME"):
		o.Name = ptr(p.name())
	case p.accept("NO", "CREDENTIAL"):
		o.NoCredential = true
	default:
		return p.sqlLoginOption(o)
	}
	return true
}

func (p *parser) sqlLoginOption(o *LoginOptions) bool {
	switch {
	case p.valued("CHECK_POLICY"):
		o.CheckPolicy = ptr(p.onOff())
	case p.valued("CHECK_EXPIRATION"):
		o.CheckExpiration = ptr(p.onOff())
	case p.valued("CREDENTIAL"):
		o.Credential = ptr(p.name())
	default:
		return p.commonLoginOption(o)
	}
	return true
}

func (p *parser) commonLoginOption(o *LoginOptions) bool {
	switch {
	case p.valued("DEFAULT_DATABASE"):
		o.DefaultDatabase = ptr(p.name())
	case p.valued("DEFAULT_LANGUAGE"):
		o.DefaultLanguage = ptr(p.name())
	default:
		return false
	}
	return true
}

func (p *parser) password(o *LoginOptions) {
	if p.peek().Kind == token.Binary {
		o.PasswordHash = p.binary()
		p.expect("HASHED")
		return
	}
	o.Password = ptr(p.stringLiteral())
}
