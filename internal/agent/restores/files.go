// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

const (
	// filesName is the folder of files that any server wrote.
	filesName = "files"
	// filesMost is how many of them a folder has at most.
	filesMost = 1024
)

func (r *runner) filesDir() string { return filepath.Join(r.dir, filesName) }

// place of a file on the backup volume.
func (r *runner) place(f gathered) string { return filepath.Join(r.filesDir(), f.Name) }

func (r *runner) importStore(o *observed) (*store.Store, error) {
	if len(o.Order.Stores) == 0 {
		return nil, errors.New("the order has no store")
	}
	return backups.Open(o.Order.Stores[0], r.who)
}

// list finds the files that are asked for, in the version that they have now. Those for which the backup volume has no
// room are refused: nothing was downloaded by then.
func (r *runner) list(ctx context.Context, o *observed) error {
	from, err := r.importStore(o)
	if err != nil {
		return err
	}
	defer from.Close()
	keys := o.Order.Import.Files
	if folder := o.Order.Import.Folder; folder != "" {
		objects, err := from.List(ctx, folder+"/")
		if err != nil {
			return err
		}
		for _, object := range objects {
			if !strings.HasSuffix(object.Key, "/") { // some tools make objects of folders
				keys = append(keys[:len(keys):len(keys)], object.Key)
			}
		}
	}
	switch {
	case len(keys) == 0:
		return r.refuse(o, v1alpha1.ReasonFileNotUsable, "there is no object in folder "+o.Order.Import.Folder+
			" below the store's prefix")
	case len(keys) > filesMost:
		return r.refuse(o, v1alpha1.ReasonFileNotUsable, fmt.Sprintf("folder %s has %d objects; %d are read at most: have "+
			"those in one that are needed", o.Order.Import.Folder, len(keys), filesMost))
	}
	kept := o.Record
	kept.Store, kept.Database = o.Order.Stores[0].Name, o.Order.Database
	seen := map[string]bool{}
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		v, err := from.Look(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return r.refuse(o, v1alpha1.ReasonFileNotUsable, "there is no object "+key+" below the store's prefix")
		}
		if err != nil {
			return err
		}
		kept.Files = append(kept.Files, gathered{Tag: v.Tag, ImportFile: backup.ImportFile{Key: key, Bytes: v.Bytes,
			Name: fmt.Sprintf("%d.bak", len(kept.Files)+1)}})
	}
	return r.fit(o, kept)
}

// fit goes on with the files if the backup volume takes what of them is there at once: all of them, in a dry run one
// after the other.
func (r *runner) fit(o *observed, kept record) error {
	if err := os.MkdirAll(r.filesDir(), 0o770); err != nil {
		return err
	}
	needed := int64(0)
	for _, f := range kept.Files {
		if o.Order.DryRun {
			needed = max(needed, f.Bytes)
		} else {
			needed += f.Bytes
		}
	}
	left, err := r.free(r.dir)
	if err != nil {
		return fmt.Errorf("ask what is free of the backup volume: %w", err)
	}
	if left < needed {
		return r.refuse(o, v1alpha1.ReasonNoRoom, fmt.Sprintf("the files take %d bytes of the backup volume, and %d are "+
			"free: nothing was downloaded. Make room, name fewer files, or a server with a larger backup volume", needed, left))
	}
	return r.keep(kept)
}

// bring brings a file to the backup volume. What an earlier life has left of it may not have reached the disk, and
// nobody knows what is in the file: it is begun anew. Within a life one that was cut off goes on.
func (r *runner) bring(ctx context.Context, o *observed, n int) error {
	kept := o.Record
	f := kept.Files[n]
	from, err := r.importStore(o)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(r.filesDir(), 0o770); err != nil {
		return err
	}
	if r.begun != n+1 {
		if err := os.Remove(r.place(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.begun = n + 1
	}
	if err := r.roomFor(f); err != nil {
		return err
	}
	before := kept.whole()
	err = from.Bring(ctx, f.Key, r.place(f), store.Version{Bytes: f.Bytes, Tag: f.Tag},
		func(bytes int64) { r.progress(before + bytes) })
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound) {
		return r.refuse(o, v1alpha1.ReasonFileNotUsable, fmt.Sprintf("object %s is not what it was when the restore began: "+
			"%v; nothing was restored", f.Key, err))
	}
	if err != nil {
		return err
	}
	return r.keepFile(o, n, func(f *gathered) { f.Whole = true })
}

// roomFor says how much the backup volume lacks for what is missing of a file.
func (r *runner) roomFor(f gathered) error {
	needed := f.Bytes
	if info, err := os.Stat(r.place(f)); err == nil {
		needed -= info.Size()
	}
	left, err := r.free(r.dir)
	if err != nil {
		return fmt.Errorf("ask what is free of the backup volume: %w", err)
	}
	if left < needed {
		return fmt.Errorf("the backup volume has %d bytes free, and object %s takes %d more", left, f.Key, needed)
	}
	return nil
}

// keepFile writes down what changed of a file.
func (r *runner) keepFile(o *observed, n int, change func(*gathered)) error {
	kept := o.Record
	kept.Files = append([]gathered(nil), kept.Files...)
	change(&kept.Files[n])
	return r.keep(kept)
}

// whole are the bytes of the files that were downloaded.
func (r record) whole() (bytes int64) {
	for _, f := range r.Files {
		if f.Whole {
			bytes += f.Bytes
		}
	}
	return bytes
}

// total are the bytes of all files.
func (r record) total() (bytes int64) {
	for _, f := range r.Files {
		bytes += f.Bytes
	}
	return bytes
}

// examine asks the engine what is in a file. One that is no backup is refused, and named. In a dry run the file goes
// then: the next one has its room.
func (r *runner) examine(ctx context.Context, o *observed, n int) error {
	f := o.Record.Files[n]
	if _, err := os.Stat(r.place(f)); errors.Is(err, fs.ErrNotExist) {
		return r.keepFile(o, n, func(f *gathered) { f.Whole = false })
	}
	db, err := r.engine.Data(ctx)
	if err != nil {
		return err
	}
	read, err := readFile(ctx, db, r.place(f), f.ImportFile)
	switch {
	case err == nil:
	case mssql.HasNumber(err, tsql.IncompatibleBackup):
		return r.refuse(o, v1alpha1.ReasonBackupNewer, fmt.Sprintf("object %s is of a version whose backups this server "+
			"does not restore: %v", f.Key, err))
	case mssql.HasNumber(err, tsql.NoEncryptor):
		return r.refuse(o, v1alpha1.ReasonCertificateMissing, fmt.Sprintf("object %s is opened by a certificate that the "+
			"server does not have in master: %v", f.Key, err))
	case mssql.HasNumber(err, tsql.NoBackupFile...):
		number := slices.IndexFunc(tsql.NoBackupFile, func(n int32) bool { return mssql.HasNumber(err, n) })
		return r.refuse(o, v1alpha1.ReasonFileNotUsable, fmt.Sprintf("object %s is no backup, or is damaged (error %d): %v",
			f.Key, tsql.NoBackupFile[number], err))
	default:
		return r.judge(o, examine{n}, fmt.Errorf("object %s: %w", f.Key, err))
	}
	if err := r.keepFile(o, n, func(f *gathered) { f.ImportFile, f.Read = read, true }); err != nil {
		return err
	}
	if o.Order.DryRun {
		return os.Remove(r.place(f))
	}
	return nil
}

// readFile reads what a file says of itself.
func readFile(ctx context.Context, db *mssql.DB, place string, f backup.ImportFile) (backup.ImportFile, error) {
	label, err := mssql.ReadBackupLabel(ctx, db, place)
	if err != nil {
		return f, err
	}
	headers, err := mssql.ReadBackupHeaders(ctx, db, place)
	if err != nil {
		return f, err
	}
	major, thumbprints, err := ability(ctx, db)
	if err != nil {
		return f, err
	}
	f.MediaSet, f.Family, f.Families = label.MediaSet, label.Family, label.Families
	for _, shown := range headers {
		h := headerOf(shown)
		// The engine lists the files of no set that it cannot open.
		if h.Kind != "" && h.Major <= major && (shown.Encryptor == "" || slices.Contains(thumbprints, shown.Encryptor)) {
			entries, err := mssql.ReadBackupFileList(ctx, db, place, h.Position)
			switch {
			case mssql.HasNumber(err, tsql.NoEncryptor):
				h.Closed = err.Error()
			case err != nil:
				return f, err
			case len(entries) == 0:
				return f, fmt.Errorf("server %s lists no files of the backup at position %d", db.Server(), h.Position)
			}
			filesOf(&h, entries)
		}
		f.Headers = append(f.Headers, h)
	}
	return f, nil
}

// ability is what decides which backups a server can restore: its major version, and its certificates.
func ability(ctx context.Context, db *mssql.DB) (major int, thumbprints []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	if major, err = mssql.ReadMajor(ctx, db); err != nil {
		return 0, nil, err
	}
	thumbprints, err = mssql.ReadThumbprints(ctx, db)
	return major, thumbprints, err
}

// chooseFiles finds the chain in what the files said of themselves.
func (r *runner) chooseFiles(ctx context.Context, o *observed) error {
	db, err := r.engine.Data(ctx)
	if err != nil {
		return err
	}
	i := backup.Import{Database: o.Order.Import.Database, To: backup.Target{Time: o.Order.Time,
		LSN: backup.LSN(o.Order.LSN), ID: o.Order.Backup}}
	if i.Major, i.Thumbprints, err = ability(ctx, db); err != nil {
		return err
	}
	if name := o.Order.Import.TimeZone; name != "" {
		if i.Zone, err = time.LoadLocation(name); err != nil {
			return r.refuse(o, v1alpha1.ReasonRestoreRefused, fmt.Sprintf("spec.source.timeZone: %v", err))
		}
	}
	for _, f := range o.Record.Files {
		i.Files = append(i.Files, f.ImportFile)
	}
	found, err := i.Choose()
	kept := o.Record
	kept.Plan, kept.Positions, kept.Unused = found.Plan, found.Positions, found.Unused
	if err != nil {
		o.Record = kept
		reason := reasonOf(err)
		if reason == "" {
			return err
		}
		return r.refuse(o, reason, err.Error())
	}
	kept.Downloaded = len(kept.Plan.Sets)
	kept.Refusals, kept.Refusal = 0, "" // those were of looking into the files
	if err := r.keep(kept); err != nil {
		return err
	}
	return r.spare(kept)
}

// reasonOf is why a choice was refused; empty where the error is none of those.
func reasonOf(err error) string {
	var none *backup.NoChain
	var refused *backup.Refused
	switch {
	case errors.As(err, &none):
		return v1alpha1.ReasonNoChain
	case !errors.As(err, &refused):
		return ""
	}
	return map[backup.Refusal]string{backup.DatabaseNotNamed: v1alpha1.ReasonDatabaseNotNamed,
		backup.ZoneNotNamed: v1alpha1.ReasonRestoreRefused, backup.VersionNewer: v1alpha1.ReasonBackupNewer,
		backup.CertificateMissing: v1alpha1.ReasonCertificateMissing}[refused.Why]
}

// spare removes the files from which nothing is restored.
func (r *runner) spare(kept record) error {
	needed := map[string]bool{}
	for _, d := range kept.Plan.Sets {
		for _, f := range d.Files {
			needed[f.Name] = true
		}
	}
	var errs []error
	for _, f := range kept.Files {
		if needed[f.Name] {
			continue
		}
		if err := os.Remove(r.place(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// kinds of backups of whole databases, by BackupType.
var kinds = map[int]backup.Kind{1: backup.Full, 2: backup.Log, 5: backup.Differential}

// headerOf is what a header means for chains.
func headerOf(shown mssql.BackupHeader) backup.Header {
	h := backup.Header{
		Set: backup.Set{ID: shown.ID, Kind: kinds[shown.Type], Database: shown.Database, Family: shown.Family,
			CopyOnly: shown.CopyOnly, FirstLSN: backup.LSN(shown.FirstLSN), LastLSN: backup.LSN(shown.LastLSN),
			BaseID: shown.BaseID, FirstFork: shown.FirstFork, Fork: shown.Fork, ForkLSN: backup.LSN(shown.ForkLSN),
			Begun: shown.Begun, Finished: shown.Finished, BulkLogged: shown.BulkLogged},
		Type: shown.Type, Position: shown.Position, Major: shown.Major, Bytes: max(shown.Stored, 0),
		Build:   fmt.Sprintf("%d.%d.%d", shown.Major, shown.Minor, shown.Build),
		BaseLSN: backup.LSN(shown.BaseLSN), Faulty: shown.Damaged, Snapshot: shown.Snapshot,
	}
	if h.Kind == backup.Log {
		h.Until = shown.Until
	}
	if shown.ClockOffset != nil {
		minutes := int(*shown.ClockOffset / time.Minute)
		h.ClockOffset = &minutes
	}
	if shown.Encryptor != "" {
		h.Thumbprints = append(h.Thumbprints, shown.Encryptor)
	}
	return h
}

// filesOf adds the files of the database, and the certificates that their keys need.
func filesOf(h *backup.Header, entries []mssql.BackupFileEntry) {
	for _, e := range entries {
		h.DatabaseFiles = append(h.DatabaseFiles, backup.DatabaseFile{Name: e.Name, Log: e.Log, Bytes: e.Bytes})
		if e.Encryptor != "" && !slices.Contains(h.Thumbprints, e.Encryptor) {
			h.Thumbprints = append(h.Thumbprints, e.Encryptor)
		}
	}
}
