// SPDX-License-Identifier: Apache-2.0

package agent

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

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage/disk"
)

// SnapshotPlaces says where a publication's snapshots go, and which scripts go with them
// (docs/relational-databases/replication/snapshot-options.md).
type SnapshotPlaces struct {
	// InDefault puts them into the publisher's working directory, Alt into another folder, packed when Compress is set.
	InDefault bool
	Alt       string
	Compress  bool
	// Pre and Post are scripts that subscribers run before and after the snapshot.
	Pre, Post string
}

// Check refuses what says nowhere to put a snapshot, or to pack one without a folder of its own (21157, 14043).
func (p SnapshotPlaces) Check(procedure string) error {
	switch {
	case p.Compress && p.Alt == "":
		return sqlerr.Raise(21157, 1)
	case !p.InDefault && p.Alt == "":
		return sqlerr.Raise(14043, 1, "@alt_snapshot_folder", procedure)
	}
	return nil
}

// PlacesColumns are those of syspublications that say it.
const PlacesColumns = "snapshot_in_defaultfolder, alt_snapshot_folder, compress_snapshot, pre_snapshot_script, " +
	"post_snapshot_script"

// readPlaces asks the publisher.
func (r *agentRun) readPlaces(ctx context.Context, source *Conn, publication string) (SnapshotPlaces, error) {
	found, err := source.Query(ctx, "SELECT "+PlacesColumns+" FROM dbo.syspublications WHERE name = @p1", publication)
	if err == nil && len(found) == 0 {
		err = sqlerr.Raise(20026, 1, publication)
	}
	if err != nil {
		return SnapshotPlaces{}, err
	}
	return SnapshotPlaces{
		InDefault: found.flag(0, "snapshot_in_defaultfolder"),
		Alt:       found.Str(0, "alt_snapshot_folder"),
		Compress:  found.flag(0, "compress_snapshot"),
		Pre:       found.Str(0, "pre_snapshot_script"),
		Post:      found.Str(0, "post_snapshot_script"),
	}, nil
}

// slashed is a folder with slashes, and none at its end.
func slashed(folder string) string {
	return strings.TrimRight(strings.ReplaceAll(folder, `\`, "/"), "/")
}

// first is where a snapshot is written first.
func (p SnapshotPlaces) first(workingDirectory string) string {
	if p.InDefault {
		return workingDirectory
	}
	return p.Alt
}

// newFolder makes the folder of a new snapshot: its name is the second in which it is made, and no two snapshots share
// one, because files of a finished snapshot are never written again.
func (r *agentRun) newFolder(ctx context.Context, root, name string) (folder, local string, made time.Time, err error) {
	parent := slashed(root) + "/unc/" + name
	for {
		made = time.Now().UTC()
		folder = parent + "/" + made.Format("20060102150405")
		if local, err = r.runner.localPath(folder); err != nil {
			return "", "", made, err
		}
		if err = os.MkdirAll(filepath.Dir(local), 0o770); err != nil {
			return "", "", made, err
		}
		err = os.Mkdir(local, 0o770)
		if !errors.Is(err, fs.ErrExist) {
			return folder, local, made, err
		}
		if !Pause(ctx, 50*time.Millisecond) {
			return "", "", made, ctx.Err()
		}
	}
}

// folderName is the snapshot folder of a publication.
func folderName(parts ...string) string {
	return strings.NewReplacer("/", "_", `\`, "$", ":", "_", ",", "_").Replace(strings.Join(parts, "_"))
}

// localPath is where a path is on this server: a network path //host/share/... is mapped by mssql.conf's uncmapping.
func (a *Runner) localPath(path string) (string, error) {
	path = strings.ReplaceAll(path, `\`, "/")
	if !strings.HasPrefix(path, "//") {
		return a.inst.OnDisk(filepath.FromSlash(path)), nil
	}
	for share, dir := range a.shares {
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
func (r *agentRun) copyScripts(w *snapshotWriter, p SnapshotPlaces) error {
	for _, s := range []struct {
		kind         int
		prefix, path string
	}{{stored.CommandPreScript, "pre_", p.Pre}, {stored.CommandPostScript, "post_", p.Post}} {
		if s.path == "" {
			continue
		}
		content, err := r.runner.ReadScript(s.path)
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
func (r *agentRun) putAside(p SnapshotPlaces, folder, local string) error {
	if p.Alt == "" {
		return nil
	}
	to := local
	if p.InDefault {
		var err error
		if to, err = r.runner.localPath(slashed(p.Alt) + folder[strings.LastIndex(folder, "/unc/"):]); err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o770); err != nil {
			return err
		}
	}
	err := error(nil)
	switch {
	case p.Compress:
		err = pack(local, to)
	case p.InDefault:
		err = os.CopyFS(to, os.DirFS(local))
	}
	if err != nil {
		return fmt.Errorf("put the snapshot into the alternate folder '%s': %w", p.Alt, err)
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
func (a *Runner) readSnapshotFile(path string) ([]byte, error) {
	local, err := a.localPath(path)
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
