// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"strings"

	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/sqltype"
)

func (e *Extension) installArticles(r *engine.Registry) {
	e.procedure(r, "sp_addarticle", owners, nil, e.addArticle)
	e.procedure(r, "sp_droparticle", owners, nil, e.dropArticle)
	e.procedure(r, "sp_articlecolumn", owners, nil, e.articleColumn)
	e.procedure(r, "sp_articleview", owners, nil, e.articleView)
	e.procedure(r, "sp_articlefilter", owners, nil, e.articleFilter)
	e.procedure(r, "sp_changearticle", owners, nil, e.changeArticle)
	e.procedure(r, "sp_repladdcolumn", owners, replColumnParameters(engine.Parameter{Name: "@typetext", Type: sqltype.NVarCharOf(3000), Required: true},
		engine.Parameter{Name: "@publication_to_add", Type: sqltype.NVarCharMax, Default: "all"}), e.replAddColumn)
	e.procedure(r, "sp_repldropcolumn", owners, replColumnParameters(), e.replDropColumn)
	e.procedure(r, "sp_helparticle", owners, nil, e.helpArticle)
	e.procedure(r, "sp_helparticlecolumns", owners, nil, e.helpArticleColumns)
}

// Bits of schema_option that decide what the snapshot's script has (sp_addarticle).
const (
	optionScript       = 0x01
	optionProcedures   = 0x02
	optionIdentity     = 0x04
	optionClustered    = 0x10
	optionNonclustered = 0x40
	optionPrimaryKey   = 0x80
	optionForeignKeys  = 0x200
	optionChecks       = 0x400
	optionDefaults     = 0x800
	optionCollation    = 0x1000
	optionUnique       = 0x4000
	optionSchema       = 0x8000000
	optionCompression  = 0x400000000
	defaultOptions     = 0x30F3
)

// article is what is needed to replicate a table.
type article struct {
	id          int64
	publication int64
	// kind is sysarticles.type. A definition has no columns; its table is the view, procedure or function.
	kind        int64
	name        string
	object      int32
	destOwner   string
	destTable   string
	insert      string
	update      string
	delete      string
	options     uint64
	preCreation int64
	active      bool
	// snapshotOnly articles may have no primary key; the log reader does not know them.
	snapshotOnly bool
	filter       string
	table        *engine.Object
	schema       string
	// columns are those that are published, keys those of the primary key, in key order.
	columns, keys []*engine.Column
}

// articles reads the articles of a publication database that satisfy a condition on a.
func (e *Extension) articles(ctx context.Context, s *engine.Session, db *engine.Database, where string, args ...any) ([]*article, error) {
	prefix := bracket(db.Name()) + ".dbo."
	r, err := s.Query(ctx, "SELECT a.*, p.repl_freq FROM "+prefix+"sysarticles AS a JOIN "+prefix+"syspublications AS p ON p.pubid = a.pubid WHERE "+where+" ORDER BY a.artid", args...)
	if err != nil {
		return nil, err
	}
	c, err := s.Query(ctx, "SELECT artid, colid FROM "+prefix+"sysarticlecolumns ORDER BY artid, colid")
	if err != nil {
		return nil, err
	}
	published := map[int64][]int32{}
	for i := range c.Len() {
		id := c.Int(i, "artid")
		published[id] = append(published[id], int32(c.Int(i, "colid")))
	}
	var out []*article
	for i := range r.Len() {
		a := &article{id: r.Int(i, "artid"), kind: r.Int(i, "type"), publication: r.Int(i, "pubid"), name: r.String(i, "name"), object: int32(r.Int(i, "objid")),
			destOwner: r.String(i, "dest_owner"), destTable: r.String(i, "dest_table"), insert: r.String(i, "ins_cmd"), update: r.String(i, "upd_cmd"),
			delete: r.String(i, "del_cmd"), filter: r.String(i, "filter_clause"), preCreation: r.Int(i, "pre_creation_cmd"), active: r.Int(i, "status")&1 != 0,
			snapshotOnly: r.Int(i, "repl_freq") == 1}
		if b := r.Bytes(i, "schema_option"); len(b) == 8 {
			a.options = binary.BigEndian.Uint64(b)
		}
		if err := a.resolve(ctx, s, db, published[a.id]); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (a *article) resolve(ctx context.Context, s *engine.Session, db *engine.Database, columns []int32) error {
	o, err := s.Object(ctx, db, a.object)
	if err != nil {
		return err
	}
	if o == nil || o.Table == nil && !a.isModule() {
		return raise(14027, 1, a.name)
	}
	a.table = o
	if a.schema, err = s.SchemaNameOf(ctx, db, o); err != nil {
		return err
	}
	if a.destOwner == "" {
		a.destOwner = a.schema
	}
	if a.isModule() {
		return nil
	}
	for _, id := range columns {
		if c := o.Table.ColumnByID(id); c != nil {
			a.columns = append(a.columns, c)
		}
	}
	pk := o.Table.PrimaryKey()
	if pk == nil && a.snapshotOnly {
		return nil
	}
	if pk == nil {
		return raise(14088, 1, o.Name)
	}
	for _, k := range pk.Keys {
		a.keys = append(a.keys, o.Table.ColumnByID(k.Column))
	}
	return nil
}

// findArticle is 20027 when the publication has none of that name.
func (e *Extension) findArticle(ctx context.Context, s *engine.Session, db *engine.Database, pub publication, name string) (*article, error) {
	list, err := e.articles(ctx, s, db, "a.pubid = @p1 AND a.name = @p2", pub.id, name)
	if err == nil && len(list) == 0 {
		err = raise(20027, 1, name)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// sourceName is the schema and name of the table that sp_addarticle publishes.
func sourceName(call *engine.ProcCall) (schema, name string) {
	name = call.String("@source_object")
	if name == "" {
		name = call.String("@source_table")
	}
	if name == "" {
		name = call.String("@article")
	}
	schema = call.String("@source_owner")
	if left, right, found := strings.Cut(name, "."); found && schema == "" {
		schema, name = left, right
	}
	trim := func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, "["), "]") }
	if schema == "" {
		schema = "dbo"
	}
	return trim(schema), trim(name)
}

// command checks @ins_cmd, @upd_cmd or @del_cmd and fills in the default.
func command(call *engine.ProcCall, parameter, verb, otherwise string, verbs ...string) (string, error) {
	given := strings.TrimSpace(call.String(parameter))
	if !call.Given(parameter) || given == "" || strings.EqualFold(given, "NULL") {
		return otherwise, nil
	}
	if strings.EqualFold(given, "SQL") || strings.EqualFold(given, "NONE") {
		return strings.ToUpper(given), nil
	}
	word, rest, _ := strings.Cut(given, " ")
	for _, v := range verbs {
		if strings.EqualFold(word, v) && strings.TrimSpace(rest) != "" {
			return strings.ToUpper(word) + " " + strings.TrimSpace(rest), nil
		}
	}
	return "", raise(21023, 1, parameter+" = N'"+given+"'")
}

func (e *Extension) addArticle(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@article")
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if name == "" || strings.EqualFold(name, "all") {
		return raise(14032, 1, "@article")
	}
	kind := strings.ToLower(strings.TrimSpace(call.String("@type")))
	module, isModule := moduleKinds[kind]
	if kind != "logbased" && !isModule {
		return raise(21023, 1, "@type = N'"+kind+"'")
	}
	for _, parameter := range []string{"@filter", "@sync_object", "@creation_script"} {
		if call.String(parameter) != "" {
			return raise(21023, 1, parameter)
		}
	}
	if option := call.String("@identityrangemanagementoption"); strings.EqualFold(option, "auto") || yes(call, "@auto_identity_range") {
		return raise(21023, 1, "Automatic identity range management")
	}
	if list, err := e.articles(ctx, s, p.db, "a.pubid = @p1 AND a.name = @p2", pub.id, name); err != nil {
		return err
	} else if len(list) > 0 {
		return raise(14030, 1, name, pub.name)
	}
	if isModule {
		return e.addModule(ctx, call, p, pub, module)
	}
	schema, source := sourceName(call)
	table, err := s.Table(ctx, p.db, schema, source)
	if err != nil {
		return err
	}
	if table == nil {
		if o, err := s.ObjectNamed(ctx, p.db, schema, source); err != nil {
			return err
		} else if o != nil {
			return raise(14028, 1)
		}
		return raise(14027, 1, source)
	}
	if table.Table.PrimaryKey() == nil && !pub.snapshotOnly {
		return raise(14088, 1, twoPart(schema, source))
	}
	if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
		return err
	}
	return e.insertArticle(ctx, call, p, pub, table, schema)
}

// mayChangeArticles is 20607 when a snapshot exists that the change would make useless and the caller did not agree.
func (e *Extension) mayChangeArticles(ctx context.Context, s *engine.Session, pub publication, call *engine.ProcCall) error {
	r, err := s.Query(ctx, "SELECT immediate_sync_ready FROM dbo.syspublications WHERE pubid = @p1", pub.id)
	if err != nil {
		return err
	}
	if r.Int(0, "immediate_sync_ready") == 0 {
		return nil
	}
	if !call.Bool("@force_invalidate_snapshot") {
		return raise(20607, 1)
	}
	return s.Exec(ctx, "UPDATE dbo.syspublications SET immediate_sync_ready = 0 WHERE pubid = @p1", pub.id)
}

var preCreation = map[string]int{"none": 0, "drop": 1, "delete": 2, "truncate": 3}

func (e *Extension) insertArticle(ctx context.Context, call *engine.ProcCall, p publisher, pub publication, table *engine.Object, schema string) error {
	s, name := call.Session, call.String("@article")
	dest, owner := call.String("@destination_table"), call.String("@destination_owner")
	if dest == "" {
		dest = table.Name
	}
	if owner == "" {
		owner = schema
	}
	suffix := owner + dest
	commands, err := articleCommands(call, suffix)
	if err != nil {
		return err
	}
	options, err := schemaOptions(call, pub)
	if err != nil {
		return err
	}
	if err := e.checkTable(ctx, s, p.db, table, options); err != nil {
		return err
	}
	clause := strings.TrimSpace(call.String("@filter_clause"))
	if err := checkFilter(ctx, s, &article{schema: schema, table: table}, clause); err != nil {
		return err
	}
	raw := binary.BigEndian.AppendUint64(nil, options)
	pre := preCreation[strings.ToLower(strings.TrimSpace(call.String("@pre_creation_cmd")))]
	active := 0
	if pub.immediateSync || pub.fromBackup {
		active = 1
	}
	r, err := s.Query(ctx, `INSERT INTO dbo.sysarticles (del_cmd, description, dest_table, filter, ins_cmd, name, objid, pubid, pre_creation_cmd, status, sync_objid, type, upd_cmd,
		schema_option, dest_owner, fire_triggers_on_snapshot, filter_clause) VALUES (@p1, @p2, @p3, 0, @p4, @p5, @p6, @p7, @p8, @p9, @p6, 1, @p10, @p11, @p12, 0, @p13);
		SELECT artid FROM dbo.sysarticles WHERE pubid = @p7 AND name = @p5`,
		commands.delete, call.Value("@description"), dest, commands.insert, name, int64(table.ID), pub.id, pre, call.Int("@status")&^1|int64(active), commands.update, raw, owner, orNull(clause))
	if err != nil {
		return err
	}
	id := r.Int(0, "artid")
	if err := insertArticleColumns(ctx, s, id, table, yes(call, "@vertical_partition")); err != nil {
		return err
	}
	if err := e.setReplicated(ctx, s, p.db, table.ID, true); err != nil {
		return err
	}
	if err := e.refreshImages(ctx, s, p.db); err != nil {
		return err
	}
	if err := backupsFrom(ctx, s, p, pub); err != nil {
		return err
	}
	if _, err := e.inDistributionOf(ctx, s, p, `EXEC sp_MSadd_article @publisher = ?, @publisher_db = ?, @publication = ?, @article = ?, @article_id = ?,
		@destination_object = ?, @source_owner = ?, @source_object = ?, @destination_owner = ?`, p.server, p.db.Name(), pub.name, name, id, dest, schema, table.Name, owner); err != nil {
		return err
	}
	call.SetOutput("@artid", id)
	return nil
}

// changeCommands are the commands that carry an article's changes (ins_cmd, upd_cmd, del_cmd).
type changeCommands struct{ insert, update, delete string }

func articleCommands(call *engine.ProcCall, suffix string) (c changeCommands, err error) {
	if c.insert, err = command(call, "@ins_cmd", "CALL", "CALL [sp_MSins_"+suffix+"]", "CALL"); err != nil {
		return c, err
	}
	if c.update, err = command(call, "@upd_cmd", "SCALL", "SCALL [sp_MSupd_"+suffix+"]", "CALL", "SCALL", "MCALL"); err != nil {
		return c, err
	}
	c.delete, err = command(call, "@del_cmd", "CALL", "CALL [sp_MSdel_"+suffix+"]", "CALL")
	return c, err
}

// schemaOptions are those of sp_addarticle: 21143 for procedures that nothing would call.
func schemaOptions(call *engine.ProcCall, pub publication) (uint64, error) {
	b := call.Bytes("@schema_option")
	if b == nil && pub.snapshotOnly {
		return defaultOptions &^ optionProcedures, nil
	}
	if b == nil {
		return defaultOptions, nil
	}
	options := uint64(0)
	for _, x := range b {
		options = options<<8 | uint64(x)
	}
	if pub.snapshotOnly && options&optionProcedures != 0 {
		return 0, raise(21143, 1)
	}
	return options, nil
}

// insertArticleColumns publishes a table's columns, only those of its key when sp_articlecolumn is to add the others.
func insertArticleColumns(ctx context.Context, s *engine.Session, article int64, table *engine.Object, vertical bool) error {
	keys := map[int32]bool{}
	if pk := table.Table.PrimaryKey(); pk != nil {
		for _, k := range pk.Keys {
			keys[k.Column] = true
		}
	}
	for _, c := range table.Table.Columns {
		if c.Computed != "" || vertical && !keys[c.ID] {
			continue
		}
		err := s.Exec(ctx, "INSERT INTO dbo.sysarticlecolumns VALUES (@p1, @p2, 0, @p3, @p4)", article, int64(c.ID), c.Type.Kind == sqltype.XML, c.Type.Length == sqltype.MaxLength)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkTable refuses tables with what cannot be replicated here.
func (e *Extension) checkTable(ctx context.Context, s *engine.Session, db *engine.Database, table *engine.Object, options uint64) error {
	for _, c := range table.Table.Columns {
		if c.Type.Kind == sqltype.SQLVariant {
			return raise(21023, 1, "A sql_variant column (["+c.Name+"])")
		}
	}
	if options&optionForeignKeys == 0 {
		return nil
	}
	constraints, err := s.Constraints(ctx, db, table)
	if err != nil {
		return err
	}
	for _, c := range constraints {
		if c.Kind == "F" {
			return raise(21023, 1, "The schema option 0x200 (foreign keys)")
		}
	}
	return nil
}

func (e *Extension) dropArticle(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	where, args := "a.pubid = @p1 AND a.name = @p2", []any{pub.id, call.String("@article")}
	if strings.EqualFold(call.String("@article"), "all") {
		where, args = "a.pubid = @p1", args[:1]
	}
	list, err := e.articles(ctx, s, p.db, where, args...)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return raise(20027, 1, call.String("@article"))
	}
	for _, a := range list {
		r, err := s.Query(ctx, "SELECT TOP (1) srvname FROM dbo.syssubscriptions WHERE artid = @p1", a.id)
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return raise(14046, 1)
		}
	}
	if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
		return err
	}
	for _, a := range list {
		if err := e.dropOneArticle(ctx, s, p, pub, a.name, call.Bool("@ignore_distributor")); err != nil {
			return err
		}
	}
	return nil
}

// dropOneArticle drops an article here and, unless that is to be ignored, at the distributor.
func (e *Extension) dropOneArticle(ctx context.Context, s *engine.Session, p publisher, pub publication, name string, ignoreDistributor bool) error {
	prefix := bracket(p.db.Name()) + ".dbo."
	r, err := s.Query(ctx, "SELECT artid, objid, sync_objid FROM "+prefix+"sysarticles WHERE pubid = @p1 AND name = @p2", pub.id, name)
	if err != nil {
		return err
	}
	id, object := r.Int(0, "artid"), r.Int(0, "objid")
	if !ignoreDistributor {
		if _, err := e.inDistributionOf(ctx, s, p, "EXEC sp_MSdrop_article @publisher = ?, @publisher_db = ?, @article_id = ?", p.server, p.db.Name(), id); err != nil {
			return err
		}
	}
	if err := e.dropArticleView(ctx, s, p.db, r.Int(0, "sync_objid"), object); err != nil {
		return err
	}
	err = s.Exec(ctx, "DELETE FROM "+prefix+"sysarticlecolumns WHERE artid = @p1; DELETE FROM "+prefix+"sysarticles WHERE artid = @p1", id)
	if err != nil {
		return err
	}
	r, err = s.Query(ctx, "SELECT COUNT(*) AS n FROM "+prefix+"sysarticles WHERE objid = @p1", object)
	if err != nil {
		return err
	}
	if o, err := s.Object(ctx, p.db, int32(object)); err != nil {
		return err
	} else if r.Int(0, "n") == 0 && o != nil {
		if err := e.setReplicated(ctx, s, p.db, int32(object), false); err != nil {
			return err
		}
	}
	return e.refreshImages(ctx, s, p.db)
}
