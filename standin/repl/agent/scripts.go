// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"geosql.dev/standin/repl/stored"
)

// A publication's scripts run once for each snapshot, before the first and after the last of its articles. They are to
// be repeatable, the documents say: an agent that is killed within one runs it again
// (docs/relational-databases/replication/snapshot-options.md, "Execute scripts before and after snapshot is applied").

// scriptToken marks in MSsnapshotdeliveryprogress that a script was run.
func scriptToken(kind int64, seqno []byte) string {
	if kind == stored.CommandPreScript {
		return fmt.Sprintf("pre-snapshot script: snapshot %x", seqno)
	}
	return fmt.Sprintf("post-snapshot script: snapshot %x", seqno)
}

// snapshotScript runs a snapshot's script of a kind at the subscriber, unless it was run.
func (d *delivery) snapshotScript(ctx context.Context, seqno []byte, kind int64) error {
	token := scriptToken(kind, seqno)
	if d.have[token] {
		return nil
	}
	files, err := d.distConn.Query(
		ctx,
		"EXEC sp_MSget_snapshot_commands @publisher_database_id = @p1, @xact_seqno = @p2, @article_id = 0",
		d.database,
		seqno,
	)
	if err != nil {
		return err
	}
	list, err := snapshotPaths(files)
	if err != nil {
		return err
	}
	ran := false
	for _, f := range list {
		if f.kind != kind {
			continue
		}
		ran = true
		path := d.snapshotPlace(f.path)
		content, err := d.runner.readSnapshotFile(path)
		if err != nil {
			return err
		}
		d.note(ctx, stored.RunInProgress, fmt.Sprintf("Applying the script '%s'.", path[strings.LastIndex(path, "/")+1:]))
		for _, b := range Batches(string(content)) {
			if err := d.subscriber.exec(ctx, b); err != nil {
				return fmt.Errorf("run the script '%s': %w", path, err)
			}
		}
	}
	d.have[token] = true
	if !ran {
		return nil
	}
	session := stored.ProgressToken(d.args.str("-Publisher"), d.args.str("-PublisherDB"), d.args.str("-Publication"))
	return d.subscriber.exec(
		ctx,
		`IF NOT EXISTS (SELECT 1 FROM dbo.MSsnapshotdeliveryprogress WHERE session_token = @p1 AND progress_token = @p2)
		INSERT INTO dbo.MSsnapshotdeliveryprogress VALUES (@p1, 0, @p2, GETDATE())`,
		session,
		token,
	)
}

// afterSnapshots runs the scripts of the snapshots that are applied with all of their articles.
func (d *delivery) afterSnapshots(ctx context.Context) error {
	whole := map[string]bool{}
	for _, a := range d.articles {
		if a.snapshot && a.status == stored.Activated {
			before, seen := whole[string(a.seqno)]
			whole[string(a.seqno)] = (before || !seen) && d.applied[a.id]
		}
	}
	if d.scripted == nil {
		d.scripted = map[string]bool{}
	}
	for seqno, applied := range whole {
		if !applied || d.scripted[seqno] {
			continue
		}
		if err := d.snapshotScript(ctx, []byte(seqno), stored.CommandPostScript); err != nil {
			return err
		}
		d.scripted[seqno] = true
	}
	return nil
}

// maxScript bounds a script, which is in memory and in one record of the log as a whole.
const maxScript = 64 << 20

// ReadScript reads a script for sqlcmd, which may begin with a mark that tells its encoding
// (docs/tools/sqlcmd/sqlcmd-utility.md, -f: Unicode input files are recognised).
func (a *Runner) ReadScript(path string) (string, error) {
	local, err := a.localPath(path)
	if err != nil {
		return "", err
	}
	fail := func(err error) (string, error) { return "", fmt.Errorf("read the script '%s': %w", path, err) }
	info, err := os.Stat(local)
	switch {
	case err != nil:
		return fail(err)
	case !info.Mode().IsRegular():
		return fail(errors.New("it is no file"))
	case info.Size() > maxScript:
		return fail(fmt.Errorf("it has more than %d bytes", maxScript))
	}
	content, err := os.ReadFile(local)
	if err == nil {
		content, _, err = transform.Bytes(unicode.BOMOverride(encoding.Nop.NewDecoder()), content)
	}
	if err != nil {
		return fail(err)
	}
	return string(content), nil
}

var goLine = regexp.MustCompile(`(?mi)^[ \t]*GO[ \t]*;?[ \t]*\r?$`)

// Batches are those of a script for sqlcmd: GO on a line of its own ends one.
func Batches(script string) []string {
	var out []string
	for _, b := range goLine.Split(strings.TrimPrefix(script, "\ufeff"), -1) {
		if strings.TrimSpace(b) != "" {
			out = append(out, b)
		}
	}
	return out
}
