// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
)

// describe reads what a set is that the engine has finished.
func describe(ctx context.Context, db *mssql.DB, dir string, b begun, t mssql.BackupTaken) (backup.Description, error) {
	d := backup.Description{
		Set:       setOf(b.Kind, t),
		Namespace: b.Namespace, Target: b.Target, Policy: b.Policy, Request: b.Request, Server: db.Server(),
		ClockOffset: int(t.ClockOffset / time.Minute), Bytes: t.Bytes, Compressed: b.Compressed, Checksum: t.Checksum,
	}
	asks, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	instance, err := mssql.ReadInstance(asks, db)
	if err != nil {
		return d, err
	}
	d.Build = instance.ProductVersion
	files, err := mssql.ReadBackedUpFiles(asks, db, t.ID)
	if err != nil {
		return d, err
	}
	for _, f := range files {
		d.DatabaseFiles = append(d.DatabaseFiles, backup.DatabaseFile{Name: f.Name, Log: f.Log, Bytes: f.Bytes})
	}
	encryptors, err := mssql.ReadEncryptors(asks, db)
	if err != nil && !mssql.Is(err, mssql.Refused) { // a backup is worth more than what is said of it
		return d, err
	}
	if by, encrypted := (mssql.Encryption{Encryptors: encryptors}).EncryptorOf(t.Database); encrypted && by.Certificate {
		d.EncryptedBy = by.Thumbprint
	}
	for _, name := range b.Files {
		f, err := sum(ctx, filepath.Join(dir, name))
		if err != nil {
			return d, err
		}
		d.Files = append(d.Files, f)
	}
	return d, nil
}

// setOf is a set as the server notes it.
func setOf(kind backup.Kind, t mssql.BackupTaken) backup.Set {
	s := backup.Set{ID: t.ID, Kind: kind, Database: t.Database, Family: t.Family, CopyOnly: t.CopyOnly,
		FirstLSN: backup.LSN(t.FirstLSN), LastLSN: backup.LSN(t.LastLSN), BaseID: t.BaseID, FirstFork: t.FirstFork,
		Fork: t.Fork, ForkLSN: backup.LSN(t.ForkLSN), Begun: t.Begun, Finished: t.Finished}
	if kind == backup.Log {
		s.Until, s.BulkLogged = t.Until, t.BulkLogged
	}
	return s
}

// sum is what a file has on disk. Of a large one it takes long, and ends with ctx.
func sum(ctx context.Context, path string) (backup.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return backup.File{}, fmt.Errorf("read what was backed up: %w", err)
	}
	defer func() { _ = f.Close() }()
	digest := sha256.New()
	bytes, err := io.Copy(digest, store.Reading(ctx, f))
	if err != nil {
		return backup.File{}, fmt.Errorf("read what was backed up: %w", err)
	}
	return backup.File{Name: filepath.Base(path), Bytes: bytes,
			SHA256: strings.ToLower(hex.EncodeToString(digest.Sum(nil)))},
		nil
}
