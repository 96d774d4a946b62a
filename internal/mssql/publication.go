// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// Publication is a publication as its database has it.
type Publication struct {
	ID          int
	Description string
	// SnapshotReady tells that the newest snapshot has every article.
	SnapshotReady bool
	// Scheduled tells that it brings whole snapshots, and that nothing is streamed.
	Scheduled bool
	// Articles by name in lower case.
	Articles map[string]PublishedArticle
	// Subscriptions to its articles.
	Subscriptions []ArticleSubscription
}

// PublishedArticle is an article of a publication.
type PublishedArticle struct {
	// ID is the publisher's number of the article: one that is dropped and added again has another.
	ID                  int
	Name, Schema, Table string
	// SubscriberSchema and SubscriberTable are the table at subscribers, empty when it has the publisher's names.
	SubscriberSchema, SubscriberTable string
	SchemaOption                      int64
	Filter                            string
	// Limited tells that a view chooses what the snapshot has. Engines may make one that chooses everything: what an
	// article is limited to is said by Columns and Filter alone.
	Limited bool
	// Columns are published, LeftOut are the table's others.
	Columns, LeftOut []string
}

// There is the article's table at subscribers.
func (a PublishedArticle) There() (schema, table string) {
	return cmp.Or(a.SubscriberSchema, a.Schema), cmp.Or(a.SubscriberTable, a.Table)
}

// syncNone is the sync_type of a subscription that is registered without a copy
// (docs/relational-databases/system-tables/syssubscriptions-transact-sql.md).
const syncNone = 2

// Statuses of a subscription that gets nothing: it was given up, or waits for a snapshot
// (docs/relational-databases/system-tables/syssubscriptions-transact-sql.md).
const (
	SubscriptionInactive = 0
	SubscriptionWaiting  = 1
)

// ArticleSubscription is a subscription to one article.
type ArticleSubscription struct {
	Article, Subscriber, Database string
	Pull                          bool
	// Status is SubscriptionInactive, SubscriptionWaiting or 2, active.
	Status int
	// DataWasThere tells that it was registered without a copy.
	DataWasThere bool
}

func readPublications(into *[]string) read {
	return read{tsql.Publications(), func(r Row) error {
		var name string
		err := r.Scan(&name)
		*into = append(*into, name)
		return err
	}}
}

// Subscriber is who subscribes to a publication.
type Subscriber struct{ Publication, Server, Database string }

// ReadSubscribers reads who subscribes to the publications of the connection's database, which must be published.
func ReadSubscribers(ctx context.Context, q Querier) (all []Subscriber, err error) {
	err = readSubscribers(&all).by(ctx, q)
	return all, err
}

func readSubscribers(into *[]Subscriber) read {
	return read{tsql.Subscribers(), func(r Row) error {
		var s Subscriber
		err := r.Scan(&s.Publication, &s.Server, &s.Database)
		*into = append(*into, s)
		return err
	}}
}

// ReadPublication reads a publication of the connection's database; nil when it has none of the name.
func ReadPublication(ctx context.Context, q Querier, name string) (p *Publication, err error) {
	if err := readAll(ctx, q, "read publication "+name, readPublication(name, &p)...); err != nil {
		return nil, err
	}
	return p, nil
}

// readPublication leaves into nil where there is none of the name.
func readPublication(name string, into **Publication) []read {
	p := &Publication{Articles: map[string]PublishedArticle{}}
	return []read{
		{tsql.PublicationState(name), func(r Row) error {
			*into = p
			return r.Scan(&p.ID, &p.Description, &p.SnapshotReady, &p.Scheduled)
		}},
		{tsql.Articles(name), func(r Row) error {
			var a PublishedArticle
			var option []byte
			err := r.Scan(
				&a.Name,
				&a.Schema,
				&a.Table,
				&option,
				&a.Filter,
				&a.Limited,
				&a.ID,
				&a.SubscriberSchema,
				&a.SubscriberTable,
			)
			if len(option) == 8 {
				a.SchemaOption = int64(binary.BigEndian.Uint64(option)) //nolint:gosec // a set of bits
			}
			p.Articles[strings.ToLower(a.Name)] = a
			return err
		}},
		{tsql.ArticleColumns(name), func(r Row) error {
			var article, column string
			err := r.Scan(&article, &column)
			a := p.Articles[strings.ToLower(article)]
			a.Columns = append(a.Columns, column)
			p.Articles[strings.ToLower(article)] = a
			return err
		}},
		{tsql.ColumnsLeftOut(name), func(r Row) error {
			var article, column string
			err := r.Scan(&article, &column)
			a := p.Articles[strings.ToLower(article)]
			a.LeftOut = append(a.LeftOut, column)
			p.Articles[strings.ToLower(article)] = a
			return err
		}},
		{tsql.ArticleSubscriptions(name), func(r Row) error {
			var s ArticleSubscription
			var sync int
			err := r.Scan(&s.Article, &s.Subscriber, &s.Database, &s.Pull, &s.Status, &sync)
			s.DataWasThere = sync == syncNone
			p.Subscriptions = append(p.Subscriptions, s)
			return err
		}},
	}
}

// Table is a user table.
type Table struct {
	Schema, Name string
	// PrimaryKey are its columns, empty without one.
	PrimaryKey []string
	// Compression is NONE, ROW or PAGE.
	Compression string
}

// ReadTables reads the user tables of the connection's database, by "schema.name" in lower case.
func ReadTables(ctx context.Context, q Querier) (map[string]Table, error) {
	tables := map[string]Table{}
	if err := readAll(ctx, q, "read the tables", readTables(tables)...); err != nil {
		return nil, err
	}
	return tables, nil
}

func readTables(tables map[string]Table) []read {
	key := func(schema, name string) string { return strings.ToLower(schema + "." + name) }
	return []read{
		{tsql.Tables(), func(r Row) error {
			var t Table
			var hasKey bool
			err := r.Scan(&t.Schema, &t.Name, &hasKey, &t.Compression)
			tables[key(t.Schema, t.Name)] = t
			return err
		}},
		{tsql.PrimaryKeyColumns(), func(r Row) error {
			var schema, table, column string
			err := r.Scan(&schema, &table, &column)
			if t, ok := tables[key(schema, table)]; ok {
				t.PrimaryKey = append(t.PrimaryKey, column)
				tables[key(schema, table)] = t
			}
			return err
		}},
	}
}

// TableSize is what a copy of a table costs to read.
type TableSize struct{ Rows, Bytes int64 }

// enterprise is the EngineEdition of those that rebuild tables online.
const enterprise = 3

// ReadOnline tells whether the instance's edition rebuilds tables while they are written to.
func ReadOnline(ctx context.Context, q Querier) (online bool, err error) {
	err = q.Query(ctx, tsql.EngineEdition(), func(r Row) error {
		var edition int
		err := r.Scan(&edition)
		online = edition == enterprise
		return err
	})
	return online, err
}

// ReadTableSizes measures the user tables of the connection's database, by "schema.name" in lower case.
func ReadTableSizes(ctx context.Context, q Querier) (map[string]TableSize, error) {
	sizes := map[string]TableSize{}
	err := q.Query(ctx, tsql.TableSizes(), func(r Row) error {
		var schema, name string
		var size TableSize
		err := r.Scan(&schema, &name, &size.Rows, &size.Bytes)
		sizes[strings.ToLower(schema+"."+name)] = size
		return err
	})
	return sizes, err
}

// SubscriptionHere is a subscription as its database knows it.
type SubscriptionHere struct {
	Publisher, PublisherDatabase, Publication string
	Pull                                      bool
	// Applied tells that something was applied: a snapshot, or a transaction after it.
	Applied bool
	// Last is the sequence number of the newest transaction up to which everything was applied, Time when, to the minute,
	// by the server's clock.
	Last []byte
	Time time.Time
	// Transaction is the same number with what tells snapshots of one place in the log apart.
	Transaction []byte
}

// Has tells that what was applied is as new as a snapshot, by its sequence number.
func (s SubscriptionHere) Has(snapshot []byte) bool {
	return len(snapshot) > 0 && s.Applied && bytes.Compare(padded(s.Transaction), padded(snapshot)) >= 0
}

// padded is a sequence number as engines compare them: what is missing at its end is zero.
func padded(number []byte) []byte {
	full := make([]byte, transactionNumber)
	copy(full, number)
	return full
}

// is tells whether both are one subscription.
func (s SubscriptionHere) is(other SubscriptionHere) bool {
	return strings.EqualFold(s.Publisher, other.Publisher) &&
		strings.EqualFold(s.PublisherDatabase, other.PublisherDatabase) &&
		strings.EqualFold(s.Publication, other.Publication)
}

// ReadSubscriptionsHere reads the subscriptions that the connection's database knows of. An agent that applies in
// several streams may have a row for each: then the one that is behind says how far the subscription is.
func ReadSubscriptionsHere(ctx context.Context, q Querier) (all []SubscriptionHere, err error) {
	err = readSubscriptionsHere(&all).by(ctx, q)
	return all, err
}

func readSubscriptionsHere(into *[]SubscriptionHere) read {
	return read{tsql.SubscriptionsHere(), func(r Row) error {
		all := *into
		var s SubscriptionHere
		var kind int
		var last []byte
		err := r.Scan(&s.Publisher, &s.PublisherDatabase, &s.Publication, &kind, &last, &s.Time)
		s.Pull, s.Applied = kind == 1, len(bytes.Trim(last[:min(len(last), transactionNumber)], "\x00")) > 0
		s.Last = last[:min(len(last), sequenceNumber)]
		s.Transaction = last[:min(len(last), transactionNumber)]
		for i := range all {
			if all[i].is(s) {
				s.Applied = s.Applied || all[i].Applied
				if bytes.Compare(all[i].Last, s.Last) <= 0 {
					s.Last, s.Time, s.Transaction = all[i].Last, all[i].Time, all[i].Transaction
				}
				all[i] = s
				return err
			}
		}
		*into = append(all, s)
		return err
	}}
}

// SubscriptionSnapshot is the newest snapshot that a subscription is to have.
type SubscriptionSnapshot struct {
	// Number is its sequence number, nil while the subscription waits for a snapshot.
	Number []byte
	// Age is how long ago the distributor had it whole, by its clock in whole seconds; not Known when it does not say that
	// any more.
	Age   time.Duration
	Known bool
}

// ReadSubscriptionSnapshot reads which snapshot a distribution agent's subscription is to have.
func ReadSubscriptionSnapshot(ctx context.Context, q Querier, agent int) (s SubscriptionSnapshot, err error) {
	err = q.Query(ctx, tsql.SubscriptionSnapshot(agent), func(r Row) error {
		var seconds sql.NullInt64
		err := r.Scan(&s.Number, &seconds)
		s.Age, s.Known = time.Duration(seconds.Int64)*time.Second, seconds.Valid
		return err
	})
	return s, err
}

// sequenceNumber is how many bytes of xact_seqno are the log's; what follows numbers the commands of a snapshot. The
// first transactionNumber bytes of transaction_timestamp say what was applied, the one after them which stream did it.
const (
	sequenceNumber    = 10
	transactionNumber = 15
)

// ReadLogEnd reads the number of the last record in the log of the connection's database, as xact_seqno has it, nil
// when the engine says it in another form than is known; and the database's recovery fork, empty when the engine does
// not tell.
func ReadLogEnd(ctx context.Context, q Querier) (end []byte, fork string, err error) {
	err = readLogEnd(&end, &fork).by(ctx, q)
	return end, fork, err
}

// ReadLogMark reads where the log of the connection's database ends as the engine says it, empty when it does not: the
// same text as long as nothing is written to the log.
func ReadLogMark(ctx context.Context, q Querier) (mark string, err error) {
	err = q.Query(ctx, tsql.LogEnd(), func(r Row) error {
		var fork string
		return r.Scan(&mark, &fork)
	})
	return mark, err
}

func readLogEnd(end *[]byte, fork *string) read {
	return read{tsql.LogEnd(), func(r Row) error {
		var text string
		err := r.Scan(&text, fork)
		if number, bad := hex.DecodeString(strings.ReplaceAll(text, ":", "")); bad == nil && len(number) == sequenceNumber {
			*end = number
		}
		return err
	}}
}

// TableDigest is how many rows a table has, and two sums over a hash of each (tsql.TableDigest), as decimal numbers.
type TableDigest struct {
	Rows       int64
	Sum, Other string
}

// ReadTableDigest reads all rows of a table of the connection's database.
func ReadTableDigest(
	ctx context.Context,
	q Querier,
	schema, table string,
	columns []tsql.TypedColumn,
) (TableDigest, error) {
	var d TableDigest
	err := q.Query(
		ctx,
		tsql.TableDigest(schema, table, columns),
		func(r Row) error { return r.Scan(&d.Rows, &d.Sum, &d.Other) },
	)
	return d, err
}

// ReadTableRows counts the rows of a table of the connection's database.
func ReadTableRows(ctx context.Context, q Querier, schema, table string) (rows int64, err error) {
	err = q.Query(ctx, tsql.TableRows(schema, table), func(r Row) error { return r.Scan(&rows) })
	return rows, err
}

// ReadColumnTypes reads the type of each column of a table of the connection's database, by the column's name in lower
// case; empty when there is no such table.
func ReadColumnTypes(ctx context.Context, q Querier, schema, table string) (map[string]tsql.TypedColumn, error) {
	columns := map[string]tsql.TypedColumn{}
	err := q.Query(ctx, tsql.ColumnTypes(schema, table), func(r Row) error {
		var c tsql.TypedColumn
		err := r.Scan(&c.Name, &c.Type)
		columns[strings.ToLower(c.Name)] = c
		return err
	})
	return columns, err
}

// ReadPending reads how many commands wait for a subscription and in how many seconds they may be delivered.
func ReadPending(ctx context.Context, q Querier, s tsql.Statement) (commands, seconds int64, err error) {
	err = q.Query(ctx, s, func(r Row) error { return scanFirst(r, &commands, &seconds) })
	return commands, seconds, err
}

// TokenLatency is how long a tracer token took to a subscription, in seconds; nil has not arrived.
type TokenLatency struct {
	ToDistributor, DistributorToSubscriber, Overall *int64
}

// Token is a tracer token.
type Token struct {
	// Posted is when it was committed, in the publisher's local time taken as UTC.
	Posted time.Time
	// Latency to the subscription that was asked for.
	Latency TokenLatency
}

// ReadTokens reads the newest tracer tokens of a publication from its distribution database, the newest first, with how
// far each is at the subscription of a distribution agent.
func ReadTokens(
	ctx context.Context,
	q Querier,
	publisher, database, publication string,
	agent int,
) ([]Token, error) {
	var all []Token
	err := q.Query(ctx, tsql.TracerTokens(publisher, database, publication, agent), func(r Row) error {
		var one Token
		var distributor, subscriber, overall sql.NullInt64
		err := r.Scan(&one.Posted, &distributor, &subscriber, &overall)
		one.Latency = TokenLatency{known(distributor), known(subscriber), known(overall)}
		all = append(all, one)
		return err
	})
	return all, err
}

// ReadLocalTime reads a server's local time, taken as UTC, and by how much it is ahead of that.
func ReadLocalTime(ctx context.Context, q Querier) (now time.Time, ahead time.Duration, err error) {
	err = q.Query(ctx, tsql.LocalTime(), func(r Row) error {
		var minutes int
		err := r.Scan(&now, &minutes)
		ahead = time.Duration(minutes) * time.Minute
		return err
	})
	return now, ahead, err
}
