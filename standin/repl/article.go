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
	filter      string
	table       *engine.Object
	schema      string
	// columns are those that are published, keys those of the primary key, in key order.
	columns, keys []*engine.Column
}

// articles reads the articles of a publication database that satisfy a condition on a.
func (e *Extension) articles(ctx context.Context, s *engine.Session, db *engine.Database, where string, args ...any) ([]*article, error) {
	prefix := bracket(db.Name()) + ".dbo."
	r, err := s.Query(ctx, "SELECT a.* FROM "+prefix+"sysarticles AS a WHERE "+where+" ORDER BY a.artid", args...)
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
		a := &article{id: r.Int(i, "artid"), publication: r.Int(i, "pubid"), name: r.String(i, "name"), object: int32(r.Int(i, "objid")),
			destOwner: r.String(i, "dest_owner"), destTable: r.String(i, "dest_table"), insert: r.String(i, "ins_cmd"), update: r.String(i, "upd_cmd"),
			delete: r.String(i, "del_cmd"), filter: r.String(i, "filter_clause"), preCreation: r.Int(i, "pre_creation_cmd"), active: r.Int(i, "status")&1 != 0}
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
	if o == nil || o.Table == nil {
		return raise(14027, 1, a.name)
	}
	a.table = o
	if a.schema, err = s.SchemaNameOf(ctx, db, o); err != nil {
		return err
	}
	if a.destOwner == "" {
		a.destOwner = a.schema
	}
	for _, id := range columns {
		if c := o.Table.ColumnByID(id); c != nil {
			a.columns = append(a.columns, c)
		}
	}
	pk := o.Table.PrimaryKey()
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
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	pub, err := findPublication(ctx, s, call.String("@publication"))
	if err != nil {
		return err
	}
	if name == "" || strings.EqualFold(name, "all") {
		return raise(14032, 1, "@article")
	}
	if kind := call.String("@type"); !strings.EqualFold(kind, "logbased") {
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
	schema, source := sourceName(call)
	table, err := s.Table(ctx, p.db, schema, source)
	if err != nil {
		return err
	}
	if table == nil {
		return raise(14027, 1, source)
	}
	if table.Table.PrimaryKey() == nil {
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
	ins, err := command(call, "@ins_cmd", "CALL", "CALL [sp_MSins_"+suffix+"]", "CALL")
	if err != nil {
		return err
	}
	upd, err := command(call, "@upd_cmd", "SCALL", "SCALL [sp_MSupd_"+suffix+"]", "CALL", "SCALL", "MCALL")
	if err != nil {
		return err
	}
	del, err := command(call, "@del_cmd", "CALL", "CALL [sp_MSdel_"+suffix+"]", "CALL")
	if err != nil {
		return err
	}
	options := uint64(defaultOptions)
	if b := call.Bytes("@schema_option"); b != nil {
		options = 0
		for _, x := range b {
			options = options<<8 | uint64(x)
		}
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
	if pub.immediateSync {
		active = 1
	}
	r, err := s.Query(ctx, `INSERT INTO dbo.sysarticles (del_cmd, description, dest_table, filter, ins_cmd, name, objid, pubid, pre_creation_cmd, status, sync_objid, type, upd_cmd,
		schema_option, dest_owner, fire_triggers_on_snapshot, filter_clause) VALUES (@p1, @p2, @p3, 0, @p4, @p5, @p6, @p7, @p8, @p9, @p6, 1, @p10, @p11, @p12, 0, @p13);
		SELECT artid FROM dbo.sysarticles WHERE pubid = @p7 AND name = @p5`,
		del, call.Value("@description"), dest, ins, name, int64(table.ID), pub.id, pre, call.Int("@status")&^1|int64(active), upd, raw, owner, orNull(clause))
	if err != nil {
		return err
	}
	id := r.Int(0, "artid")
	keys := map[int32]bool{}
	for _, k := range table.Table.PrimaryKey().Keys {
		keys[k.Column] = true
	}
	vertical := yes(call, "@vertical_partition")
	for _, c := range table.Table.Columns {
		if c.Computed != "" || vertical && !keys[c.ID] {
			continue
		}
		err := s.Exec(ctx, "INSERT INTO dbo.sysarticlecolumns VALUES (@p1, @p2, 0, @p3, @p4)", id, int64(c.ID), c.Type.Kind == sqltype.XML, c.Type.Length == sqltype.MaxLength)
		if err != nil {
			return err
		}
	}
	if err := e.setReplicated(ctx, s, p.db, table.ID, true); err != nil {
		return err
	}
	if err := e.refreshImages(ctx, s, p.db); err != nil {
		return err
	}
	if _, err := e.inDistributionOf(ctx, s, p, `EXEC sp_MSadd_article @publisher = ?, @publisher_db = ?, @publication = ?, @article = ?, @article_id = ?,
		@destination_object = ?, @source_owner = ?, @source_object = ?, @destination_owner = ?`, p.server, p.db.Name(), pub.name, name, id, dest, schema, table.Name, owner); err != nil {
		return err
	}
	call.SetOutput("@artid", id)
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
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	pub, err := findPublication(ctx, s, call.String("@publication"))
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
		if err := e.dropOneArticle(ctx, s, p, pub, a.name); err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) dropOneArticle(ctx context.Context, s *engine.Session, p publisher, pub publication, name string) error {
	prefix := bracket(p.db.Name()) + ".dbo."
	r, err := s.Query(ctx, "SELECT artid, objid, sync_objid FROM "+prefix+"sysarticles WHERE pubid = @p1 AND name = @p2", pub.id, name)
	if err != nil {
		return err
	}
	id, object := r.Int(0, "artid"), r.Int(0, "objid")
	if _, err := e.inDistributionOf(ctx, s, p, "EXEC sp_MSdrop_article @publisher = ?, @publisher_db = ?, @article_id = ?", p.server, p.db.Name(), id); err != nil {
		return err
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

func (e *Extension) articleColumn(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	pub, err := findPublication(ctx, s, call.String("@publication"))
	if err != nil {
		return err
	}
	a, err := e.findArticle(ctx, s, p.db, pub, call.String("@article"))
	if err != nil {
		return err
	}
	if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
		return err
	}
	columns := a.table.Table.Columns
	if name := call.String("@column"); name != "" {
		c := a.table.Table.Column(name)
		if c == nil {
			return raise(14020, 1)
		}
		columns = []*engine.Column{c}
	}
	operation := strings.ToLower(call.String("@operation"))
	if operation != "add" && operation != "drop" {
		return raise(14019, 1)
	}
	for _, c := range columns {
		key := false
		for _, k := range a.keys {
			key = key || k.ID == c.ID
		}
		switch {
		case operation == "drop" && key && call.String("@column") != "":
			return raise(20587, 1, "@column", "sp_articlecolumn")
		case operation == "drop" && key, c.Computed != "":
			continue
		}
		text := "DELETE FROM dbo.sysarticlecolumns WHERE artid = @p1 AND colid = @p2"
		if operation == "add" {
			text = "IF NOT EXISTS (SELECT 1 FROM dbo.sysarticlecolumns WHERE artid = @p1 AND colid = @p2) INSERT INTO dbo.sysarticlecolumns VALUES (@p1, @p2, 0, 0, 0)"
		}
		if err := s.Exec(ctx, text, a.id, int64(c.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) changeArticle(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	pub, err := findPublication(ctx, s, call.String("@publication"))
	if err != nil {
		return err
	}
	a, err := e.findArticle(ctx, s, p.db, pub, call.String("@article"))
	if err != nil {
		return err
	}
	property, value := strings.ToLower(call.String("@property")), call.String("@value")
	switch property {
	case "description":
		return s.Exec(ctx, "UPDATE dbo.sysarticles SET description = @p2 WHERE artid = @p1", a.id, value)
	case "pre_creation_cmd":
		n, ok := preCreation[strings.ToLower(value)]
		if !ok {
			return raise(14061, 1)
		}
		if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
			return err
		}
		return s.Exec(ctx, "UPDATE dbo.sysarticles SET pre_creation_cmd = @p2 WHERE artid = @p1", a.id, n)
	case "schema_option":
		var options uint64
		for _, c := range strings.TrimPrefix(strings.ToLower(value), "0x") {
			d := strings.IndexRune("0123456789abcdef", c)
			if d < 0 {
				return raise(20014, 1)
			}
			options = options<<4 | uint64(d)
		}
		if err := e.checkTable(ctx, s, p.db, a.table, options); err != nil {
			return err
		}
		if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
			return err
		}
		return s.Exec(ctx, "UPDATE dbo.sysarticles SET schema_option = @p2 WHERE artid = @p1", a.id, binary.BigEndian.AppendUint64(nil, options))
	}
	return raise(21023, 1, "@property = N'"+property+"'")
}

func (e *Extension) helpArticle(ctx context.Context, call *engine.ProcCall) error {
	pub, err := findPublication(ctx, call.Session, call.String("@publication"))
	if err != nil {
		return err
	}
	name := call.String("@article")
	if name == "" {
		name = "%"
	}
	r, err := call.Session.Query(ctx, "SELECT COUNT(*) AS n FROM dbo.sysarticles WHERE pubid = @p1 AND name LIKE @p2", pub.id, name)
	if err != nil {
		return err
	}
	call.SetOutput("@found", min(r.Int(0, "n"), 1))
	return call.Exec(ctx, `SELECT a.artid AS [article id], a.name AS [article name], CAST(s.name + N'.' + o.name AS nvarchar(257)) AS [base object], a.dest_table AS [destination object],
		CAST(s.name + N'.' + o.name AS nvarchar(257)) AS [synchronization object], CAST(a.type AS smallint) AS [type], a.status, CAST(NULL AS nvarchar(257)) AS [filter],
		a.description, a.ins_cmd AS insert_command, a.upd_cmd AS update_command, a.del_cmd AS delete_command, a.creation_script AS [creation script path],
		CAST(CASE WHEN (SELECT COUNT(*) FROM dbo.sysarticlecolumns AS c WHERE c.artid = a.artid) < (SELECT COUNT(*) FROM sys.columns AS k WHERE k.object_id = a.objid AND k.is_computed = 0) THEN 1 ELSE 0 END AS bit) AS [vertical partition],
		a.pre_creation_cmd, a.filter_clause, a.schema_option, a.dest_owner, s.name AS source_owner, o.name AS unqua_source_object, s.name AS sync_object_owner,
		o.name AS unqualified_sync_object, CAST(NULL AS sysname) AS filter_owner, CAST(NULL AS sysname) AS unqua_filter, 0 AS auto_identity_range,
		CAST(NULL AS int) AS publisher_identity_range, CAST(NULL AS bigint) AS identity_range, CAST(NULL AS bigint) AS threshold,
		1 AS identityrangemanagementoption, a.fire_triggers_on_snapshot
		FROM dbo.sysarticles AS a JOIN sys.objects AS o ON o.object_id = a.objid JOIN sys.schemas AS s ON s.schema_id = o.schema_id
		WHERE a.pubid = @p1 AND a.name LIKE @p2`, pub.id, name)
}

func (e *Extension) helpArticleColumns(ctx context.Context, call *engine.ProcCall) error {
	pub, err := findPublication(ctx, call.Session, call.String("@publication"))
	if err != nil {
		return err
	}
	a, err := e.findArticle(ctx, call.Session, call.Database, pub, call.String("@article"))
	if err != nil {
		return err
	}
	return call.Exec(ctx, `SELECT k.column_id AS [column id], k.name AS [column], CAST(CASE WHEN c.artid IS NULL THEN 0 ELSE 1 END AS bit) AS published,
		CAST(t.name AS sysname) AS [publisher type], CAST(t.name AS sysname) AS [subscriber type]
		FROM sys.columns AS k JOIN sys.types AS t ON t.user_type_id = k.user_type_id
		LEFT JOIN dbo.sysarticlecolumns AS c ON c.artid = @p1 AND c.colid = k.column_id WHERE k.object_id = @p2 ORDER BY k.column_id`, a.id, int64(a.object))
}
