// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// compareTimeout bounds a comparison of all articles, which fits into a reconciliation.
const compareTimeout = 30 * time.Minute

// Comparison of a subscriber's tables with the publisher's: the number of rows of each, and a hash of every row over
// all columns that are published.
type Comparison struct {
	// Equal tells that every article was equal, and that the publisher's table did not change while the subscriber's was
	// read.
	Equal bool
	// Same are the articles that were equal, by their names in lower case.
	Same []string
	// Steady tells that the publisher's tables that Difference names did not change meanwhile. Without it Difference is no
	// evidence.
	Steady bool
	// Impossible tells that nothing that arrives makes the tables comparable: an article has a filter, a column has a type
	// whose values cannot be told apart, or the subscriber's tables cannot be read as the articles are.
	Impossible bool
	// Rows of all articles at the publisher.
	Rows int64
	// Difference says which articles differ and how, or why nothing can be said; empty when they are equal.
	Difference string
	// Digest is a hash of the rows of the tables that differ and did not change meanwhile, at the publisher and at the
	// subscriber. Two comparisons may say the same of other rows.
	Digest string
	// Left are the columns that were not compared, "schema.table.column": a rowversion is the subscriber's own.
	Left []string
}

// Copy is a database with a server that answers for it.
type Copy struct {
	Server   v1alpha1.ServerName
	Database string
}

// Words says in a sentence's middle what was found equal: never more than was compared.
func (c Comparison) Words() string {
	if len(c.Left) == 0 {
		return "by a hash of every row over all published columns"
	}
	return fmt.Sprintf("by a hash of every row over all published columns but %s, of type rowversion", some(c.Left, ", "))
}

// Compare reads the table of each article at the publisher, at the subscriber, and at the publisher once more.
// Articles of which only some rows are published cannot be compared.
func (e Engines) Compare(
	ctx context.Context,
	articles map[string]mssql.PublishedArticle,
	publisher, subscriber Copy,
) (Comparison, error) {
	var c Comparison
	// differ are differences, with what each table has; moved are tables that changed meanwhile.
	var differ, contents, moved []string
	for _, key := range slices.Sorted(maps.Keys(articles)) {
		if articles[key].Filter != "" {
			c.Impossible = true
			differ = append(differ, fmt.Sprintf("article %s has a filter: its rows cannot be compared", key))
		}
	}
	if c.Impossible && len(differ) == len(articles) {
		c.Steady, c.Difference, c.Digest = true, some(differ, "; "), digestOf(differ, nil)
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	at, err := e.Open(ctx, publisher.Server, publisher.Database)
	if err != nil {
		return Comparison{}, err
	}
	there, err := e.Open(ctx, subscriber.Server, subscriber.Database)
	if err != nil {
		return Comparison{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(articles)) {
		if articles[key].Filter != "" {
			continue
		}
		one, err := compareTable(ctx, key, articles[key], at, there)
		if err != nil {
			return Comparison{}, err
		}
		c.Rows, c.Left = c.Rows+one.Rows, append(c.Left, one.Left...)
		c.Impossible = c.Impossible || one.Impossible
		switch {
		case one.Difference == "":
			c.Same = append(c.Same, key)
		case one.Steady:
			differ, contents = append(differ, one.Difference), append(contents, one.Digest)
		default:
			moved = append(moved, one.Difference)
		}
	}
	c.Equal, c.Steady = len(differ)+len(moved) == 0, len(differ) > 0 || len(moved) == 0
	c.Difference, c.Digest = some(differ, "; "), digestOf(differ, contents)
	if len(differ) == 0 {
		c.Difference = some(moved, "; ")
	}
	return c, nil
}

// digestOf is one hash of differences and of what the tables have; empty of none.
func digestOf(differ, contents []string) string {
	if len(differ) == 0 {
		return ""
	}
	return digest(slices.Concat(differ, contents))
}

// compareTable compares one article.
func compareTable(
	ctx context.Context,
	key string,
	a mssql.PublishedArticle,
	publisher, subscriber mssql.Querier,
) (Comparison, error) {
	c := Comparison{Steady: true}
	var here, there []tsql.TypedColumn
	var at, copied map[string]tsql.TypedColumn
	schema, table := a.There()
	at, err := mssql.ReadColumnTypes(ctx, publisher, a.Schema, a.Table)
	if err != nil {
		return c, err
	}
	if copied, err = mssql.ReadColumnTypes(ctx, subscriber, schema, table); err != nil {
		return c, err
	}
	if here, there, c.Left, c.Difference = digested(key, a, at, copied); c.Difference != "" {
		c.Impossible = true
		return c, nil
	}
	before, err := mssql.ReadTableDigest(ctx, publisher, a.Schema, a.Table, here)
	if err != nil {
		return c, err
	}
	between, err := mssql.ReadTableDigest(ctx, subscriber, schema, table, there)
	if mssql.Is(err, mssql.Refused) {
		c.Impossible, c.Difference = true, fmt.Sprintf(
			"the subscriber's table of %s cannot be read as the article is: %v",
			key,
			err,
		)
		return c, nil
	}
	if err != nil {
		return c, err
	}
	after, err := mssql.ReadTableDigest(ctx, publisher, a.Schema, a.Table, here)
	if err != nil {
		return c, err
	}
	c.Rows, c.Steady = after.Rows, before == after
	c.Difference = difference(key, before, between, after)
	c.Digest = fmt.Sprintf("%+v %+v", after, between)
	return c, nil
}

// digested are the columns of an article that are compared, in one order and each with the type that it has at the
// publisher and at the subscriber; those that are left out; and why nothing can be compared, empty when it can.
func digested(
	key string,
	a mssql.PublishedArticle,
	at, copied map[string]tsql.TypedColumn,
) (here, there []tsql.TypedColumn, left []string, why string) {
	names := slices.Sorted(maps.Keys(at))
	if len(a.Columns) > 0 {
		names = names[:0]
		for _, c := range a.Columns {
			names = append(names, strings.ToLower(c))
		}
		slices.Sort(names)
	}
	if len(copied) == 0 {
		return nil, nil, nil, fmt.Sprintf("the subscriber has no table for article %s", key)
	}
	for _, name := range names {
		mine, published := at[name]
		theirs, has := copied[name]
		switch {
		case !published || !has:
			return nil, nil, nil, fmt.Sprintf(
				"the subscriber's table of %s cannot be read as the article is: it has no column %s",
				key,
				name,
			)
		case theirs.Type == "timestamp":
			left = append(left, key+"."+mine.Name)
		case !tsql.Digestible(mine.Type) || !tsql.Digestible(theirs.Type):
			return nil, nil, nil, fmt.Sprintf(
				"column %s of %s has type %s, whose values cannot be compared",
				mine.Name,
				key,
				mine.Type,
			)
		default:
			here, there = append(here, mine), append(there, theirs)
		}
	}
	return here, there, left, ""
}

// difference judges three readings of an article's table; it is empty when they are equal.
func difference(key string, before, between, after mssql.TableDigest) string {
	switch {
	case before != after:
		return fmt.Sprintf("the publisher's table of %s changed while it was compared", key)
	case after.Rows != between.Rows:
		return fmt.Sprintf("%s has %d rows at the publisher, %d at the subscriber", key, after.Rows, between.Rows)
	case after != between:
		return fmt.Sprintf("%s has %d rows at both, and not the same", key, after.Rows)
	}
	return ""
}

// mostNamed articles or columns are named.
const mostNamed = 3

// some joins the first few of a list.
func some(list []string, by string) string {
	text := strings.Join(list[:min(len(list), mostNamed)], by)
	if more := len(list) - mostNamed; more > 0 {
		text += fmt.Sprintf("%sand %d more", by, more)
	}
	return text
}
