// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
)

// newProperty is what a property of an article becomes: a column of sysarticles and its value.
type newProperty struct {
	column string
	value  any
	// snapshot and subscriptions say what the change makes useless: the snapshot, the subscribers' copies.
	snapshot, subscriptions bool
}

// changeArticle is sp_changearticle: which properties ask for a new snapshot (20607), and which for subscriptions to be
// initialized again (20608), is what its page says
// (docs/relational-databases/system-stored-procedures/sp-changearticle-transact-sql.md, Remarks).
func (e *Extension) changeArticle(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, a, err := e.publishedArticle(ctx, call)
	if err != nil {
		return err
	}
	n, err := e.newProperty(ctx, call, p, pub, a)
	if err != nil {
		return err
	}
	if n.snapshot {
		if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
			return err
		}
	}
	switch {
	case n.subscriptions || n.snapshot && call.Bool("@force_reinit_subscription"):
		err = e.reinitArticle(ctx, call, p, pub, a)
	case n.snapshot:
		err = e.invalidateSnapshot(ctx, s, p, pub, a.id)
	}
	if err != nil {
		return err
	}
	if n.column == "dest_table" || n.column == "dest_owner" {
		column := map[string]string{"dest_table": "destination_object", "dest_owner": "destination_owner"}[n.column]
		if _, err := e.inDistributionOf(ctx, s, p,
			"UPDATE dbo.MSarticles SET "+column+" = ? WHERE publisher_id = (SELECT srvid FROM dbo.MSreplservers "+
				"WHERE srvname = ?) AND publisher_db = ? AND article_id = ?",
			n.value, p.server, p.db.Name(), a.id); err != nil {
			return err
		}
	}
	return s.Exec(ctx, "UPDATE dbo.sysarticles SET "+n.column+" = @p2 WHERE artid = @p1", a.id, n.value)
}

// newProperty reads @property and @value.
func (e *Extension) newProperty(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	a *article,
) (newProperty, error) {
	property, value := strings.ToLower(call.String("@property")), call.String("@value")
	switch property {
	case "description":
		return newProperty{column: property, value: value}, nil
	case "pre_creation_cmd":
		n, err := a.preCreationOf(value)
		return newProperty{column: property, value: n, snapshot: true}, err
	case "schema_option":
		options, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(value), "0x"), 16, 64)
		if err != nil {
			return newProperty{}, raise(20014, 1)
		}
		if a.isModule() {
			err = a.kindOfModule().checkOptions(options)
		} else {
			err = e.checkTable(ctx, call.Session, p.db, pub, a.table, options)
		}
		return newProperty{column: property, value: binary.BigEndian.AppendUint64(nil, options), snapshot: true}, err
	case "dest_table", "dest_object", "destination_owner":
		if value == "" {
			return newProperty{}, raise(14043, 1, "@value", "sp_changearticle")
		}
		column := "dest_table"
		if property == "destination_owner" {
			column = "dest_owner"
		}
		return newProperty{column: column, value: value, snapshot: true, subscriptions: true}, nil
	}
	if a.isModule() {
		return newProperty{}, raise(21224, 1, property)
	}
	return a.newTableProperty(call, property, value)
}

// newTableProperty reads a property that only tables' articles have.
func (a *article) newTableProperty(call *engine.ProcCall, property, value string) (n newProperty, err error) {
	n = newProperty{column: property, snapshot: true, subscriptions: true}
	suffix := a.destOwner + a.destTable
	switch property {
	case "ins_cmd":
		n.value, err = command(call, "@value", "CALL", "CALL "+bracket("sp_MSins_"+suffix), "CALL")
	case "upd_cmd":
		n.value, err = command(
			call,
			"@value",
			"SCALL",
			"SCALL "+bracket("sp_MSupd_"+suffix),
			"CALL",
			"SCALL",
			"MCALL",
			"XCALL",
		)
	case "del_cmd":
		n.value, err = command(call, "@value", "CALL", "CALL "+bracket("sp_MSdel_"+suffix), "CALL", "XCALL")
	case "status":
		n.snapshot = false
		n.value, err = a.newStatus(value)
	case "fire_triggers_on_snapshot":
		on := false
		if on, err = trueOrFalse(value); on {
			err = raise(21023, 1, "@property = N'fire_triggers_on_snapshot', @value = N'true'")
		}
		n = newProperty{column: property, value: int64(0)}
	default:
		err = raise(21023, 1, "@property = N'"+property+"'")
	}
	return n, err
}

// newStatus is sysarticles.status with one of the documented words.
func (a *article) newStatus(word string) (int64, error) {
	status := a.status
	switch strings.ToLower(word) {
	case "include column names":
		return status | 8, nil
	case "no column names":
		return status &^ 8, nil
	case "parameters":
		return status | 16, nil
	case "string literals", "no parameters":
		return status &^ 16, nil
	}
	return 0, raise(14097, 1)
}
