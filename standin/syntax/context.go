// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// ExecuteAs is EXECUTE AS as a statement (docs/t-sql/statements/execute-as-transact-sql.md).
type ExecuteAs struct {
	own
	// Kind is LOGIN, USER or CALLER.
	Kind string
	// Name is the login or user as a string; Variable names a variable that holds it.
	Name, Variable string
	NoRevert       bool
	// CookieInto is the variable that receives the cookie, empty without one.
	CookieInto string
}

// Revert is REVERT (docs/t-sql/statements/revert-transact-sql.md). Cookie is a variable's name, empty without one.
type Revert struct {
	own
	Cookie string
}

// Kill is KILL spid [WITH STATUSONLY] and KILL 'unit of work' [WITH STATUSONLY | COMMIT | ROLLBACK]
// (docs/t-sql/language-elements/kill-transact-sql.md). UnitOfWork is empty when a session is named.
type Kill struct {
	own
	SPID       int64
	UnitOfWork string
	StatusOnly bool
}

// KillBackground is KILL QUERY NOTIFICATION SUBSCRIPTION { ALL | id } and KILL STATS JOB id
// (docs/t-sql/language-elements/kill-query-notification-subscription-transact-sql.md, kill-stats-job-transact-sql.md).
type KillBackground struct {
	own
	// Statistics tells that a job is named, and not subscriptions.
	Statistics, All bool
	ID              int64
}

// Checkpoint is CHECKPOINT [seconds]; Seconds is 0 when not given.
type Checkpoint struct {
	own
	Seconds int64
}

// Shutdown is SHUTDOWN [WITH NOWAIT].
type Shutdown struct {
	own
	NoWait bool
}

// Reconfigure is RECONFIGURE [WITH OVERRIDE].
type Reconfigure struct {
	own
	Override bool
}

// WaitFor is WAITFOR DELAY or, with Time, WAITFOR TIME (docs/t-sql/language-elements/waitfor-transact-sql.md).
type WaitFor struct {
	own
	Time bool
	// Value is the literal, Variable the name of the variable that has the value.
	Value, Variable string
}

func parseExecuteAs(p *parser) ast.Statement {
	if p.at > 0 && (p.tokens[p.at-1].Is("WITH") || p.tokens[p.at-1].Is(",")) {
		return nil // a module's WITH EXECUTE AS clause
	}
	if !p.accept("EXECUTE", "AS") && !p.accept("EXEC", "AS") {
		return nil
	}
	n := &ExecuteAs{Kind: p.oneOf("LOGIN", "USER", "CALLER")}
	if n.Kind == "CALLER" {
		return n
	}
	p.expect("=")
	if p.peek().Kind == token.Variable {
		n.Variable = p.next().Text
	} else {
		n.Name = p.stringLiteral()
	}
	if !p.accept("WITH") {
		return n
	}
	if p.accept("NO", "REVERT") {
		n.NoRevert = true
		return n
	}
	p.expect("COOKIE", "INTO")
	n.CookieInto = p.variable()
	return n
}

func parseRevert(p *parser) ast.Statement {
	p.expect("REVERT")
	n := &Revert{}
	if p.accept("WITH", "COOKIE") {
		p.expect("=")
		n.Cookie = p.variable()
	}
	return n
}

func parseServerControl(p *parser) ast.Statement {
	switch {
	case p.accept("KILL", "QUERY", "NOTIFICATION", "SUBSCRIPTION"):
		if p.accept("ALL") {
			return &KillBackground{All: true}
		}
		return &KillBackground{ID: p.integer()}
	case p.accept("KILL", "STATS", "JOB"):
		return &KillBackground{Statistics: true, ID: p.integer()}
	case p.accept("KILL"):
		return parseKill(p)
	case p.accept("CHECKPOINT"):
		n := &Checkpoint{}
		if p.peek().Kind == token.Integer {
			n.Seconds = p.integerIn(1, 1<<31-1)
		}
		return n
	case p.accept("SHUTDOWN"):
		return &Shutdown{NoWait: p.accept("WITH", "NOWAIT")}
	}
	p.expect("RECONFIGURE")
	return &Reconfigure{Override: p.accept("WITH", "OVERRIDE")}
}

func parseKill(p *parser) ast.Statement {
	n := &Kill{}
	ends := []string{"STATUSONLY"}
	if p.peek().Kind == token.String {
		n.UnitOfWork = p.stringLiteral()
		ends = append(ends, "COMMIT", "ROLLBACK")
	} else {
		sign := int64(1)
		if p.accept("-") {
			sign = -1
		}
		n.SPID = sign * p.integer()
	}
	if p.accept("WITH") {
		n.StatusOnly = p.oneOf(ends...) == "STATUSONLY"
	}
	return n
}

func parseWaitFor(p *parser) ast.Statement {
	p.expect("WAITFOR")
	if p.is("(", "RECEIVE") || p.is("(", "GET", "CONVERSATION") {
		p.unsupported("WAITFOR (RECEIVE ...)")
	}
	n := &WaitFor{Time: p.oneOf("DELAY", "TIME") == "TIME"}
	if p.peek().Kind == token.Variable {
		n.Variable = p.next().Text
		return n
	}
	n.Value = p.stringLiteral()
	return n
}

func (p *parser) variable() string {
	if p.peek().Kind != token.Variable {
		p.refuse()
	}
	return p.next().Text
}
