// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/storage"
)

// Articles of views, procedures and functions bring their definitions: CREATE with the snapshot, ALTER in the order of
// commits (docs/relational-databases/replication/publish/publish-data-and-database-objects.md).

// Kinds of articles (sysarticles.type).
const (
	tableArticle     = 1
	procedureArticle = 32
	viewArticle      = 64
	functionArticle  = 128
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
	procedureOptions = 0x01 | 0x20 | 0x1000 | 0x2000 | 0x400000 | 0x2000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x80000000
	viewOptions      = 0x01 | 0x10 | 0x20 | 0x40 | 0x100 | 0x1000 | 0x2000 | 0x40000 | 0x100000 | 0x200000 | 0x400000 | 0x800000 | 0x1000000 | 0x8000000 | 0x40000000 | 0x80000000
)

var moduleKinds = map[string]moduleKind{
	"proc schema only": {procedureArticle, "procedure", " P ", 21219, procedureOptions, 21222},
	"view schema only": {viewArticle, "view", " V ", 21221, viewOptions, 21229},
	"func schema only": {functionArticle, "function", " FN IF TF ", 21228, procedureOptions, 21222},
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

// addModule is sp_addarticle of a view, procedure or function.
func (e *Extension) addModule(ctx context.Context, call *engine.ProcCall, p publisher, pub publication, k moduleKind) error {
	s := call.Session
	schema, source := sourceName(call)
	o, err := s.ObjectNamed(ctx, p.db, schema, source)
	if err != nil {
		return err
	}
	if o == nil {
		return raise(14027, 1, source)
	}
	if !strings.Contains(k.objects, " "+o.Kind+" ") {
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
	options, err := k.schemaOptions(call.Bytes("@schema_option"))
	if err != nil {
		return err
	}
	pre, err := modulePreCreation(call.String("@pre_creation_cmd"))
	if err != nil {
		return err
	}
	if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
		return err
	}
	return e.insertModule(ctx, call, p, pub, &article{kind: k.kind, table: o, schema: schema, options: options, preCreation: pre})
}

// schemaOptions are those of sp_addarticle and sp_changearticle for a definition: 21218, 21222, 21229.
func (k moduleKind) schemaOptions(b []byte) (uint64, error) {
	if b == nil {
		return optionScript, nil
	}
	options := uint64(0)
	for _, x := range b {
		options = options<<8 | uint64(x)
	}
	if options == 0 {
		return 0, raise(21218, 1)
	}
	if options&^k.options != 0 {
		return 0, raise(k.invalid, 1)
	}
	return options, nil
}

// modulePreCreation is 21223 for what can be done to tables only.
func modulePreCreation(name string) (int64, error) {
	n, ok := preCreation[strings.ToLower(strings.TrimSpace(name))]
	if !ok {
		return 0, raise(14061, 1)
	}
	if n > 1 {
		return 0, raise(21223, 1)
	}
	return int64(n), nil
}

// insertModule makes the article here and at the distributor.
func (e *Extension) insertModule(ctx context.Context, call *engine.ProcCall, p publisher, pub publication, a *article) error {
	s, name := call.Session, call.String("@article")
	dest, owner := call.String("@destination_table"), call.String("@destination_owner")
	if dest == "" {
		dest = a.table.Name
	}
	if owner == "" {
		owner = a.schema
	}
	active := int64(0)
	if pub.immediateSync || pub.fromBackup {
		active = 1
	}
	if err := makePublicationTables(ctx, s, p.db.Name()); err != nil {
		return err
	}
	r, err := s.Query(ctx, `INSERT INTO dbo.sysarticles (description, dest_table, filter, name, objid, pubid, pre_creation_cmd, status, sync_objid, type, schema_option, dest_owner, fire_triggers_on_snapshot)
		VALUES (@p1, @p2, 0, @p3, @p4, @p5, @p6, @p7, @p4, @p8, @p9, @p10, 0); SELECT artid FROM dbo.sysarticles WHERE pubid = @p5 AND name = @p3`,
		call.Value("@description"), dest, name, int64(a.table.ID), pub.id, a.preCreation, call.Int("@status")&^1|active, a.kind, binary.BigEndian.AppendUint64(nil, a.options), owner)
	if err != nil {
		return err
	}
	id := r.Int(0, "artid")
	if err := e.setReplicated(ctx, s, p.db, a.table.ID, true); err != nil {
		return err
	}
	if _, err := e.inDistributionOf(ctx, s, p, `EXEC sp_MSadd_article @publisher = ?, @publisher_db = ?, @publication = ?, @article = ?, @article_id = ?,
		@destination_object = ?, @source_owner = ?, @source_object = ?, @destination_owner = ?`, p.server, p.db.Name(), pub.name, name, id, dest, a.schema, a.table.Name, owner); err != nil {
		return err
	}
	call.SetOutput("@artid", id)
	return nil
}

// definition is a snapshot's script of the article: empty when the schema options say that there is none.
func (a *article) definition() (string, error) {
	if a.options&optionScript == 0 {
		return "", nil
	}
	create, err := a.table.CreateAs(a.destination())
	if err != nil {
		return "", err
	}
	script := a.createSchema()
	switch {
	case a.preCreation == 1:
		return script + fmt.Sprintf("DROP %s IF EXISTS %s\nGO\n%s\nGO\n", strings.ToUpper(a.kindOfModule().word), a.destination(), create), nil
	default:
		// What is there already stays as it is.
		return script + fmt.Sprintf("IF OBJECT_ID(%s) IS NULL EXEC (%s)\nGO\n", lit(a.destination()), lit(create)), nil
	}
}

// createSchema makes the schema of the subscriber's object.
func (a *article) createSchema() string {
	if strings.EqualFold(a.destOwner, "dbo") {
		return ""
	}
	return fmt.Sprintf("IF SCHEMA_ID(%s) IS NULL EXEC (%s)\nGO\n", lit(a.destOwner), lit("CREATE SCHEMA "+bracket(a.destOwner)))
}

// alterModule carries out ALTER of a published view, procedure or function, and writes it into the log for each article
// whose publication replicates changes of the schema: all of it, or nothing.
func (e *Extension) alterModule(ctx context.Context, s *engine.Session, statement engine.ModuleAlteration, alter func() error) error {
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
				payload, err := json.Marshal(schemaChange{Article: a.id, Script: statement.Head + a.destination() + statement.Tail + "\nGO\n"})
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
func moduleEvent(o *engine.Object, word string) error {
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
