// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// applyNewest applies the newest snapshot of an article. When its files cannot be read because another one has taken
// its place meanwhile, that one is applied.
func (d *delivery) applyNewest(ctx context.Context, a *subscribedArticle) error {
	if err := d.skipToNewest(ctx, a); err != nil {
		return err
	}
	for {
		failed, seqno := d.applySnapshot(ctx, *a), a.seqno
		if NumberOf(failed) != fileUnreadable {
			return failed
		}
		if err := d.skipToNewest(ctx, a); err != nil {
			return err
		}
		if string(a.seqno) == string(seqno) {
			return failed
		}
	}
}

// skipToNewest makes the newest snapshot of an article the one to apply.
func (d *delivery) skipToNewest(ctx context.Context, a *subscribedArticle) error {
	if !a.snapshot {
		return nil
	}
	newest, err := d.distConn.Query(ctx, "EXEC sp_MSskip_to_snapshot @agent_id = @p1, @article_id = @p2", d.agentID, a.id)
	if err != nil {
		return err
	}
	if len(newest) == 0 {
		return sqlerr.Raise(21074, 2) // it was taken away, or is to be initialized again, since its state was read
	}
	a.seqno = newest.raw(0, "subscription_seqno")
	return nil
}

// fileUnreadable is the error of a snapshot file that is not there.
const fileUnreadable = 20143

// applySnapshot applies one article's snapshot, with the changes that other articles of the subscription are ahead of
// it, in one transaction of the subscriber.
func (d *delivery) applySnapshot(ctx context.Context, a subscribedArticle) error {
	d.note(ctx, stored.RunInProgress, fmt.Sprintf("Applying the snapshot of article '%s'.", a.name))
	files, err := d.distConn.Query(
		ctx,
		"EXEC sp_MSget_snapshot_commands @publisher_database_id = @p1, @xact_seqno = @p2, @article_id = @p3",
		d.database,
		a.seqno,
		a.id,
	)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return sqlerr.Raise(21074, 1) // its snapshot was cleaned up: it has to be reinitialized
	}
	list, err := snapshotPaths(files)
	if err != nil {
		return err
	}
	if err := d.snapshotScript(ctx, a.seqno, stored.CommandPreScript); err != nil {
		return err
	}
	if err := d.subscriber.exec(ctx, "BEGIN TRANSACTION"); err != nil {
		return err
	}
	err = d.applyFiles(ctx, a, list)
	if err == nil && !d.snapshotOnly && len(d.last) > 0 && string(a.seqno) < string(d.last) {
		_, err = d.apply(ctx, a.seqno, d.last, fmt.Sprintf(",%d,", a.id), false)
	}
	if err == nil {
		session := stored.ProgressToken(d.args.str("-Publisher"), d.args.str("-PublisherDB"), d.args.str("-Publication"))
		err = d.subscriber.exec(
			ctx,
			`DELETE FROM dbo.MSsnapshotdeliveryprogress WHERE session_token = @p1 AND progress_token LIKE @p2;
			INSERT INTO dbo.MSsnapshotdeliveryprogress VALUES (@p1, 0, @p3, GETDATE()); COMMIT TRANSACTION`,
			session,
			fmt.Sprintf("article %d: %%", a.id),
			a.token(),
		)
	}
	if err != nil {
		d.subscriber.rollback(ctx)
		return fmt.Errorf("apply the snapshot of article '%s': %w", a.name, err)
	}
	return nil
}

type snapshotPath struct {
	kind int64
	path string
}

func snapshotPaths(files Rows) ([]snapshotPath, error) {
	var out []snapshotPath
	var whole []byte
	for i := range files {
		whole = append(whole, files.raw(i, "command")...)
		if files.flag(i, "partial_command") {
			continue
		}
		path, _, err := stored.DecodeCommand(whole)
		if err != nil {
			return nil, err
		}
		out = append(out, snapshotPath{files.num(i, "type"), path})
		whole = nil
	}
	return out, nil
}

func (d *delivery) applyFiles(ctx context.Context, a subscribedArticle, files []snapshotPath) error {
	for _, f := range files {
		if f.kind == stored.CommandInline {
			if err := runScript(ctx, d.subscriber, f.path); err != nil {
				return err
			}
			continue
		}
		path := d.snapshotPlace(f.path)
		content, err := d.runner.readSnapshotFile(path)
		if err != nil {
			return err
		}
		if f.kind == stored.CommandData {
			err = d.copyRows(ctx, a, content)
		} else {
			err = runScript(ctx, d.subscriber, string(content))
		}
		if err != nil {
			return fmt.Errorf("file '%s': %w", path, err)
		}
	}
	return nil
}

// snapshotPlace is where the agent looks for a file: in the alternate folder that its command line or the subscription
// names.
func (d *delivery) snapshotPlace(path string) string {
	alt := d.args.str("-AltSnapshotFolder")
	if alt == "" {
		alt = d.altFolder
	}
	if i := strings.LastIndex(path, "/unc/"); alt != "" && i >= 0 {
		return slashed(alt) + path[i:]
	}
	return path
}

// runScript runs the batches of a script, which are separated by lines that say GO.
func runScript(ctx context.Context, to *Conn, script string) error {
	for _, b := range strings.Split(script, "\nGO\n") {
		if strings.TrimSpace(b) == "" {
			continue
		}
		if err := to.exec(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// copyRows inserts a data file's rows.
func (d *delivery) copyRows(ctx context.Context, a subscribedArticle, content []byte) error {
	table := stored.TwoPart(a.owner, a.object)
	names, content, err := dataHeader(content)
	if err != nil {
		return err
	}
	found, err := d.subscriber.Query(
		ctx,
		"SELECT c.name FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(@p1) AND c.is_identity = 1",
		table,
	)
	if err != nil {
		return err
	}
	identity := len(found) > 0
	if identity {
		if err := d.subscriber.exec(ctx, "SET IDENTITY_INSERT "+table+" ON"); err != nil {
			return err
		}
	}
	perRequest := min(max(maxParameters/len(names), 1), 200, max(d.args.num("-BcpBatchSize", 100000), 1))
	var values []any
	row, size := 0, 0
	copied, noted, every := 0, 0, d.args.num("-BcpBatchSize", 100000)
	for len(content) > 0 {
		before := len(content)
		for range names {
			var v any
			if v, content, err = stored.ReadValue(content); err != nil {
				return err
			}
			values = append(values, v)
		}
		row++
		size += before - len(content)
		if row == perRequest || size > 256<<10 || len(content) == 0 {
			if err := d.subscriber.exec(ctx, insertRows(table, names, row), values...); err != nil {
				return err
			}
			copied += row
			values, row, size = values[:0], 0, 0
			if every > 0 && copied-noted >= every {
				noted = copied
				d.note(ctx, stored.RunInProgress, fmt.Sprintf("Bulk copied data into table '%s' (%d rows).", a.object, copied))
			}
		}
	}
	if identity {
		return d.subscriber.exec(ctx, "SET IDENTITY_INSERT "+table+" OFF")
	}
	return nil
}

// insertRows is the statement that inserts so many rows, with a parameter for each value.
func insertRows(table string, names []string, rows int) string {
	return "INSERT INTO " + table + " (" + strings.Join(names, ",") + ") VALUES " + RowsOfParameters(rows, len(names))
}

// RowsOfParameters is what follows VALUES: so many rows of so many parameters, from @p1 on.
func RowsOfParameters(rows, columns int) string {
	var b strings.Builder
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('(')
		for j := range columns {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString("@p" + strconv.Itoa(i*columns+j+1))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// dataHeader reads the names of the columns at the beginning of a data file, in brackets.
func dataHeader(content []byte) (names []string, rest []byte, err error) {
	v, content, err := stored.ReadValue(content)
	if err != nil {
		return nil, nil, err
	}
	n, ok := v.(int64)
	if !ok || n < 1 || n > 4096 {
		return nil, nil, errors.New("the file does not begin with the number of its columns")
	}
	for range n {
		if v, content, err = stored.ReadValue(content); err != nil {
			return nil, nil, err
		}
		name, _ := v.(string)
		names = append(names, syntax.QuoteName(name))
	}
	return names, content, nil
}
