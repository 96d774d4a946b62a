// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/syntax/token"
)

// ddlEvent is what a statement does that DDL triggers fire for (docs/relational-databases/triggers/ddl-events.md).
type ddlEvent struct {
	kind string
	// db is the database where it happens, nil for an event of the server.
	db *Database
	// schema, object and objectType name what the statement is about; target and targetType what that belongs to.
	schema, object, objectType string
	target, targetType         string
	// database is the name in the event's data when it is not db's.
	database string
	// fields are further elements of the event's data, as XML.
	fields string
	// text is the statement's, secrets are constants in it that nobody may see beside its passwords.
	text    string
	secrets []string
}

// events are those of a statement, before it is executed.
func (s *Session) events(node ast.Statement) []ddlEvent {
	switch node.(type) {
	case *ast.InsertStatement, *ast.UpdateStatement, *ast.DeleteStatement, *ast.ExecuteStatement,
		*ast.SetVariableStatement, *ast.IfStatement, *ast.BeginEndBlockStatement:
		return nil
	}
	e := &eventsOf{s: s}
	if !e.ofTable(node) && !e.ofModule(node) && !e.ofObject(node) && !e.ofPrincipal(node) {
		e.ofServer(node)
	}
	return e.list
}

// eventsOf collects the events of a statement.
type eventsOf struct {
	s    *Session
	list []ddlEvent
}

// add notes an event about an object with a schema; there is none of temporary objects.
func (e *eventsOf) add(kind, objectType string, n *ast.SchemaObjectName) *ddlEvent {
	if n == nil {
		return nil
	}
	name := bind.NameOf(n)
	db := e.s.db
	if name.Database != "" {
		db = e.s.inst.Database(name.Database)
	}
	if db == nil || name.Temporary() || strings.HasPrefix(name.Name, "@") {
		return nil
	}
	e.list = append(
		e.list,
		ddlEvent{kind: kind, db: db, schema: e.s.schemaNamed(db.ID(), name), object: name.Name, objectType: objectType},
	)
	return &e.list[len(e.list)-1]
}

// dropped notes an event for each object that is there to drop.
func (e *eventsOf) dropped(kind, objectType string, names []*ast.SchemaObjectName) bool {
	for _, n := range names {
		if e.existing(n) != nil {
			e.add(kind, objectType, n)
		}
	}
	return true
}

// existing is the object of that name; nil when there is none.
func (e *eventsOf) existing(n *ast.SchemaObjectName) *metadata.Object {
	name := bind.NameOf(n)
	db := e.s.db
	if name.Database != "" {
		db = e.s.inst.Database(name.Database)
	}
	if db == nil || name.Temporary() {
		return nil
	}
	sch, err := e.s.schema(e.s.context(), db.ID())
	if err != nil {
		return nil
	}
	return e.s.lookUp(db.ID(), sch, name)
}

// within notes an event about a part of a table or view: an index, statistics, a trigger.
func (e *eventsOf) within(kind, objectType, name string, table *ast.SchemaObjectName) bool {
	if o := e.add(kind, objectType, table); o != nil {
		o.target, o.targetType, o.object = o.object, "TABLE", name
		if t := e.existing(table); t != nil && t.Kind == metadata.KindView {
			o.targetType = "VIEW"
		}
	}
	return true
}

// inDatabase notes an event about something of the current database that has no schema, atServer one of the server.
func (e *eventsOf) inDatabase(kind, objectType, name string) bool {
	e.list = append(e.list, ddlEvent{kind: kind, db: e.s.db, object: name, objectType: objectType})
	return true
}

func (e *eventsOf) atServer(kind, objectType, name string) bool {
	e.list = append(e.list, ddlEvent{kind: kind, object: name, objectType: objectType})
	return true
}

// userText is the current user's name.
func (s *Session) userText() string {
	name, _ := s.userName().(string)
	return name
}

// data is what EVENTDATA() returns (docs/t-sql/functions/eventdata-transact-sql.md, and the schema that it names).
func (e ddlEvent) data(s *Session) string {
	var b strings.Builder
	element := func(name, value string) {
		b.WriteString("<" + name + ">" + escapeText(value) + "</" + name + ">")
	}
	optional := func(name, value string) {
		if value != "" {
			element(name, value)
		}
	}
	b.WriteString("<EVENT_INSTANCE>")
	element("EventType", e.kind)
	element("PostTime", time.Now().UTC().Format("2006-01-02T15:04:05.000"))
	element("SPID", fmt.Sprint(s.spid))
	element("ServerName", s.inst.config.ServerName)
	element("LoginName", s.login.Name)
	if e.db != nil {
		element("UserName", s.userText())
		element("DatabaseName", e.db.Name())
	} else {
		optional("DatabaseName", e.database)
	}
	optional("SchemaName", e.schema)
	optional("ObjectName", e.object)
	optional("ObjectType", e.objectType)
	optional("TargetObjectName", e.target)
	optional("TargetObjectType", e.targetType)
	b.WriteString(e.fields)
	state := func(option string) string {
		if s.settings.options[option] {
			return "ON"
		}
		return "OFF"
	}
	encrypted, text := "FALSE", syntax.WithoutSecrets(e.text, s.settings.options["QuotedIdentifier"], e.secrets...)
	if token.ModuleOptionsOf(e.text, s.settings.options["QuotedIdentifier"]).Has("ENCRYPTION") {
		encrypted, text = "TRUE", "--ENCRYPTED--"
	}
	fmt.Fprintf(
		&b,
		`<TSQLCommand><SetOptions ANSI_NULLS="%s" ANSI_NULL_DEFAULT="%s" ANSI_PADDING="%s" QUOTED_IDENTIFIER="%s" ENCRYPTED="%s"/>`,
		state("AnsiNulls"),
		state("AnsiNullDfltOn"),
		state("AnsiPadding"),
		state("QuotedIdentifier"),
		encrypted,
	)
	element("CommandText", text)
	b.WriteString("</TSQLCommand></EVENT_INSTANCE>")
	return b.String()
}

// escapeText writes text within XML; characters that XML has not are question marks.
func escapeText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '\r':
			b.WriteString("&#x0D;")
		case r < 0x20 && r != '\t' && r != '\n', r == 0xFFFE, r == 0xFFFF:
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// changes is the list of what ALTER TABLE does to columns and constraints
// (docs/relational-databases/triggers/use-the-eventdata-function.md, ALTER TABLE and ALTER DATABASE Events).
func changes(action string, columns, constraints []string) string {
	if len(columns)+len(constraints) == 0 {
		return ""
	}
	text := "<AlterTableActionList><" + action + ">"
	list := func(kind string, names []string) {
		if len(names) == 0 {
			return
		}
		text += "<" + kind + ">"
		for _, name := range names {
			text += "<Name>" + escapeText(name) + "</Name>"
		}
		text += "</" + kind + ">"
	}
	list("Columns", columns)
	list("Constraints", constraints)
	return text + "</" + action + "></AlterTableActionList>"
}

// ofServer notes the events of statements that manage the server.
func (e *eventsOf) ofServer(node ast.Statement) bool {
	switch n := node.(type) {
	case *syntax.CreateDatabase:
		return e.ofDatabase("CREATE_DATABASE", n.Name)
	case *syntax.AlterDatabase:
		if n.Current {
			return e.ofDatabase("ALTER_DATABASE", e.s.db.Name())
		}
		return e.ofDatabase("ALTER_DATABASE", n.Name)
	case *syntax.DropDatabase:
		for _, name := range n.Names {
			if e.s.inst.Database(name) != nil {
				e.ofDatabase("DROP_DATABASE", name)
			}
		}
		return true
	case *syntax.CreateAvailabilityGroup:
		return e.atServer("CREATE_AVAILABILITY_GROUP", "AVAILABILITY GROUP", n.Name)
	case *syntax.AlterAvailabilityGroup:
		return e.atServer("ALTER_AVAILABILITY_GROUP", "AVAILABILITY GROUP", n.Name)
	case *syntax.DropAvailabilityGroup:
		return e.atServer("DROP_AVAILABILITY_GROUP", "AVAILABILITY GROUP", n.Name)
	case *syntax.CreateEndpoint:
		return e.atServer("CREATE_ENDPOINT", "ENDPOINT", n.Name)
	case *syntax.AlterEndpoint:
		return e.atServer("ALTER_ENDPOINT", "ENDPOINT", n.Name)
	case *syntax.DropEndpoint:
		return e.atServer("DROP_ENDPOINT", "ENDPOINT", n.Name)
	case *syntax.AlterEventSession:
		return e.atServer("ALTER_EVENT_SESSION", "EVENT SESSION", "")
	}
	return false
}

func (e *eventsOf) ofDatabase(kind, name string) bool {
	e.list = append(e.list, ddlEvent{kind: kind, database: name})
	return true
}

// transactional tells whether what a statement did is undone when its transaction is: others are executed on their own,
// and the triggers fire in a transaction of theirs.
func transactional(node ast.Statement) bool {
	switch node.(type) {
	case *syntax.CreateDatabase, *syntax.AlterDatabase, *syntax.DropDatabase, *syntax.CreateAvailabilityGroup,
		*syntax.AlterAvailabilityGroup,
		*syntax.DropAvailabilityGroup, *syntax.CreateEndpoint, *syntax.AlterEndpoint, *syntax.DropEndpoint,
		*syntax.AlterEventSession:
		return false
	}
	return true
}
