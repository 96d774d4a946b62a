// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// Validation compares a table with its article at one moment of the order of commits: a mark in the publisher's log
// carries what the table was then, and the Distribution Agent compares when it comes to that place.
// (docs/relational-databases/replication/validate-data-at-the-subscriber.md)

// markedTransaction is what sp_marksubscriptionvalidation said of a session's open transaction.
type markedTransaction struct {
	descriptor uint64
	// subscriptions are subscribers and databases, in turn, by pubid.
	subscriptions map[int64][]string
}

// markSubscription marks the open transaction: validations in it with @subscription_level = 1 are for the subscriptions
// that are named so (docs/relational-databases/system-stored-procedures/sp-marksubscriptionvalidation-transact-sql.md).
func (e *Extension) markSubscription(ctx context.Context, call *engine.ProcCall) error {
	s, subscriber, database := call.Session, call.String("@subscriber"), call.String("@destination_db")
	_, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if !s.InUserTransaction() {
		return raise(18774, 1, "sp_marksubscriptionvalidation")
	}
	r, err := s.Query(
		ctx,
		"SELECT TOP (1) s.srvname FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid WHERE "+
			"a.pubid = @p1 AND s.srvname = @p2 AND s.dest_db = @p3",
		pub.id,
		subscriber,
		database,
	)
	if err == nil && r.Len() == 0 {
		err = raise(14050, 1)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.marked[s]
	if m == nil || m.descriptor != s.InTransaction() {
		m = &markedTransaction{descriptor: s.InTransaction(), subscriptions: map[int64][]string{}}
		e.marked[s] = m
	}
	m.subscriptions[pub.id] = append(m.subscriptions[pub.id], subscriber, database)
	return nil
}

// markedFor are the subscriptions of a publication that the session's open transaction is marked for.
func (e *Extension) markedFor(s *engine.Session, pub int64) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.marked[s]; m != nil && m.descriptor == s.InTransaction() {
		return m.subscriptions[pub]
	}
	return nil
}

// The ways of sp_table_validation's @rowcount_only.
const (
	compareChecksum       = 0
	compareRowCount       = 1
	compareBinaryChecksum = 2
)

func (e *Extension) installValidation(r *engine.Registry) {
	e.procedure(r, "sp_publication_validation", owners, nil, e.validatePublication)
	e.procedure(r, "sp_article_validation", owners, nil, e.validateArticleCall)
	e.procedure(
		r,
		"sp_marksubscriptionvalidation",
		owners,
		[]engine.Parameter{
			{Name: "@publication", Type: sqltype.NVarCharOf(128), Required: true},
			{Name: "@subscriber", Type: sqltype.NVarCharOf(128), Required: true},
			{
				Name:     "@destination_db",
				Type:     sqltype.NVarCharOf(128),
				Required: true,
			},
			{Name: "@publisher", Type: sqltype.NVarCharOf(128)},
		},
		e.markSubscription,
	)
	e.procedure(r, "sp_table_validation", owners, []engine.Parameter{
		{Name: "@table", Type: sqltype.NVarCharOf(128), Required: true},
		{Name: "@expected_rowcount", Type: sqltype.BigIntType, Output: true},
		{Name: "@expected_checksum", Type: sqltype.BigIntType, Output: true},
		{Name: "@rowcount_only", Type: sqltype.SmallIntType, Default: int64(compareRowCount)},
		{Name: "@owner", Type: sqltype.NVarCharOf(128)},
		{Name: "@full_or_fast", Type: sqltype.TinyIntType, Default: int64(2)},
		{Name: "@shutdown_agent", Type: sqltype.BitType, Default: false},
		{Name: "@table_name", Type: sqltype.NVarCharOf(128)},
		{Name: "@column_list", Type: sqltype.NVarCharMax},
	}, e.validateTable)
}

// validationOptions checks the options that the three procedures have in common.
func validationOptions(call *engine.ProcCall) (way, method int64, err error) {
	way, method = call.Int("@rowcount_only"), call.Int("@full_or_fast")
	if way < compareChecksum || way > compareBinaryChecksum {
		return 0, 0, raise(21117, 1, way, "@rowcount_only")
	}
	if method < 0 || method > 2 {
		return 0, 0, raise(21117, 1, method, "@full_or_fast")
	}
	return way, method, nil
}

func (e *Extension) validatePublication(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if pub.snapshotOnly {
		return raise(21484, 1, pub.name)
	}
	list, err := e.articles(ctx, call.Session, p.db, "a.pubid = @p1 AND a.status & 1 = 1 AND a.type & 1 = 1", pub.id)
	if err != nil {
		return err
	}
	for _, a := range list {
		if err := e.validateArticle(ctx, call, p, a, article.Validation{}); err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) validateArticleCall(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if pub.snapshotOnly {
		return raise(21484, 1, pub.name)
	}
	a, err := e.findArticle(ctx, call.Session, p.db, pub, call.String("@article"))
	if err != nil {
		return err
	}
	if err := a.TablesOnly(); err != nil {
		return err
	}
	if !a.Active {
		return raise(20523, 1, a.Name)
	}
	v := article.Validation{Some: call.Bool("@subscription_level")}
	if v.Some {
		v.Subscriptions = e.markedFor(call.Session, pub.id)
	}
	return e.validateArticle(ctx, call, p, a, v)
}

// validateArticle counts and marks in one transaction, which keeps writers out: the log then has the mark exactly where
// the counts are true.
func (e *Extension) validateArticle(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	a *article.Article,
	v article.Validation,
) error {
	way, method, err := validationOptions(call)
	if err != nil {
		return err
	}
	s := call.Session
	columns := a.Names(a.Columns)
	var rows, sum int64
	err = s.Atomically(ctx, func() error {
		// The lock is taken before the rows are read.
		if err := s.Write(ctx, p.db, func(*storage.Tx) error { return nil }); err != nil {
			return err
		}
		table := bracket(p.db.Name()) + "." + stored.TwoPart(a.Schema, a.Table.Name)
		rows, sum, err = count(ctx, s, table, columns, a.Filter, way)
		if err != nil {
			return err
		}
		list := "NULL"
		if len(a.Columns) < len(a.Table.Table.Columns) {
			list = stored.Literal(columns)
		}
		text := fmt.Sprintf(
			"EXEC sp_table_validation @table = %s, @expected_rowcount = %d, @expected_checksum = %d, @rowcount_only = %d, "+
				"@full_or_fast = %d, @shutdown_agent = %d, @owner = %s, @column_list = %s",
			stored.Literal(a.DestTable),
			rows,
			sum,
			way,
			method,
			call.Int("@shutdown_agent"),
			stored.Literal(a.DestOwner),
			list,
		)
		v.Article, v.Text = a.ID, text
		payload, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return s.Write(ctx, p.db, func(tx *storage.Tx) error { tx.Mark(article.ValidationMark, payload); return nil })
	})
	if err != nil {
		return err
	}
	return call.Writer.Message(sqlerr.New(20579, 1, rows, sum, bracket(a.Table.Name)))
}

// count is the number of rows and, unless only that is compared, the checksum of a table's columns.
func count(
	ctx context.Context,
	s *engine.Session,
	table, columns, filter string,
	way int64,
) (rows, sum int64, err error) {
	function := map[int64]string{compareChecksum: "CHECKSUM", compareBinaryChecksum: "BINARY_CHECKSUM"}[way]
	text := "SELECT COUNT_BIG(*) AS rows, CAST(0 AS bigint) AS total FROM " + table
	if function != "" {
		text = "SELECT COUNT_BIG(*) AS rows, CAST(ISNULL(CHECKSUM_AGG(" + function + "(" + cmp.Or(
			columns,
			"*",
		) + ")), 0) AS bigint) AS total FROM " + table
	}
	if filter != "" {
		text += " WHERE " + filter
	}
	if !article.OneStatement(text) {
		return 0, 0, raise(21023, 1, "@column_list = N'"+columns+"'")
	}
	r, err := s.Query(ctx, text)
	if err != nil {
		return 0, 0, err
	}
	return r.Int(0, "rows"), r.Int(0, "total"), nil
}

// validateTable compares a table with what is expected, or says what to expect of it.
func (e *Extension) validateTable(ctx context.Context, call *engine.ProcCall) error {
	way, method, err := validationOptions(call)
	if err != nil {
		return err
	}
	name := call.String("@table_name")
	if name == "" {
		name = call.String("@table")
	}
	table := bracket(name)
	if owner := call.String("@owner"); owner != "" {
		table = stored.TwoPart(owner, name)
	}
	if ok, err := tables.Exists(ctx, call.Session, table); err != nil {
		return err
	} else if !ok {
		return raise(20522, 1, name)
	}
	rows, sum, err := count(ctx, call.Session, table, call.String("@column_list"), "", way)
	if err != nil {
		return err
	}
	if call.IsNull("@expected_rowcount") {
		call.SetOutput("@expected_rowcount", rows)
		call.SetOutput("@expected_checksum", sum)
		return call.Writer.Message(sqlerr.New(20579, 1, rows, sum, name))
	}
	wanted, wantedSum := call.Int("@expected_rowcount"), call.Int("@expected_checksum")
	fast := int64(0)
	if method != 0 {
		fast = 1
	}
	switch {
	case way == compareRowCount && rows == wanted:
		return call.Writer.Message(sqlerr.New(20526, 1, name, rows, fast))
	case way == compareRowCount:
		call.SetStatus(1)
		return call.Writer.Message(sqlerr.New(20524, 1, name, rows, wanted, fast))
	case rows == wanted && sum == wantedSum:
		return call.Writer.Message(sqlerr.New(20527, 1, name, rows))
	}
	call.SetStatus(1)
	return call.Writer.Message(sqlerr.New(20525, 1, name, rows, wanted, sum, wantedSum))
}
