// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/sqlc-dev/teesql/ast"

// AlterEventSession is ALTER EVENT SESSION ... ON SERVER, as far as it starts and stops a session
// (docs/t-sql/statements/alter-event-session-transact-sql.md); adding and dropping events and targets is refused.
type AlterEventSession struct {
	own
	Name string
	// StartupState is STARTUP_STATE; nil when not given.
	StartupState *bool
	// State is START or STOP; empty when not given.
	State string
}

func parseEventSession(p *parser) ast.Statement {
	if !p.accept("ALTER", "EVENT", "SESSION") {
		return nil
	}
	n := &AlterEventSession{Name: p.name()}
	p.expect("ON", "SERVER")
	if p.is("ADD") || p.is("DROP") {
		p.unsupported("ALTER EVENT SESSION ... " + p.peek().Fold)
	}
	if p.accept("WITH") {
		p.expect("(", "STARTUP_STATE", "=")
		n.StartupState = ptr(p.oneOf("ON", "OFF") == "ON")
		p.expect(")")
	}
	if p.accept("STATE", "=") {
		n.State = p.oneOf("START", "STOP")
	}
	if n.StartupState == nil && n.State == "" {
		p.refuse()
	}
	return n
}
