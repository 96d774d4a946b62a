// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// compressions by what the API calls them.
var compressions = map[v1alpha1.DataCompression]tsql.DataCompression{
	v1alpha1.CompressionNone: tsql.DataCompressionNone,
	v1alpha1.CompressionRow:  tsql.DataCompressionRow,
	v1alpha1.CompressionPage: tsql.DataCompressionPage,
}

// planTables brings the compression of tables to what is declared, before a snapshot takes it to the subscribers. A
// table of which nothing is declared stays as it is.
func planTables(d Desired, o Observed, p *replication.Plan) bool {
	for _, a := range d.Publication.Spec.Articles {
		table, exists := o.Database.Tables[strings.ToLower(a.Table)]
		want, declared := compressions[a.DataCompression]
		if exists && declared && !strings.EqualFold(table.Compression, string(want)) {
			p.Execute(o.primary(d), d.database(), tsql.CompressTable(table.Schema, table.Name, want))
		}
	}
	return proceed(p, "tables of %s are being compressed", d.database())
}

// planArticles adds, changes and drops articles. An article whose table is not there, or cannot be published, holds up no
// other.
func planArticles(d Desired, o Observed, p *replication.Plan) bool {
	have := o.Database.Publication
	declared := map[string]bool{}
	for _, a := range d.Publication.Spec.Articles {
		declared[strings.ToLower(a.Table)] = true
		switch articleState(a, o.Database) {
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
	return proceed(p, "articles of %s are being brought to what is declared", d.name())
}

func addArticle(d Desired, o Observed, p *replication.Plan, a v1alpha1.Article) {
	table := o.Database.Tables[strings.ToLower(a.Table)]
	primary := o.primary(d)
	p.Execute(primary, d.database(), tsql.AddArticle(tsql.Article{
		Publication: d.name(), Name: a.Table, Schema: table.Schema, Table: table.Name,
		Compressed: compressed(a), Publishable: d.publishable(), Vertical: len(a.Columns) > 0,
	}))
	// The primary key's columns are published by themselves.
	limitArticle(d, o, p, a, mssql.PublishedArticle{Columns: table.PrimaryKey})
}

func compressed(a v1alpha1.Article) bool {
	return a.DataCompression == v1alpha1.CompressionRow || a.DataCompression == v1alpha1.CompressionPage
}

// changeArticle brings an article to what is declared. What cannot be taken back is dropped and added again.
func changeArticle(d Desired, o Observed, p *replication.Plan, a v1alpha1.Article, have mssql.PublishedArticle) {
	unlimited := len(a.Columns) == 0 && a.Filter == ""
	if unlimited && have.Limited || a.Filter == "" && have.Filter != "" {
		dropArticle(d, o, p, have.Name)
		addArticle(d, o, p, a)
		return
	}
	if have.SchemaOption != tsql.SchemaOption(compressed(a), d.publishable()) {
		p.Execute(o.primary(d), d.database(), tsql.SetArticleSchemaOption(d.name(), have.Name, compressed(a), d.publishable()))
	}
	limitArticle(d, o, p, a, have)
}

// limitArticle chooses the columns and rows of an article, and defines the view that its snapshot is read from when it
// is not there or they have changed.
func limitArticle(d Desired, o Observed, p *replication.Plan, a v1alpha1.Article, have mssql.PublishedArticle) {
	if len(a.Columns) == 0 && a.Filter == "" {
		return
	}
	primary, before := o.primary(d), len(p.Steps)
	if len(a.Columns) > 0 {
		for _, column := range a.Columns {
			if !replication.Contains(have.Columns, column) {
				p.Execute(primary, d.database(), tsql.AddArticleColumn(d.name(), a.Table, column))
			}
		}
		for _, column := range have.Columns {
			if !replication.Contains(a.Columns, column) {
				p.Execute(primary, d.database(), tsql.DropArticleColumn(d.name(), a.Table, column))
			}
		}
	}
	if a.Filter != have.Filter {
		p.Execute(primary, d.database(), tsql.SetArticleFilter(d.name(), a.Table, limiting("filter", d.name(), a.Table), a.Filter))
	}
	if len(p.Steps) > before || !have.Limited {
		p.Execute(primary, d.database(), tsql.SetArticleView(d.name(), a.Table, limiting("view", d.name(), a.Table), a.Filter))
	}
}

func dropArticle(d Desired, o Observed, p *replication.Plan, article string) {
	primary := o.primary(d)
	if slices.ContainsFunc(o.Database.Publication.Subscriptions, func(s mssql.ArticleSubscription) bool { return strings.EqualFold(s.Article, article) }) {
		p.Execute(primary, d.database(), tsql.DropArticleSubscriptions(d.name(), article))
	}
	p.Execute(primary, d.database(), tsql.DropArticle(d.name(), article))
}
