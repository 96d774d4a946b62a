// SPDX-License-Identifier: Apache-2.0

// Package tsql makes every T-SQL text that the operator sends. Nothing outside this package puts text together with
// names or values: a value is a parameter where the server takes one, else a quoted literal; a name is always quoted.
package tsql

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// Statement is one batch with its parameters.
type Statement struct {
	// Text is the batch as the server gets it. It may hold a secret: log Redacted instead.
	Text string
	// Args are parameters in the order of declaration; with any, the batch is sent by sp_executesql.
	Args []sql.NamedArg
	// Reason says in a few words why the statement is sent, for plans and events.
	Reason string
	// Procedure is the system procedure that the batch executes, with its schema, empty when it is no call of one.
	Procedure string
	// Long says that the time it takes grows with the data: minutes, not seconds.
	Long bool
	// Task is what the server shows while a statement goes on that is Long.
	Task Task
	// Exclusive says that the server refuses it (3702, 5070) while anybody has a connection to the database that it names.
	Exclusive bool

	redacted string
	// guarded says that it only reads, where a condition holds, and that it has one result set in either case.
	guarded bool
	// secretArgs are the names of parameters whose values are secret.
	secretArgs map[string]bool
}

// Redacted is the text with each secret replaced by asterisks, for plans, logs and events.
func (s Statement) Redacted() string {
	if s.redacted != "" {
		return s.redacted
	}
	return s.Text
}

// String is Redacted: a statement that is printed by accident shows no secret.
func (s Statement) String() string { return s.Redacted() }

// GoString is Redacted, for %#v.
func (s Statement) GoString() string { return s.Redacted() }

// Arguments are the parameters as database/sql takes them.
func (s Statement) Arguments() []any {
	args := make([]any, len(s.Args))
	for i, a := range s.Args {
		args[i] = a
	}
	return args
}

// SecretArgument tells whether the value of the parameter must not be shown.
func (s Statement) SecretArgument(name string) bool { return s.secretArgs[name] }

// Because returns the statement with its reason.
func (s Statement) Because(reason string) Statement {
	s.Reason = reason
	return s
}

// On says what is done where, without secrets, for plans and logs. server is the instance's name.
func (s Statement) On(server, database string) string {
	return "on " + server + " in " + database + ": " + s.Reason + ": " + s.Redacted()
}

// changing are words by which a batch may do more than read. A column of such a name only costs the repetition.
var changing = regexp.MustCompile(
	`(?i)\b(INTO|NEXT|INSERT|UPDATE|DELETE|MERGE|TRUNCATE|EXEC|EXECUTE|ALTER|CREATE|DROP|GRANT|REVOKE|DENY|BACKUP|RESTORE|SET|DECLARE|WAITFOR|KILL|SHUTDOWN|RECONFIGURE|DBCC)\b`,
)

// Repeatable tells that the statement only reads, so that it may be sent again when a connection broke and nobody knows
// whether it was executed.
func (s Statement) Repeatable() bool {
	text := strings.TrimSpace(s.Text)
	reads := s.guarded || len(text) > 6 && strings.EqualFold(text[:6], "SELECT")
	return reads && !changing.MatchString(text)
}

// Together makes one batch of statements that only read, so that their answers come in one round trip: a result set for
// each, in their order. A parameter that several of them have must have the same value in all; one that is secret stays
// so. An error says which statement cannot be part of such a batch.
func Together(reason string, statements ...Statement) (Statement, error) {
	b, values := new(builder), map[string]any{}
	for i, s := range statements {
		if !s.Repeatable() || s.redacted != s.Text {
			return Statement{}, fmt.Errorf("a statement that does more than read, or has a secret, is sent by itself: %s", s)
		}
		b.guarded = b.guarded || s.guarded
		if i > 0 {
			b.sql(";\n")
		}
		b.sql(s.Text)
		for _, a := range s.Args {
			value, known := values[a.Name]
			switch {
			case known && value == a.Value && s.secretArgs[a.Name] == b.secrets[a.Name]:
			case known && (s.secretArgs[a.Name] || b.secrets[a.Name]):
				return Statement{}, fmt.Errorf("parameter @%s has two values, of which one is secret", a.Name)
			case known:
				return Statement{}, fmt.Errorf("parameter @%s has two values, %v and %v", a.Name, value, a.Value)
			case s.secretArgs[a.Name]:
				values[a.Name] = a.Value
				b.secretArg(a.Name, a.Value)
			default:
				values[a.Name] = a.Value
				b.arg(a.Name, a.Value)
			}
		}
	}
	return b.done(reason), nil
}

// Text makes a statement of text alone. The text must be a constant or made by this package.
func text(t string) Statement { return Statement{Text: t, redacted: t} }

// builder writes a statement's text and its redacted form side by side.
type builder struct {
	text, shown strings.Builder
	args        []sql.NamedArg
	secrets     map[string]bool
	// What the statement is.
	procedure string
	exclusive bool
	guarded   bool
	task      Task
}

// takesLong marks a statement whose time grows with the data: what sys.dm_exec_requests shows of it, and what it is
// about.
func (b *builder) takesLong(command, of string) *builder {
	b.task = Task{Command: command, Of: of}
	return b
}

// guarded reads where a condition holds. Elsewhere it answers with an empty result set, so that it can be read together
// with others. The tables that the reading names need not be there then: a batch is compiled without them
// (docs/t-sql/statements/set-noexec-transact-sql.md).
func guarded(condition string, reading ...string) *builder {
	b := new(builder).sql("IF ", condition, "\n    ").sql(reading...).sql("\nELSE\n    SELECT 1 WHERE 1 = 0")
	b.guarded = true
	return b
}

// whereTable is guarded where a table is there.
func whereTable(table string, reading ...string) *builder {
	return guarded("OBJECT_ID("+String(table)+", N'U') IS NOT NULL", reading...)
}

// sql appends text as it is.
func (b *builder) sql(parts ...string) *builder {
	for _, p := range parts {
		b.text.WriteString(p)
		b.shown.WriteString(p)
	}
	return b
}

// name appends a quoted identifier.
func (b *builder) name(n string) *builder { return b.sql(Identifier(n)) }

// str appends a Unicode string literal.
func (b *builder) str(s string) *builder { return b.sql(String(s)) }

// secret appends a Unicode string literal that is shown as asterisks.
func (b *builder) secret(s string) *builder {
	b.text.WriteString(String(s))
	b.shown.WriteString("N'***'")
	return b
}

// secretBinary appends a binary literal that is shown as asterisks.
func (b *builder) secretBinary(v []byte) *builder {
	b.text.WriteString(Binary(v))
	b.shown.WriteString("0x***")
	return b
}

// arg adds a parameter; its name has no @.
func (b *builder) arg(name string, value any) *builder {
	b.args = append(b.args, sql.Named(name, value))
	return b
}

// secretArg adds a parameter whose value is secret.
func (b *builder) secretArg(name string, value any) *builder {
	if b.secrets == nil {
		b.secrets = map[string]bool{}
	}
	b.secrets[name] = true
	return b.arg(name, value)
}

// done is the statement with the reason for it.
func (b *builder) done(reason string) Statement {
	return Statement{
		Text:       b.text.String(),
		Args:       b.args,
		Reason:     reason,
		Procedure:  b.procedure,
		Long:       b.task != Task{},
		Task:       b.task,
		Exclusive:  b.exclusive,
		guarded:    b.guarded,
		redacted:   b.shown.String(),
		secretArgs: b.secrets,
	}
}
