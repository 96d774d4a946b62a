// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage/disk"
)

// snapshotPlaces says where a publication's snapshots go, and which scripts go with them
// (docs/relational-databases/replication/snapshot-options.md).
type snapshotPlaces struct {
	// inDefault puts them into the publisher's working directory, alt into another folder, packed when compress is set.
	inDefault bool
	alt       string
	compress  bool
	// pre and post are scripts that subscribers run before and after the snapshot.
	pre, post string
}

// givenPlaces are those of sp_addpublication: 21157 for compression without an alternate folder.
func givenPlaces(call *engine.ProcCall) (snapshotPlaces, error) {
	p := snapshotPlaces{
		inDefault: !call.Given("@snapshot_in_defaultfolder") || yes(call, "@snapshot_in_defaultfolder"),
		alt:       call.String("@alt_snapshot_folder"),
		compress: yes(
			call,
			"@compress_snapshot",
		),
		pre:  call.String("@pre_snapshot_script"),
		post: call.String("@post_snapshot_script"),
	}
	return p, p.check("sp_addpublication")
}

func (p snapshotPlaces) check(procedure string) error {
	switch {
	case p.compress && p.alt == "":
		return raise(21157, 1)
	case !p.inDefault && p.alt == "":
		return raise(14043, 1, "@alt_snapshot_folder", procedure)
	}
	return nil
}

const placesColumns = "snapshot_in_defaultfolder, alt_snapshot_folder, compress_snapshot, pre_snapshot_script, " +
	"post_snapshot_script"

// readPlaces asks the publisher.
func (r *agentRun) readPlaces(ctx context.Context, source *conn, publication string) (snapshotPlaces, error) {
	found, err := source.query(ctx, "SELECT "+placesColumns+" FROM dbo.syspublications WHERE name = @p1", publication)
	if err == nil && len(found) == 0 {
		err = raise(20026, 1, publication)
	}
	if err != nil {
		return snapshotPlaces{}, err
	}
	return snapshotPlaces{
		inDefault: found.flag(0, "snapshot_in_defaultfolder"),
		alt:       found.str(0, "alt_snapshot_folder"),
		compress:  found.flag(0, "compress_snapshot"),
		pre:       found.str(0, "pre_snapshot_script"),
		post:      found.str(0, "post_snapshot_script"),
	}, nil
}

// changePlaces is sp_changepublication for where snapshots go: the next one counts, so the one that is there must be
// given up (20607).
func (e *Extension) changePlaces(
	ctx context.Context,
	call *engine.ProcCall,
	pub publication,
	property, value string,
) error {
	s := call.Session
	r, err := s.Query(ctx, "SELECT "+placesColumns+" FROM dbo.syspublications WHERE pubid = @p1", pub.id)
	if err != nil {
		return err
	}
	p := snapshotPlaces{
		inDefault: r.Int(0, "snapshot_in_defaultfolder") == 1,
		alt:       r.String(0, "alt_snapshot_folder"),
		compress:  r.Int(0, "compress_snapshot") == 1,
	}
	stored := orNull(value)
	flag := strings.EqualFold(value, "true")
	switch property {
	case "alt_snapshot_folder":
		p.alt = value
	case "compress_snapshot", "snapshot_in_defaultfolder":
		if !flag && !strings.EqualFold(value, "false") {
			return raise(14137, 1)
		}
		stored = int64(0)
		if flag {
			stored = int64(1)
		}
		if property == "compress_snapshot" {
			p.compress = flag
		} else {
			p.inDefault = flag
		}
	}
	if err := p.check("sp_changepublication"); err != nil {
		return err
	}
	if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
		return err
	}
	return s.Exec(ctx, "UPDATE dbo.syspublications SET "+bracket(property)+" = @p2 WHERE pubid = @p1", pub.id, stored)
}

// slashed is a folder with slashes, and none at its end.
func slashed(folder string) string {
	return strings.TrimRight(strings.ReplaceAll(folder, `\`, "/"), "/")
}

// first is where a snapshot is written first.
func (p snapshotPlaces) first(workingDirectory string) string {
	if p.inDefault {
		return workingDirectory
	}
	return p.alt
}

// newFolder makes the folder of a new snapshot: its name is the second in which it is made, and no two snapshots share
// one, because files of a finished snapshot are never written again.
func (r *agentRun) newFolder(ctx context.Context, root, name string) (folder, local string, made time.Time, err error) {
	parent := slashed(root) + "/unc/" + name
	for {
		made = time.Now().UTC()
		folder = parent + "/" + made.Format("20060102150405")
		if local, err = r.e.localPath(folder); err != nil {
			return "", "", made, err
		}
		if err = os.MkdirAll(filepath.Dir(local), 0o770); err != nil {
			return "", "", made, err
		}
		err = os.Mkdir(local, 0o770)
		if !errors.Is(err, fs.ErrExist) {
			return folder, local, made, err
		}
		if !pause(ctx, 50*time.Millisecond) {
			return "", "", made, ctx.Err()
		}
	}
}

// folderName is the snapshot folder of a publication.
func folderName(parts ...string) string {
	return strings.NewReplacer("/", "_", `\`, "$", ":", "_", ",", "_").Replace(strings.Join(parts, "_"))
}

// localPath is where a path is on this server: a network path //host/share/... is mapped by mssql.conf's uncmapping.
func (e *Extension) localPath(path string) (string, error) {
	path = strings.ReplaceAll(path, `\`, "/")
	if !strings.HasPrefix(path, "//") {
		return e.inst.OnDisk(filepath.FromSlash(path)), nil
	}
	for share, dir := range e.options.UNCMapping {
		share = strings.TrimRight(strings.ReplaceAll(share, `\`, "/"), "/")
		if len(path) >= len(share) && strings.EqualFold(path[:len(share)], share) &&
			(len(path) == len(share) || path[len(share)] == '/') {
			return filepath.Join(dir, filepath.FromSlash(path[len(share):])), nil
		}
	}
	return "", &sqlerr.Error{
		Number: 20049,
		Class:  16,
		State:  1,
		Message: fmt.Sprintf(
			"The process could not access the folder '%s': the network path is not mapped. Map it with uncmapping in "+
				"mssql.conf.",
			path,
		),
	}
}

// copyScripts puts the publication's scripts into the snapshot's folder.
func (r *agentRun) copyScripts(w *snapshotWriter, p snapshotPlaces) error {
	for _, s := range []struct {
		kind         int
		prefix, path string
	}{{commandPreScript, "pre_", p.pre}, {commandPostScript, "post_", p.post}} {
		if s.path == "" {
			continue
		}
		content, err := r.e.readScript(s.path)
		if err != nil {
			return fmt.Errorf("copy a script into the snapshot: %w", err)
		}
		if err := w.open(snapshotFile{kind: s.kind, name: s.prefix + filepath.Base(slashed(s.path))}); err != nil {
			return err
		}
		if err := w.write([]byte(content)); err != nil {
			return err
		}
	}
	return nil
}

// cabinet is the name of the one file that a packed snapshot has.
const cabinet = "snapshot.cab"

// putAside copies a finished snapshot into the alternate folder where it is not there yet, and packs it there.
func (r *agentRun) putAside(p snapshotPlaces, folder, local string) error {
	if p.alt == "" {
		return nil
	}
	to := local
	if p.inDefault {
		var err error
		if to, err = r.e.localPath(slashed(p.alt) + folder[strings.LastIndex(folder, "/unc/"):]); err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o770); err != nil {
			return err
		}
	}
	err := error(nil)
	switch {
	case p.compress:
		err = pack(local, to)
	case p.inDefault:
		err = os.CopyFS(to, os.DirFS(local))
	}
	if err != nil {
		return fmt.Errorf("put the snapshot into the alternate folder '%s': %w", p.alt, err)
	}
	return nil
}

// pack packs a folder's files into one at another folder, or in place of them: a ZIP archive, whatever its name says.
func pack(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	half := filepath.Join(to, cabinet+".new")
	if err := packFiles(half, from, list); err != nil {
		return err
	}
	if err := disk.Rename(half, filepath.Join(to, cabinet)); err != nil || from != to {
		return err
	}
	for _, f := range list {
		if err := os.Remove(filepath.Join(from, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

func packFiles(name, from string, list []fs.DirEntry) error {
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o660)
	if err != nil {
		return err
	}
	z := zip.NewWriter(out)
	for _, f := range list {
		if err == nil {
			err = packFile(z, filepath.Join(from, f.Name()))
		}
	}
	return errors.Join(err, z.Close(), out.Sync(), out.Close())
}

func packFile(z *zip.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := z.Create(filepath.Base(path))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

// readSnapshotFile reads a file of a snapshot, from the packed one where it is not there by itself.
func (e *Extension) readSnapshotFile(path string) ([]byte, error) {
	local, err := e.localPath(path)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(local)
	if err == nil {
		return content, nil
	}
	z, e2 := zip.OpenReader(filepath.Join(filepath.Dir(local), cabinet))
	if e2 == nil {
		defer z.Close()
		var f fs.File
		if f, err = z.Open(filepath.Base(local)); err == nil {
			defer f.Close()
			content, err = io.ReadAll(f)
		}
	}
	if err != nil {
		return nil, &sqlerr.Error{
			Number: fileUnreadable,
			Class:  16,
			State:  1,
			Message: fmt.Sprintf(
				"The process could not read file '%s' (here: %s): %v",
				path,
				filepath.Clean(local),
				os.ErrNotExist,
			),
		}
	}
	return content, nil
}
