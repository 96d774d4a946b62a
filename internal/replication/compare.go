// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// compareTimeout bounds one reading of all articles at one server. Three of them fit into a reconciliation.
const compareTimeout = 10 * time.Minute

// Comparison of a subscriber's tables with the publisher's, as sp_publication_validation compares them: rows and a checksum
// of each.
type Comparison struct {
	// Equal tells that every article was equal, and that the publisher's tables were the same before and after the
	// subscriber's were read.
	Equal bool
	// Steady tells that the publisher's tables were the same before and after: only then is a difference one.
	Steady bool
	// Impossible tells that nothing that arrives makes the tables comparable: an article has a filter, or the subscriber's tables cannot be
	// read as the articles are.
	Impossible bool
	// Rows of all articles at the publisher.
	Rows int64
	// Difference says which articles differ and how, or why nothing can be said; empty when they are equal.
	Difference string
}

// Copy is a database with a server that answers for it.
type Copy struct {
	Server   v1alpha1.ServerName
	Database string
}

// Compare reads the tables of a publication's articles at the publisher, at the subscriber, and at the publisher once more.
// Articles of which only some rows are published cannot be compared.
func (e Engines) Compare(ctx context.Context, articles map[string]mssql.PublishedArticle, publisher, subscriber Copy) (Comparison, error) {
	for _, key := range slices.Sorted(maps.Keys(articles)) {
		if articles[key].Filter != "" {
			return Comparison{Impossible: true, Difference: fmt.Sprintf("article %s has a filter: its rows cannot be compared", key)}, nil
		}
	}
	before, err := e.digests(ctx, articles, publisher)
	if err != nil {
		return Comparison{}, err
	}
	there, err := e.digests(ctx, articles, subscriber)
	if mssql.Is(err, mssql.Refused) {
		return Comparison{Steady: true, Impossible: true, Difference: "the subscriber's tables cannot be read as the articles are: " + err.Error()}, nil
	}
	if err != nil {
		return Comparison{}, err
	}
	after, err := e.digests(ctx, articles, publisher)
	if err != nil {
		return Comparison{}, err
	}
	return compare(before, there, after), nil
}

// compare judges three readings, each by article.
func compare(before, there, after map[string]mssql.TableDigest) Comparison {
	c := Comparison{Steady: maps.Equal(before, after)}
	var differ []string
	for _, key := range slices.Sorted(maps.Keys(after)) {
		c.Rows += after[key].Rows
		if a, b := after[key], there[key]; a != b {
			differ = append(differ, fmt.Sprintf("%s has %d rows (checksum %d) at the publisher, %d (%d) at the subscriber", key, a.Rows, a.Checksum, b.Rows, b.Checksum))
		}
	}
	switch {
	case !c.Steady:
		c.Difference = "the publisher's tables changed while they were compared"
	case len(differ) > 0:
		c.Difference = strings.Join(differ[:min(len(differ), mostNamed)], "; ")
		if more := len(differ) - mostNamed; more > 0 {
			c.Difference += fmt.Sprintf("; and %d more articles", more)
		}
	default:
		c.Equal = true
	}
	return c
}

// mostNamed articles are named as different.
const mostNamed = 3

func (e Engines) digests(ctx context.Context, articles map[string]mssql.PublishedArticle, at Copy) (map[string]mssql.TableDigest, error) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	db, err := e.Open(ctx, at.Server, at.Database)
	if err != nil {
		return nil, err
	}
	all := map[string]mssql.TableDigest{}
	for _, a := range articles {
		// In one order at both: a checksum depends on it.
		columns := slices.Clone(a.Columns)
		slices.SortFunc(columns, func(x, y string) int { return cmp.Compare(strings.ToLower(x), strings.ToLower(y)) })
		if all[a.Schema+"."+a.Table], err = mssql.ReadTableDigest(ctx, db, a.Schema, a.Table, columns); err != nil {
			return nil, err
		}
	}
	return all, nil
}
