// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// compressions by what the API calls them.
var compressions = map[v1alpha1.DataCompression]tsql.DataCompression{
	v1alpha1.CompressionNone: tsql.DataCompressionNone,
	v1alpha1.CompressionRow:  tsql.DataCompressionRow,
	v1alpha1.CompressionPage: tsql.DataCompressionPage,
}

const (
	// rebuiltOnline and rebuiltOffline are the bytes of a table up to which it is rebuilt without a question, while it is
	// written to or while writers wait. A larger one could also take longer than a statement may, and begin again and
	// again.
	rebuiltOnline  = 4 << 30
	rebuiltOffline = 64 << 20
)

// compression of a table to which it is to be rebuilt, false when it is as declared, or nothing is declared of it.
func compression(a v1alpha1.Article, db Database) (mssql.Table, tsql.DataCompression, bool) {
	table, exists := db.Tables[strings.ToLower(a.Table)]
	want, declared := compressions[a.DataCompression]
	return table, want, exists && declared && !strings.EqualFold(table.Compression, string(want))
}

// rebuilds tells that a table may be rebuilt: it was measured, and is small enough.
func (db Database) rebuilds(a v1alpha1.Article) bool {
	most := int64(rebuiltOffline)
	if db.Online {
		most = rebuiltOnline
	}
	size, measured := db.Sizes[strings.ToLower(a.Table)]
	return measured && size.Bytes <= most
}

// planTables brings the compression of tables to what is declared, before a snapshot takes it to the subscribers. A
// table of which nothing is declared stays as it is, and so does a large one until a person has rebuilt it.
func planTables(d Desired, o Observed, p *replication.Plan) bool {
	for _, a := range d.Publication.Spec.Articles {
		if table, want, differs := compression(a, o.Database); differs && o.Database.rebuilds(a) {
			p.Execute(o.primary(d), d.database(), tsql.CompressTable(table.Schema, table.Name, want, o.Database.Online))
		}
	}
	return p.Proceed("tables of %s are being compressed", d.database())
}

// planCompression says which tables are left to a person.
func planCompression(d Desired, o Observed, p *replication.Plan) bool {
	for _, a := range d.Publication.Spec.Articles {
		table, want, differs := compression(a, o.Database)
		if !differs {
			continue
		}
		size := o.Database.Sizes[strings.ToLower(a.Table)]
		waits := "while writers wait, for this edition does not do it online"
		if o.Database.Online {
			waits = "online"
		}
		return p.Settle(conditions.Stalled(v1alpha1.ReasonCompressionPending, fmt.Sprintf(
			"table %s has compression %s and is declared with %s. To rebuild it takes %s, %s, which is not done unasked: do "+
				"it in %s when it suits (%s), or declare what it has",
			a.Table, table.Compression, want, replication.Cost(size.Rows, size.Bytes), waits, d.database(),
			tsql.CompressTable(table.Schema, table.Name, want, o.Database.Online).Text,
		)))
	}
	return true
}

// planArticles adds, changes and drops articles. An article whose table is not there, or cannot be published, holds up
// no other. Of what is copied by a schedule they change with the next copies.
func planArticles(d Desired, o Observed, p *replication.Plan) bool {
	if !d.mayChange(o) {
		return true
	}
	have := o.Database.Publication
	declared := map[string]bool{}
	for _, a := range d.Publication.Spec.Articles {
		declared[strings.ToLower(a.Table)] = true
		switch articleState(d, a, o.Database) {
		case statePending:
			addArticle(d, o, p, a)
		case statePublished:
			changeArticle(d, o, p, a, have.Articles[strings.ToLower(a.Table)])
		}
	}
	var dropped []string
	for key := range have.Articles {
		if !declared[key] {
			dropped = append(dropped, key)
		}
	}
	slices.Sort(dropped)
	for _, key := range dropped {
		dropArticle(d, o, p, have.Articles[key].Name)
	}
	return d.serving(o, p, p.Proceed("articles of %s are being brought to what is declared", d.name()))
}

func addArticle(d Desired, o Observed, p *replication.Plan, a v1alpha1.Article) {
	table := o.Database.Tables[strings.ToLower(a.Table)]
	primary := o.primary(d)
	p.Execute(primary, d.database(), tsql.AddArticle(tsql.Article{
		Publication: d.name(), Name: a.Table, Schema: table.Schema, Table: table.Name,
		Compressed: compressed(a), Publishable: d.publishable(), Vertical: len(a.Columns) > 0, Scheduled: d.scheduled(),
	}))
	c := d.changed(a, mssql.PublishedArticle{})
	c.compression, c.rules = false, false
	if len(a.Columns) > 0 {
		// Which columns it begins with is the engine's to say: beside those of keys it keeps what may be NULL and has no
		// default (docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md, @vertical_partition).
		// They are read first, and the view is made of what is left.
		c.add, c.view = nil, false
	}
	limitArticle(d, o, p, a, c)
}

func compressed(a v1alpha1.Article) bool {
	return a.DataCompression == v1alpha1.CompressionRow || a.DataCompression == v1alpha1.CompressionPage
}

// changeArticle brings an article to what is declared. What cannot be taken back is dropped and added again.
func changeArticle(d Desired, o Observed, p *replication.Plan, a v1alpha1.Article, have mssql.PublishedArticle) {
	c := d.changed(a, have)
	// Every change replaces the table at those who subscribe to it, over whatever links: they are asked first.
	if c.none() || len(refusing(d, o, have.Name, c)) > 0 {
		return
	}
	if c.whole {
		dropArticle(d, o, p, have.Name)
		addArticle(d, o, p, a)
		return
	}
	if c.compression || c.rules {
		p.Execute(
			o.primary(d), d.database(),
			tsql.SetArticleSchemaOption(d.name(), have.Name, have.SchemaOption, c.compression, c.rules),
		)
	}
	limitArticle(d, o, p, a, c)
}

// change is how an article differs from what is declared of it, by what the publication's own tables say. Each part of
// it takes a new copy of the table at those who subscribe to it.
type change struct {
	// add and drop are columns that are not published and should be, or the other way round.
	add, drop []string
	// filter tells that it is another one, whole that there should be none any more.
	filter, whole bool
	// view tells that the view is missing that a snapshot of some columns or rows is read from.
	view bool
	// compression tells that it does not reach subscribers.
	compression bool
	// rules tells that identity columns, defaults or CHECK constraints do not reach subscribers.
	rules bool
}

// changed compares an article with what is declared of it.
func (d Desired) changed(a v1alpha1.Article, have mssql.PublishedArticle) change {
	c := change{
		whole:       a.Filter == "" && have.Filter != "",
		compression: compressed(a) && !tsql.ReplicatesCompression(have.SchemaOption),
		rules:       d.publishable() && !tsql.ReplicatesRules(have.SchemaOption),
	}
	if c.whole {
		return c
	}
	c.filter = a.Filter != have.Filter
	for _, column := range a.Columns {
		if !replication.Contains(have.Columns, column) {
			c.add = append(c.add, column)
		}
	}
	if len(a.Columns) == 0 {
		c.add = have.LeftOut
	}
	for _, column := range have.Columns {
		if len(a.Columns) > 0 && !replication.Contains(a.Columns, column) {
			c.drop = append(c.drop, column)
		}
	}
	limited := len(a.Columns) > 0 || a.Filter != ""
	c.view = limited && !have.Limited || c.filter || len(c.add) > 0 || len(c.drop) > 0
	return c
}

func (c change) none() bool {
	return !c.filter && !c.whole && !c.view && !c.compression && !c.rules
}

// limitArticle chooses the columns and rows of an article, and defines the view that its snapshot is read from when it
// is not there or they have changed.
func limitArticle(d Desired, o Observed, p *replication.Plan, a v1alpha1.Article, c change) {
	primary := o.primary(d)
	for _, column := range c.add {
		p.Execute(primary, d.database(), tsql.AddArticleColumn(d.name(), a.Table, column))
	}
	for _, column := range c.drop {
		p.Execute(primary, d.database(), tsql.DropArticleColumn(d.name(), a.Table, column))
	}
	if c.filter {
		procedure := limiting("filter", d.name(), a.Table)
		p.Execute(primary, d.database(), tsql.SetArticleFilter(d.name(), a.Table, procedure, a.Filter))
	}
	if c.view {
		view := limiting("view", d.name(), a.Table)
		p.Execute(primary, d.database(), tsql.SetArticleView(d.name(), a.Table, view, a.Filter))
	}
}

func dropArticle(d Desired, o Observed, p *replication.Plan, article string) {
	primary := o.primary(d)
	if slices.ContainsFunc(
		o.Database.Publication.Subscriptions,
		func(s mssql.ArticleSubscription) bool { return strings.EqualFold(s.Article, article) },
	) {
		p.Execute(primary, d.database(), tsql.DropArticleSubscriptions(d.name(), article))
	}
	p.Execute(primary, d.database(), tsql.DropArticle(d.name(), article))
}
