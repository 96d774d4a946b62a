// SPDX-License-Identifier: Apache-2.0

//go:build drivers

package drivers_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/shopspring/decimal"
)

// goChecks are the checks of go-mssqldb.
type goChecks struct {
	s     *server
	db    *sql.DB
	ctx   context.Context
	cases []typeCase
}

// goDriver runs the checks with go-mssqldb.
func goDriver(t *testing.T, s *server) results {
	out := results{checks: map[string]result{}, skips: map[string]string{}}
	t.Run("go-mssqldb", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), driverWithin)
		defer cancel()
		g := &goChecks{s: s, db: s.database(t, "go"), ctx: ctx, cases: typeCases(t)}
		for name, check := range map[string]func() error{
			"tls_optional":           func() error { return g.encrypted("false", "FALSE") },
			"tls_required":           func() error { return g.encrypted("true", "TRUE") },
			"tls_strict":             func() error { return g.encrypted("strict", "TRUE") },
			"types":                  g.types,
			"parameters_by_position": g.byPosition, "parameters_by_name": g.byName, "output_parameters": g.outputs,
			"result_sets": g.resultSets,
			"prepared":    g.prepared, "bulk": g.bulk, "transactions": g.transactions, "cancel": g.cancel,
			"pool_reset":      g.poolReset,
			"error_mid_batch": g.errorMidBatch, "messages": g.messages, "packet_sizes": g.packetSizes,
		} {
			r := result{Check: name, Result: "pass"}
			if err := check(); err != nil {
				r.Result = "fail"
				t.Errorf("%s: %v", name, err)
			}
			out.checks[name] = r
		}
		out.checks["cursors"] = result{Check: "cursors", Result: "absent", Detail: "no server cursors"}
		out.checks["mars"] = result{Check: "mars", Result: "absent", Detail: "one statement of a connection at a time"}
		for _, wrong := range judge(t, g.db, nil) {
			t.Errorf("types: %s", wrong)
		}
	})
	return out
}

func same(got, want any) error {
	if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
		return fmt.Errorf("got %.300s, not %.300s", a, b)
	}
	return nil
}

// row reads one row as Go values.
func (g *goChecks) row(q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, text string, args ...any) ([]any, error) {
	rows, err := q.QueryContext(g.ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	if !rows.Next() {
		return nil, errors.Join(errors.New("no row"), rows.Err())
	}
	if err := rows.Scan(pointers...); err != nil {
		return nil, err
	}
	return values, rows.Err()
}

func (g *goChecks) expect(q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, want []any, text string, args ...any) error {
	got, err := g.row(q, text, args...)
	if err != nil {
		return err
	}
	return same(got, want)
}

func (g *goChecks) encrypted(mode, want string) error {
	db, err := sql.Open("sqlserver", g.s.dsn("go", map[string]string{"encrypt": mode}))
	if err != nil {
		return err
	}
	defer db.Close()
	return g.expect(db, []any{want}, "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID")
}

func (g *goChecks) types() error {
	for _, c := range g.cases {
		v, err := g.row(g.db, "SELECT "+c.SQL)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		want := c.Text
		if c.Times > 0 {
			want = strings.Repeat(c.Repeat, c.Times)
		}
		if got := goCanonical(c, v[0]); got != want {
			return fmt.Errorf("%s reads %.80s", c.Name, got)
		}
		for _, value := range []any{goParameter(c, v[0]), goParameter(c, nil)} {
			if _, err := g.db.ExecContext(g.ctx, "INSERT INTO dbo.[back_"+c.Name+"] (c) VALUES (@p1)", value); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
		}
	}
	return nil
}

// goCanonical is a value as types.json writes it.
func goCanonical(c typeCase, v any) string {
	switch x := v.(type) {
	case time.Time:
		layouts := map[string]string{"date": "2006-01-02", "time": "15:04:05.0000000",
			"datetime": "2006-01-02 15:04:05.0000000", "datetimeoffset": "2006-01-02 15:04:05.0000000 -07:00"}
		return x.Format(layouts[c.Kind])
	case []byte:
		switch c.Kind {
		case "binary":
			return fmt.Sprintf("%x", x)
		case "guid":
			var id mssql.UniqueIdentifier
			if err := id.Scan(x); err != nil {
				return err.Error()
			}
			return id.String()
		}
		return string(x)
	case bool:
		if x {
			return "1"
		}
		return "0"
	case float64:
		if c.Kind == "real" {
			return strings.Replace(fmt.Sprintf("%v", float32(x)), "e", "E", 1)
		}
		return strings.Replace(fmt.Sprintf("%v", x), "e", "E", 1)
	}
	return fmt.Sprint(v)
}

// goParameter is a value as the driver wants it for a type.
func goParameter(c typeCase, v any) any {
	if v == nil {
		switch c.Kind {
		case "binary":
			return []byte(nil)
		}
		return nil
	}
	switch x := v.(type) {
	case []byte:
		switch c.Kind {
		case "decimal":
			return decimal.RequireFromString(string(x))
		case "guid":
			var id mssql.UniqueIdentifier
			_ = id.Scan(x)
			return id
		}
	case string:
		// The driver sends the bytes of a VarChar as they are, in UTF-8.
		if c.Name != "varchar_latin" && (strings.HasPrefix(c.Type, "varchar") || strings.HasPrefix(c.Type, "char")) {
			return mssql.VarChar(x)
		}
	case time.Time:
		switch c.Type {
		case "datetime", "smalldatetime":
			return mssql.DateTime1(x)
		}
		if c.Kind == "datetimeoffset" {
			return mssql.DateTimeOffset(x)
		}
	}
	return v
}

func (g *goChecks) byPosition() error {
	return g.expect(g.db, []any{42, "x'y"}, "SELECT @p1 - @p2, @p3", 50, 8, "x'y")
}

func (g *goChecks) byName() error {
	return errors.Join(
		g.expect(g.db, []any{42, "x'y"}, "SELECT @a - @b, @t", sql.Named("b", 8), sql.Named("t", "x'y"), sql.Named("a", 50)),
		g.expect(g.db, []any{7, "by default"}, "dbo.p_name", sql.Named("number", 7)),
	)
}

func (g *goChecks) outputs() error {
	number, text := int64(0), "𠮷"
	var status mssql.ReturnStatus
	_, err := g.db.ExecContext(
		g.ctx,
		"dbo.p_out",
		sql.Named("in", 21),
		sql.Named("out", sql.Out{Dest: &number}),
		sql.Named("text", sql.Out{Dest: &text, In: true}),
		&status,
	)
	return errors.Join(err, same([]any{status, number, text}, []any{7, 42, "grüße 𠮷"}))
}

func (g *goChecks) resultSets() error {
	rows, err := g.db.QueryContext(g.ctx, "EXEC dbo.p_sets")
	if err != nil {
		return err
	}
	defer rows.Close()
	var counts []int
	for more := true; more; more = rows.NextResultSet() {
		n := 0
		for rows.Next() {
			n++
		}
		counts = append(counts, n)
	}
	return errors.Join(rows.Err(), same(counts, []int{2, 1, 0}))
}

func (g *goChecks) prepared() error {
	if _, err := g.db.ExecContext(g.ctx, "DELETE FROM dbo.loaded"); err != nil {
		return err
	}
	st, err := g.db.PrepareContext(g.ctx, "INSERT INTO dbo.loaded (id, name) VALUES (@p1, @p2)")
	if err != nil {
		return err
	}
	defer st.Close()
	for i := range 100 {
		if _, err := st.ExecContext(g.ctx, i, sql.NullString{String: "n", Valid: i%2 == 0}); err != nil {
			return err
		}
	}
	return g.expect(g.db, []any{100, 50, 4950}, "SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded")
}

func (g *goChecks) bulk() error {
	if _, err := g.db.ExecContext(g.ctx, "DELETE FROM dbo.loaded"); err != nil {
		return err
	}
	st, err := g.db.PrepareContext(g.ctx, mssql.CopyIn("dbo.loaded", mssql.BulkOptions{}, "id", "name"))
	if err != nil {
		return err
	}
	defer st.Close()
	for i := range 5000 {
		var name any
		if i%10 != 0 {
			name = fmt.Sprintf("row %d 😀", i)
		}
		if _, err := st.ExecContext(g.ctx, i, name); err != nil {
			return err
		}
	}
	if _, err := st.ExecContext(g.ctx); err != nil {
		return err
	}
	return errors.Join(
		g.expect(g.db, []any{5000, 4500, 12497500}, "SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded"),
		g.expect(g.db, []any{"row 4999 😀"}, "SELECT name FROM dbo.loaded WHERE id = 4999"),
	)
}

func (g *goChecks) transactions() error {
	run := func(end func(*sql.Tx) error, statements ...string) error {
		tx, err := g.db.BeginTx(g.ctx, nil)
		if err != nil {
			return err
		}
		for _, text := range statements {
			if _, err := tx.ExecContext(g.ctx, text); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		return end(tx)
	}
	_, err := g.db.ExecContext(g.ctx, "DELETE FROM dbo.loaded")
	return errors.Join(
		err,
		run((*sql.Tx).Rollback, "INSERT INTO dbo.loaded (id) VALUES (1)"),
		run(
			(*sql.Tx).Commit,
			"INSERT INTO dbo.loaded (id) VALUES (2)",
			"SAVE TRANSACTION kept",
			"INSERT INTO dbo.loaded (id) VALUES (3)",
			"ROLLBACK TRANSACTION kept",
		),
		g.expect(g.db, []any{1, 2}, "SELECT COUNT(*), MIN(id) FROM dbo.loaded"),
	)
}

func (g *goChecks) cancel() error {
	c, err := g.db.Conn(g.ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	spid, err := g.row(c, "SELECT @@SPID")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := c.ExecContext(ctx, "WAITFOR DELAY '00:02:00'")
		ended <- err
	}()
	for waiting := false; !waiting; {
		n, err := g.row(
			g.db,
			"SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR' AND session_id = @p1",
			spid[0],
		)
		if err != nil {
			return err
		}
		waiting = fmt.Sprint(n[0]) == "1"
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the cancelled statement ended with %w", err)
	}
	return g.expect(c, spid, "SELECT @@SPID")
}

func (g *goChecks) poolReset() error {
	db, err := sql.Open("sqlserver", g.s.dsn("go", nil))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	spid, err := g.row(db, "SELECT @@SPID")
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(g.ctx,
		"CREATE TABLE #left (id int); SET LOCK_TIMEOUT 1234; USE master; BEGIN TRANSACTION; INSERT INTO #left "+
			"(id) VALUES (1)"); err != nil {
		return err
	}
	return g.expect(
		db,
		[]any{spid[0], nil, 0, -1, "go"},
		"SELECT @@SPID, OBJECT_ID('tempdb..#left'), @@TRANCOUNT, @@LOCK_TIMEOUT, DB_NAME()",
	)
}

func (g *goChecks) errorMidBatch() error {
	rows, err := g.db.QueryContext(g.ctx, "SELECT 1 AS a; INSERT INTO dbo.keyed (id) VALUES (1); SELECT 2 AS b")
	if err != nil {
		return err
	}
	defer rows.Close()
	var first int
	if !rows.Next() {
		return errors.New("the result before the error is lost")
	}
	if err := rows.Scan(&first); err != nil {
		return err
	}
	for rows.Next() || rows.NextResultSet() {
	}
	var e mssql.Error
	if !errors.As(rows.Err(), &e) {
		return fmt.Errorf("no error: %w", rows.Err())
	}
	return errors.Join(
		same([]any{first, e.Number, e.Class, e.LineNo}, []any{1, 2627, 14, 1}),
		rows.Close(),
		g.expect(g.db, []any{1}, "SELECT COUNT(*) FROM dbo.keyed"),
	)
}

func (g *goChecks) messages() error {
	said := &sqlexp.ReturnMessage{}
	rows, err := g.db.QueryContext(g.ctx, "EXEC dbo.p_messages; EXEC dbo.p_raises", said)
	if err != nil {
		return err
	}
	defer rows.Close()
	var texts []string
	for active := true; active; {
		switch m := said.Message(g.ctx).(type) {
		case sqlexp.MsgNotice:
			texts = append(texts, m.Message.String())
		case sqlexp.MsgError:
			var e mssql.Error
			if !errors.As(m.Error, &e) {
				return m.Error
			}
			texts = append(texts, fmt.Sprintf("%d %d %d %s", e.Number, e.Class, e.State, strings.TrimPrefix(e.ProcName, "dbo.")))
		case sqlexp.MsgNextResultSet:
			active = rows.NextResultSet()
		}
	}
	want := []string{"printed ä", "informed 42", "50000 16 3 p_raises"}
	if !slices.Equal(texts, want) {
		return fmt.Errorf("messages %q", texts)
	}
	return nil
}

func (g *goChecks) packetSizes() error {
	long := strings.Repeat("é", 300000)
	for _, size := range []int{512, 4096, 32767} {
		// With TLS the driver would take no packet of the handshake above its own size.
		db, err := sql.Open(
			"sqlserver",
			g.s.dsn("go", map[string]string{"packet size": fmt.Sprint(size), "encrypt": "disable"}),
		)
		if err != nil {
			return err
		}
		err = errors.Join(g.expect(db, []any{300000, long}, "SELECT LEN(@p1), @p1", long),
			g.expect(db, []any{size}, "SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID"))
		db.Close()
		if err != nil {
			return fmt.Errorf("packet size %d: %w", size, err)
		}
	}
	return nil
}
