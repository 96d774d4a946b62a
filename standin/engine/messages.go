// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// leastUserMessage is above the numbers that SQL Server keeps to itself.
const leastUserMessage = 50001

// userMessage is a message that sp_addmessage has kept in master.
type userMessage struct {
	number   int64
	severity int64
	logged   bool
	text     string
}

// installMessages registers sys.messages and the procedures that keep user messages
// (docs/relational-databases/system-stored-procedures/sp-addmessage-transact-sql.md and its kin). Messages are in
// us_english alone.
func installMessages(r *Registry) {
	r.Table(InternalTable{Scope: MasterOnly, Name: "__messages", DDL: []string{
		"CREATE TABLE __messages (id INTEGER PRIMARY KEY, severity INTEGER NOT NULL, logged INTEGER NOT NULL, text " +
			"TEXT NOT NULL)"}})
	text := sqltype.NVarCharOf(255)
	language := Parameter{Name: "@lang", Type: sqltype.Sysname}
	r.Procedure(
		Procedure{
			Name: "sp_addmessage",
			Parameters: []Parameter{
				{Name: "@msgnum", Type: sqltype.IntType, Required: true},
				{Name: "@severity", Type: sqltype.SmallIntType, Required: true},
				{
					Name:     "@msgtext",
					Type:     text,
					Required: true,
				},
				language,
				{
					Name:    "@with_log",
					Type:    sqltype.Type{Kind: sqltype.VarChar, Length: 5},
					Default: "FALSE",
					Allowed: []string{"TRUE", "FALSE"},
				},
				{
					Name:    "@replace",
					Type:    sqltype.Type{Kind: sqltype.VarChar, Length: 7},
					Allowed: []string{"REPLACE"},
				},
			},
			Run: addMessage,
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_dropmessage",
			Parameters: []Parameter{{Name: "@msgnum", Type: sqltype.IntType, Required: true}, language},
			Run:        dropMessage,
		},
	)
	r.Procedure(
		Procedure{
			Name: "sp_altermessage",
			Parameters: []Parameter{
				{Name: "@message_id", Type: sqltype.IntType, Required: true},
				{Name: "@parameter", Type: sqltype.Sysname, Required: true, Allowed: []string{"WITH_LOG"}},
				{
					Name:     "@parameter_value",
					Type:     sqltype.Type{Kind: sqltype.VarChar, Length: 5},
					Required: true,
					Allowed:  []string{"TRUE", "FALSE"},
				},
			},
			Run: alterMessage,
		},
	)
	r.RecordView(
		"",
		"sys",
		"messages",
		"message_id int, language_id smallint, severity tinyint, is_event_logged bit, text nvarchar(2048)",
		messageRecords,
	)
}

// mayChangeMessages: sysadmin and serveradmin do
// (docs/relational-databases/system-stored-procedures/sp-addmessage-transact-sql.md, Permissions).
func mayChangeMessages(ctx context.Context, c *ProcCall) error {
	if c.Session.require(ctx, Permission{Name: "ALTER SETTINGS"}) != nil {
		return sqlerr.New(15247, 1)
	}
	return nil
}

func addMessage(ctx context.Context, c *ProcCall) error {
	if err := mayChangeMessages(ctx, c); err != nil {
		return err
	}
	number, severity := c.Int("@msgnum"), c.Int("@severity")
	switch language := c.String("@lang"); {
	case number < leastUserMessage:
		return sqlerr.New(15040, 1)
	case severity < 1 || severity > 25:
		return sqlerr.New(15041, 1)
	case language != "" && !strings.EqualFold(language, "us_english") && !strings.EqualFold(language, "english"):
		return unsupported("A message in " + language)
	}
	known, err := c.Session.userMessage(number)
	if err != nil {
		return err
	}
	if known != nil && c.String("@replace") == "" {
		return sqlerr.New(15043, 1)
	}
	return c.Session.keepMessage(ctx, &userMessage{number, severity, c.Bool("@with_log"), c.String("@msgtext")})
}

func dropMessage(ctx context.Context, c *ProcCall) error {
	if err := mayChangeMessages(ctx, c); err != nil {
		return err
	}
	known, err := c.Session.userMessage(c.Int("@msgnum"))
	if err != nil {
		return err
	}
	if c.Int("@msgnum") < leastUserMessage || known == nil {
		return sqlerr.New(15179, 1, c.Int("@msgnum"))
	}
	return c.Session.write(ctx, c.Session.inst.Database("master"), func(tx *storage.Tx) error {
		return sqlitex.Execute(
			tx.Conn(),
			"DELETE FROM __messages WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{known.number}},
		)
	})
}

func alterMessage(ctx context.Context, c *ProcCall) error {
	if err := mayChangeMessages(ctx, c); err != nil {
		return err
	}
	known, err := c.Session.userMessage(c.Int("@message_id"))
	if err != nil {
		return err
	}
	if known == nil {
		return sqlerr.New(15179, 1, c.Int("@message_id"))
	}
	known.logged = c.Bool("@parameter_value")
	return c.Session.keepMessage(ctx, known)
}

func (s *Session) keepMessage(ctx context.Context, m *userMessage) error {
	return s.write(ctx, s.inst.Database("master"), func(tx *storage.Tx) error {
		return sqlitex.Execute(
			tx.Conn(),
			"INSERT OR REPLACE INTO __messages VALUES (?, ?, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{m.number, m.severity, m.logged, m.text}},
		)
	})
}

// userMessage is a user message by its number; nil when there is none.
func (s *Session) userMessage(number int64) (*userMessage, error) {
	all, err := s.userMessages(" WHERE id = ?", number)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// message is a user's or the system's own message; nil when there is none of the number.
func (s *Session) message(number int64) (*userMessage, error) {
	if number >= leastUserMessage {
		return s.userMessage(number)
	}
	m, ok := sqlerr.Message(int32(number))
	if !ok || int64(m.Number) != number {
		return nil, nil
	}
	return &userMessage{number, int64(m.Severity), m.Logged, m.Text}, nil
}

func (s *Session) userMessages(where string, args ...any) ([]*userMessage, error) {
	conn, release, err := s.readConn(s.context(), s.inst.Database("master"))
	if err != nil {
		return nil, err
	}
	defer release()
	var out []*userMessage
	err = sqlitex.Execute(
		conn,
		"SELECT id, severity, logged, text FROM __messages"+where+" ORDER BY id",
		&sqlitex.ExecOptions{Args: args,
			ResultFunc: func(stmt *sqlite.Stmt) error {
				out = append(
					out,
					&userMessage{stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnInt64(2) != 0, stmt.ColumnText(3)},
				)
				return nil
			}},
	)
	return out, err
}

// messageText is FORMATMESSAGE, of a text or of a message's number
// (docs/t-sql/functions/formatmessage-transact-sql.md): NULL where there is no such message.
func messageText(e *evaluation, a []any) (any, *sqlerr.Error) {
	text, ok := a[0].(string)
	if number, numbered := a[0].(int64); numbered && e.session != nil {
		m, err := e.session.message(number)
		if err != nil {
			return nil, internalError(err)
		}
		if ok = m != nil; ok {
			text = m.text
		}
	}
	if !ok {
		return nil, nil
	}
	return first(builtin.FormatMessage(text, a[1:]))
}

func messageRecords(_ context.Context, s *Session) ([]record, error) {
	var out []record
	add := func(number any, severity any, logged bool, text string) {
		out = append(
			out,
			record{"message_id": number, "language_id": 1033, "severity": severity, "is_event_logged": logged, "text": text},
		)
	}
	for _, m := range sqlerr.Messages() {
		add(m.Number, int64(m.Severity), m.Logged, m.Text)
	}
	user, err := s.userMessages("")
	for _, m := range user {
		add(m.number, m.severity, m.logged, m.text)
	}
	return out, err
}
