// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/tds"
)

// procedureEvent is the event of a system procedure that does what a statement of DDL would
// (docs/relational-databases/triggers/ddl-events.md).
type procedureEvent struct {
	kind, objectType string
	// object is the number of the argument that names the object, secret that of one that nobody may see, 0 for none.
	object, secret int
	// server tells an event of the server.
	server bool
}

var procedureEvents = map[string]procedureEvent{
	"sp_rename":                 {kind: "RENAME"},
	"sp_addrolemember":          {kind: "ADD_ROLE_MEMBER", objectType: "SQL USER", object: 1},
	"sp_droprolemember":         {kind: "DROP_ROLE_MEMBER", objectType: "SQL USER", object: 1},
	"sp_addsrvrolemember":       {kind: "ADD_SERVER_ROLE_MEMBER", objectType: "LOGIN", server: true},
	"sp_dropsrvrolemember":      {kind: "DROP_SERVER_ROLE_MEMBER", objectType: "LOGIN", server: true},
	"sp_addextendedproperty":    {kind: "CREATE_EXTENDED_PROPERTY"},
	"sp_updateextendedproperty": {kind: "ALTER_EXTENDED_PROPERTY"},
	"sp_dropextendedproperty":   {kind: "DROP_EXTENDED_PROPERTY"},
	"sp_tableoption":            {kind: "ALTER_TABLE", objectType: "TABLE"},
	"sp_indexoption":            {kind: "ALTER_INDEX", objectType: "INDEX"},
	"sp_settriggerorder":        {kind: "ALTER_TRIGGER", objectType: "TRIGGER"},
	"sp_addmessage":             {kind: "CREATE_MESSAGE", objectType: "MESSAGE", server: true},
	"sp_altermessage":           {kind: "ALTER_MESSAGE", objectType: "MESSAGE", server: true},
	"sp_dropmessage":            {kind: "DROP_MESSAGE", objectType: "MESSAGE", server: true},
	"sp_addlinkedserver":        {kind: "CREATE_LINKED_SERVER", objectType: "LINKED SERVER", server: true},
	"sp_serveroption":           {kind: "ALTER_LINKED_SERVER", objectType: "LINKED SERVER", server: true},
	"sp_dropserver":             {kind: "DROP_LINKED_SERVER", objectType: "LINKED SERVER", server: true},
	"sp_addlinkedsrvlogin": {
		kind:       "CREATE_LINKED_SERVER_LOGIN",
		objectType: "LINKED SERVER LOGIN",
		secret:     4,
		server:     true,
	},
	"sp_droplinkedsrvlogin": {kind: "DROP_LINKED_SERVER_LOGIN", objectType: "LINKED SERVER LOGIN", server: true},
}

// withProcedureEvents runs a system procedure and fires the DDL triggers for what it does. One that refuses to be
// within a transaction runs on its own, as statements do that cannot be undone.
func (s *Session) withProcedureEvents(
	ctx context.Context,
	p *Procedure,
	db *Database,
	args []argument,
	run func() (int32, error),
	w tds.Writer,
) (int32, error) {
	known, ok := procedureEvents[strings.ToLower(p.Name)]
	switch strings.ToLower(p.Name) {
	case "sp_configure":
		known, ok = procedureEvent{kind: "ALTER_INSTANCE", objectType: "INSTANCE", server: true}, len(args) > 1
	case "sp_addserver": // of the local server, when it says so
		known, ok = procedureEvent{kind: "CREATE_REMOTE_SERVER", objectType: "REMOTE SERVER", server: true}, true
		if len(args) > 1 {
			if local, _ := args[1].value.(string); strings.EqualFold(local, "local") {
				known = procedureEvent{kind: "ALTER_INSTANCE", objectType: "INSTANCE", server: true}
			}
		}
	}
	if !ok {
		return run()
	}
	e := ddlEvent{kind: known.kind, objectType: known.objectType}
	if !known.server {
		e.db = db
	}
	if known.objectType != "" && known.object < len(args) {
		if name, isText := args[known.object].value.(string); isText {
			e.object = name
		}
	}
	if known.secret > 0 && known.secret < len(args) {
		if text, isText := args[known.secret].value.(string); isText {
			e.secrets = []string{text}
		}
	}
	e.text = p.Name
	if f := s.frame(); f != nil && f.batch != nil && f.node != nil {
		e.text = f.batch.Statement(f.node).Definition()
	}
	var status int32
	err := s.enclosed(ctx, []ddlEvent{e}, !p.NoTransaction, false, func() error {
		var err error
		status, err = run()
		return err
	}, w)
	return status, err
}
