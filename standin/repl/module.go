// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// Articles of views, procedures and functions bring their definitions: CREATE with the snapshot, ALTER in the order of
// commits (docs/relational-databases/replication/publish/publish-data-and-database-objects.md).

// Kinds of articles (sysarticles.type).
const (
	tableArticle = 1
	// executionArticle and serializableArticle bring calls as well as the definition (execution.go).
	executionArticle    = 8
	serializableArticle = 24
	procedureArticle    = 32
	viewArticle         = 64
	functionArticle     = 128
)

// moduleKind is what one of sp_addarticle's types for definitions takes.
type moduleKind struct {
	kind int64
	// word is how statements call the object, objects the kinds of sys.objects.type, wrong the error of any other object.
	word    string
	objects string
	wrong   int32
	// options are the valid bits of schema_option, invalid is the error of others (21222, 21229 list them).
	options uint64
	invalid int32
}

const (
	procedureOptions = 0x01 | 0x20 | 0x1000 | 0x2000 | 0x400000 | 0x2000000 | 0x8000000 | 0x10000000 |
		0x20000000 | 0x40000000 | 0x80000000
	viewOptions = 0x01 | 0x10 | 0x20 | 0x40 | 0x100 | 0x1000 | 0x2000 | 0x40000 | 0x100000 |
		0x200000 | 0x400000 | 0x800000 | 0x1000000 | 0x8000000 | 0x40000000 | 0x80000000
)

var moduleKinds = map[string]moduleKind{
	"proc schema only":       {procedureArticle, "procedure", " P ", 21219, procedureOptions, 21222},
	"proc exec":              {executionArticle, "procedure", " P ", 21219, procedureOptions, 21222},
	"serializable proc exec": {serializableArticle, "procedure", " P ", 21219, procedureOptions, 21222},
	"view schema only":       {viewArticle, "view", " V ", 21221, viewOptions, 21229},
	"func schema only":       {functionArticle, "function", " FN IF TF ", 21228, procedureOptions, 21222},
}

// isModule tells whether the article is a definition, which has no rows.
func (a *article) isModule() bool { return a.kind != tableArticle }

// kindOfModule is what the article's type takes.
func (a *article) kindOfModule() moduleKind {
	for _, k := range moduleKinds {
		if k.kind == a.kind {
			return k
		}
	}
	return moduleKind{}
}

// tablesOnly is 14112 for an article that has no rows.
func (a *article) tablesOnly() error {
	if a.isModule() {
		return raise(14112, 1)
	}
	return nil
}

// ofModule fills in what only the article of a view, procedure or function has.
func (a *article) ofModule(call *engine.ProcCall, k moduleKind) (err error) {
	if !strings.Contains(k.objects, " "+a.table.Kind+" ") {
		return raise(k.wrong, 1)
	}
	for _, parameter := range []string{"@filter_clause", "@ins_cmd", "@upd_cmd", "@del_cmd"} {
		if v := call.String(parameter); v != "" && !strings.EqualFold(v, "NULL") && call.Given(parameter) {
			return raise(21224, 1, strings.TrimPrefix(parameter, "@"))
		}
	}
	if yes(call, "@vertical_partition") {
		return raise(21224, 1, "vertical_partition")
	}
	var given bool
	if a.options, given = schemaOption(call.Bytes("@schema_option")); !given {
		a.options = optionScript
	}
	if err := k.checkOptions(a.options); err != nil || !a.isExecution() {
		return err
	}
	return repeatable(a.table)
}

// checkOptions checks the schema options of a definition: 21218, 21222, 21229.
func (k moduleKind) checkOptions(options uint64) error {
	if options == 0 {
		return raise(21218, 1)
	}
	if options&^k.options != 0 {
		return raise(k.invalid, 1)
	}
	return nil
}

// definition is a snapshot's script of the article: empty when the schema options say that there is none.
func (a *article) definition() (string, error) {
	if a.options&optionScript == 0 {
		return "", nil
	}
	create, err := engine.CreateAs(a.table, a.destination())
	if err != nil {
		return "", err
	}
	script := a.createSchema()
	switch {
	case a.preCreation == 1:
		return script + fmt.Sprintf(
			"DROP %s IF EXISTS %s\nGO\n%s\nGO\n",
			strings.ToUpper(a.kindOfModule().word),
			a.destination(),
			create,
		), nil
	default:
		// What is there already stays as it is.
		return script + fmt.Sprintf("IF OBJECT_ID(%s) IS NULL EXEC (%s)\nGO\n", stored.Literal(a.destination()),
			stored.Literal(create)), nil
	}
}

// createSchema makes the schema of the subscriber's object.
func (a *article) createSchema() string {
	if strings.EqualFold(a.destOwner, "dbo") {
		return ""
	}
	return fmt.Sprintf(
		"IF SCHEMA_ID(%s) IS NULL EXEC (%s)\nGO\n",
		stored.Literal(a.destOwner),
		stored.Literal("CREATE SCHEMA "+bracket(a.destOwner)),
	)
}

// alterModule carries out ALTER of a published view, procedure or function, and writes it into the log for each article
// whose publication replicates changes of the schema: all of it, or nothing.
func (e *Extension) alterModule(
	ctx context.Context,
	s *engine.Session,
	statement engine.ModuleAlteration,
	alter func() error,
) error {
	db := statement.Database
	var list []*article
	replicates := map[int64]bool{}
	read := func() error {
		prefix := bracket(db.Name()) + ".dbo."
		if published, err := exists(ctx, s, prefix+"sysarticles"); err != nil || !published {
			return err // a copy of a published database that is itself not published
		}
		r, err := s.Query(ctx, "SELECT pubid FROM "+prefix+"syspublications WHERE replicate_ddl = 1 AND repl_freq = 0")
		if err != nil {
			return err
		}
		for i := range r.Len() {
			replicates[r.Int(i, "pubid")] = true
		}
		list, err = e.articles(ctx, s, db, "a.objid = @p1", int64(statement.Module.ID))
		for _, a := range list {
			if err == nil && a.isExecution() {
				err = repeatable(a.table)
			}
		}
		return err
	}
	return s.Atomically(ctx, func() error {
		if err := alter(); err != nil {
			return err
		}
		if err := s.AsSystem(read); err != nil {
			return err
		}
		return s.Write(ctx, db, func(tx *storage.Tx) error {
			for _, a := range list {
				if !replicates[a.publication] {
					continue
				}
				payload, err := json.Marshal(
					schemaChange{Article: a.id, Script: statement.Head + a.destination() + statement.Tail + "\nGO\n"},
				)
				if err != nil {
					return err
				}
				if err := tx.MarkHere(schemaMark, payload); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// moduleEvent refuses to drop or rename a view, procedure or function that is published.
func moduleEvent(o *metadata.Object, word string) error {
	kind := "function"
	for _, k := range moduleKinds {
		if strings.Contains(k.objects, " "+o.Kind+" ") {
			kind = k.word
		}
	}
	switch word {
	case "DROP":
		return raise(3724, 1, "drop", kind, o.Name)
	case "RENAME":
		return raise(3724, 2, "rename", kind, o.Name)
	}
	return nil
}
