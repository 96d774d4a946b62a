// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqltype"
)

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

// articleStatus are the documented bits of @status: active, column names in INSERT, parameterised, and one that is SQL
// Server's own (docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md).
const articleStatus = 1 | 8 | 16 | 64

func (e *Extension) addArticle(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@article")
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if name == "" {
		return raise(14043, 1, "@article", "sp_addarticle")
	}
	if strings.EqualFold(name, "all") {
		return raise(14032, 1, "@article")
	}
	if call.Int("@status")&^articleStatus != 0 {
		return raise(14097, 1)
	}
	kind := strings.ToLower(strings.TrimSpace(call.String("@type")))
	module, isModule := article.ModuleKinds[kind]
	if kind != "logbased" && !isModule {
		return raise(21023, 1, "@type = N'"+kind+"'")
	}
	if err := refuseArticleOptions(call); err != nil {
		return err
	}
	if list, err := e.articles(ctx, s, p.db, "a.pubid = @p1 AND a.name = @p2", pub.id, name); err != nil {
		return err
	} else if len(list) > 0 {
		return raise(14030, 1, name, pub.name)
	}
	schema, source := sourceName(call)
	o, err := s.ObjectNamed(ctx, p.db, schema, source)
	if err != nil {
		return err
	}
	if o == nil {
		return raise(14027, 1, source)
	}
	a := &article.Article{
		Kind:        article.Table,
		Publication: pub.id,
		Name:        name,
		Table:       o,
		Schema:      schema,
		DestOwner:   call.String("@destination_owner"),
		DestTable:   call.String("@destination_table"),
	}
	if a.DestTable == "" {
		a.DestTable = o.Name
	}
	if a.DestOwner == "" {
		a.DestOwner = schema
	}
	if isModule {
		a.Kind = module.Kind
		err = a.OfModule(call, module)
	} else {
		err = e.ofTable(ctx, call, p, pub, a)
	}
	if err != nil {
		return err
	}
	if a.PreCreation, err = a.PreCreationOf(call.String("@pre_creation_cmd")); err != nil {
		return err
	}
	if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
		return err
	}
	return e.insertArticle(ctx, call, p, pub, a)
}

// refuseArticleOptions refuses what this server does not do.
func refuseArticleOptions(call *engine.ProcCall) error {
	for _, parameter := range []string{"@filter", "@sync_object", "@creation_script"} {
		if call.String(parameter) != "" {
			return raise(21023, 1, parameter)
		}
	}
	if option := call.String("@identityrangemanagementoption"); strings.EqualFold(option, "auto") ||
		yes(call, "@auto_identity_range") {
		return raise(21023, 1, "Automatic identity range management")
	}
	return nil
}

// ofTable fills in what only a table's article has.
func (e *Extension) ofTable(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	a *article.Article,
) (err error) {
	if a.Table.Kind != "U" {
		return raise(14028, 1)
	}
	if a.Table.Table.PrimaryKey() == nil && !pub.snapshotOnly {
		return raise(14088, 1, stored.TwoPart(a.Schema, a.Table.Name))
	}
	if err := a.SetCommands(call); err != nil {
		return err
	}
	var given bool
	if a.Options, given = article.SchemaOption(call.Bytes("@schema_option")); !given {
		a.Options = article.DefaultOptions
		if pub.snapshotOnly {
			a.Options &^= article.OptionProcedures
		}
	}
	if err := e.checkTable(ctx, call.Session, p.db, pub, a.Table, a.Options); err != nil {
		return err
	}
	a.Filter = strings.TrimSpace(call.String("@filter_clause"))
	return article.CheckFilter(ctx, call.Session, a, a.Filter)
}

// insertArticle makes the article here and at the distributor.
func (e *Extension) insertArticle(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	a *article.Article,
) error {
	s, object := call.Session, a.Table
	if a.IsModule() {
		// A database that an older program published lacks the views over its articles.
		if err := tables.MakePublication(ctx, s, p.db.Name()); err != nil {
			return err
		}
	}
	active := int64(0)
	if pub.immediateSync || pub.fromBackup {
		active = 1
	}
	r, err := s.Query(
		ctx,
		`INSERT INTO dbo.sysarticles (del_cmd, description, dest_table, filter, ins_cmd, name, objid, pubid, pre_creation_cmd, status, sync_objid, type, upd_cmd,
		schema_option, dest_owner, fire_triggers_on_snapshot, filter_clause) VALUES (@p1, @p2, @p3, 0, @p4, @p5, @p6, @p7, @p8, @p9, @p6, @p14, @p10, @p11, @p12, 0, @p13);
		SELECT artid FROM dbo.sysarticles WHERE pubid = @p7 AND name = @p5`,
		orNull(
			a.Delete,
		),
		call.Value("@description"),
		a.DestTable,
		orNull(a.Insert),
		a.Name,
		int64(object.ID),
		pub.id,
		a.PreCreation,
		call.Int("@status")&^1|active,
		orNull(a.Update),
		binary.BigEndian.AppendUint64(nil, a.Options),
		a.DestOwner,
		orNull(a.Filter),
		a.Kind,
	)
	if err != nil {
		return err
	}
	a.ID = r.Int(0, "artid")
	if !a.IsModule() {
		if err := insertArticleColumns(ctx, s, a.ID, object, yes(call, "@vertical_partition")); err != nil {
			return err
		}
	}
	if err := noteArticles(ctx, s, p.db, object.ID); err != nil {
		return err
	}
	if !a.IsModule() {
		if err := e.refreshImages(ctx, s, p.db); err != nil {
			return err
		}
		if err := backupsFrom(ctx, s, p, pub); err != nil {
			return err
		}
	}
	if _, err := e.inDistributionOf(ctx, s, p, `EXEC sp_MSadd_article @publisher = ?, @publisher_db = ?, @publication = ?, @article = ?, @article_id = ?,
		@destination_object = ?, @source_owner = ?, @source_object = ?, @destination_owner = ?`, p.server, p.db.Name(), pub.name, a.Name, a.ID, a.DestTable, a.Schema, object.Name, a.DestOwner); err != nil {
		return err
	}
	call.SetOutput("@artid", a.ID)
	return nil
}

// insertArticleColumns publishes a table's columns, only those that stay when sp_articlecolumn is to choose the others.
func insertArticleColumns(
	ctx context.Context,
	s *engine.Session,
	article int64,
	table *metadata.Object,
	vertical bool,
) error {
	for _, c := range table.Table.Columns {
		if c.Computed != "" || vertical && !staysPublished(table.Table, c) {
			continue
		}
		err := s.Exec(
			ctx,
			"INSERT INTO dbo.sysarticlecolumns VALUES (@p1, @p2, 0, @p3, @p4)",
			article,
			int64(c.ID),
			c.Type.Kind == sqltype.XML,
			c.Type.Length == sqltype.MaxLength,
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkTable refuses tables with what cannot be replicated here, and schema options that they cannot have: 21143 for
// procedures that nothing would call.
func (e *Extension) checkTable(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	pub publication,
	table *metadata.Object,
	options uint64,
) error {
	if pub.snapshotOnly && options&article.OptionProcedures != 0 {
		return raise(21143, 1)
	}
	for _, c := range table.Table.Columns {
		if c.Type.Kind == sqltype.SQLVariant {
			return raise(21023, 1, "A sql_variant column (["+c.Name+"])")
		}
		if pk := table.Table.PrimaryKey(); c.Computed != "" && pk != nil &&
			slices.ContainsFunc(pk.Keys, func(k metadata.Key) bool { return k.Column == c.ID }) {
			return raise(21023, 1, "A computed column in the primary key (["+c.Name+"])")
		}
	}
	err := article.RefuseSchemaOptions(ctx, s, db, table, options)
	if err != nil || options&article.OptionForeignKeys == 0 {
		return err
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
