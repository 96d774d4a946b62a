// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage/disk"
)

// Manifest is manifest.json of a snapshot's folder, written last: a copy of the folder is whole when all files are
// there with these sizes and checksums.
type Manifest struct {
	Publisher   string `json:"publisher"`
	PublisherDB string `json:"publisherDB"`
	Publication string `json:"publication"`
	// Position is the commit up to which the snapshot has the changes, in hexadecimal digits.
	Position string         `json:"position"`
	Files    []ManifestFile `json:"files"`
}

// ManifestFile is a file of a snapshot.
type ManifestFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// runSnapshot is the Snapshot Agent: it writes the published tables into files, and the commands to apply them into the
// distribution database.
func (a *Runner) runSnapshot(ctx context.Context, commandLine string) (string, error) {
	r, end, err := a.beginAgent("snapshot", "Snapshot", commandLine)
	if err != nil {
		return "", err
	}
	defer end()
	n, err := r.snapshot(ctx)
	if err != nil || ctx.Err() != nil {
		return r.finish(ctx, err)
	}
	message := fmt.Sprintf("[100%%] A snapshot of %d article(s) was generated.", n)
	if n == 0 {
		message = "[0%] A snapshot was not generated because no subscriptions needed initialization."
	}
	r.note(ctx, stored.RunSucceeded, message)
	return message, nil
}

func (r *agentRun) snapshot(ctx context.Context) (int, error) {
	if err := r.connectDistributor(ctx); err != nil {
		return 0, err
	}
	publisher, db, publication := r.args.str("-Publisher"), r.args.str("-PublisherDB"), r.args.str("-Publication")
	state, err := r.distConn.Query(
		ctx,
		"EXEC sp_MSget_snapshot_agent @publisher = @p1, @publisher_db = @p2, @publication = @p3",
		publisher,
		db,
		publication,
	)
	if err != nil {
		return 0, err
	}
	r.history, r.agentID = "sp_MSadd_snapshot_history", state.num(0, "agent_id")
	if err := r.readProfile(ctx, stored.SnapshotAgent, state.num(0, "profile_id")); err != nil {
		return 0, err
	}
	if err := r.useStored("Publisher", state, "publisher"); err != nil {
		return 0, err
	}
	r.note(ctx, stored.RunStarted, "Starting agent.")
	names, ids := waitingArticles(state)
	if len(ids) == 0 {
		return 0, nil
	}
	source, err := r.connectPublisher(ctx)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	waits := aside{run: r}
	defer waits.close()
	defer r.keepAlive(ctx, source, &waits)()
	places, err := r.readPlaces(ctx, source, publication)
	if err != nil {
		return 0, err
	}
	if places.InDefault {
		if err := r.runner.RequireDirectory(r.directory); err != nil {
			return 0, err
		}
	}
	folder, local, made, err := r.newFolder(ctx, places.first(r.directory), folderName(publisher, db, publication))
	if err != nil {
		return 0, err
	}
	w := &snapshotWriter{
		folder:   local,
		names:    names,
		manifest: Manifest{Publisher: publisher, PublisherDB: db, Publication: publication},
	}
	if err := r.copyScripts(w, places); err != nil {
		return 0, err
	}
	if err := w.receive(ctx, source, publication, strings.Join(ids, ",")); err != nil {
		return 0, fmt.Errorf("write the snapshot: %w", err)
	}
	if err := r.putAside(places, folder, local); err != nil {
		return 0, err
	}
	var commands strings.Builder
	for _, f := range w.files {
		fmt.Fprintf(&commands, "%d %d %s/%s\n", f.article, f.kind, folder, f.name)
	}
	// The snapshot comes after the commit that it has last, before the next one, and after older ones of the same commit.
	seqno := binary.BigEndian.AppendUint32(append(append([]byte{}, w.position...), 1), uint32(made.Unix()))
	if err := r.distConn.exec(ctx,
		"EXEC sp_MSadd_snapshot @publisher = @p1, @publisher_db = @p2, @publication = @p3, @xact_seqno = @p4, "+
			"@commands = @p5", publisher, db, publication, seqno, commands.String()); err != nil {
		return 0, err
	}
	r.delivered.transactions, r.delivered.commands = 1, int64(len(w.files))
	return len(ids), source.exec(ctx, "EXEC sp_MSset_snapshot_done @publication = @p1, @articles = @p2", publication,
		strings.Join(ids, ","))
}

// waitingArticles are the articles that wait for a snapshot, with the names of their objects.
func waitingArticles(state Rows) (names map[int64]string, ids []string) {
	names = map[int64]string{}
	for i := range state {
		if id := state.num(i, "article_id"); id != 0 {
			names[id] = state.Str(i, "destination_object")
			ids = append(ids, fmt.Sprint(id))
		}
	}
	return names, ids
}

// snapshotFile is a file of a snapshot, as its command names it.
type snapshotFile struct {
	article int64
	kind    int
	name    string
}

// snapshotWriter writes a snapshot's files while the publisher streams it.
type snapshotWriter struct {
	folder   string
	names    map[int64]string
	manifest Manifest
	position []byte
	files    []snapshotFile

	file *os.File
	sum  hash.Hash
	size int64
}

func (w *snapshotWriter) receive(ctx context.Context, source *Conn, publication, articles string) (err error) {
	defer source.answered()
	source.asks()
	rows, err := source.c.QueryContext(
		ctx,
		"EXEC sp_MSget_snapshot @publication = @p1, @articles = @p2",
		publication,
		articles,
	)
	if err != nil {
		return source.explain(err)
	}
	defer rows.Close()
	defer func() {
		if w.file != nil {
			w.file.Close()
		}
	}()
	for rows.Next() {
		source.asks()
		var part, article int64
		var data []byte
		if err := rows.Scan(&part, &article, &data); err != nil {
			return source.explain(err)
		}
		if err := w.take(int(part), article, data); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return source.explain(err)
	}
	if w.position == nil {
		return fmt.Errorf("the Publisher gave no position")
	}
	if err := w.close(); err != nil {
		return err
	}
	w.manifest.Position = hex.EncodeToString(w.position)
	text, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(w.folder, "manifest.json"), text, 0o660)
}

func (w *snapshotWriter) take(part int, article int64, data []byte) error {
	if part == stored.PartPosition {
		w.position = append([]byte{}, data...)
		return nil
	}
	kind, suffix := stored.CommandScript, ".sch"
	switch part {
	case stored.PartData:
		kind, suffix = stored.CommandData, ".bcp"
	case stored.PartIndexes:
		kind, suffix = stored.CommandIndexes, ".idx"
	}
	name := fmt.Sprintf("%s_%d%s", folderName(w.names[article]), article, suffix)
	if len(w.files) == 0 || w.files[len(w.files)-1].name != name {
		if err := w.open(snapshotFile{article: article, kind: kind, name: name}); err != nil {
			return err
		}
	}
	return w.write(data)
}

func (w *snapshotWriter) write(data []byte) error {
	w.sum.Write(data)
	w.size += int64(len(data))
	_, err := w.file.Write(data)
	return err
}

func (w *snapshotWriter) open(f snapshotFile) error {
	if err := w.close(); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(w.folder, f.name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o660)
	if err != nil {
		return err
	}
	w.file, w.sum, w.size = file, sha256.New(), 0
	w.files = append(w.files, f)
	return nil
}

func (w *snapshotWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Sync()
	if e := w.file.Close(); err == nil {
		err = e
	}
	w.file = nil
	w.manifest.Files = append(
		w.manifest.Files,
		ManifestFile{Name: w.files[len(w.files)-1].name, Bytes: w.size, SHA256: hex.EncodeToString(w.sum.Sum(nil))},
	)
	return err
}
