// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/internal/backup/store"
)

const (
	// sealExtension ends the name of a file beside one of a set that has its seal.Seal for a store, sumsExtension that of
	// the file with the sums that a seal.Reader needs. They go with the set.
	sealExtension, sumsExtension = ".seal", ".sums"
	// sealTag is how many characters tell the stores and keys apart for which a file is encrypted.
	sealTag = 16
)

// parcel is a set as a store gets it: with its files as they are, or encrypted.
type parcel struct {
	// Description is the one that the store gets.
	backup.Description
	own Own
	// seals are those of the files, at where they lie, without the extension; none where the files go as they are.
	seals []seal.Seal
	at    []string
}

// pack makes the parcel of a set for the store at a place. Of each file that is to be encrypted to a recipient, what
// makes the encryption the same each time is on disk before it is used: an upload goes on with the same bytes in every
// life of the sidecar. The encryption is read through and never written; each store has its own. For a store with an
// encryption to nobody there is no parcel.
func (l *local) pack(ctx context.Context, o Own, to orders.BackupStore) (parcel, error) {
	p := parcel{Description: o.Description, own: o}
	if to.Encryption == nil {
		return p, nil
	}
	place, recipient := to.Place(), to.Recipient()
	if recipient == "" {
		return p, fmt.Errorf("encrypt the %s: the order says that store %s is encrypted, and not to whom", o.Set, to.Name)
	}
	p.Encryption = &backup.Encryption{Scheme: backup.SchemeAge, Recipient: recipient}
	p.Files = nil
	for _, f := range o.Files {
		at := l.sealOf(o, f, place, recipient)
		s, there := readSeal(at, f, recipient)
		if !there {
			var err error
			if s, err = l.seal(ctx, o, f, at, recipient); err != nil {
				return p, fmt.Errorf("encrypt %s of the %s: %w", f.Name, o.Set, err)
			}
		}
		written := f
		p.Files = append(p.Files, backup.File{Name: f.Name + seal.Extension, Bytes: s.Stored.Bytes, SHA256: s.Stored.SHA256,
			Plain: &written})
		p.seals, p.at = append(p.seals, s), append(p.at, at)
	}
	return p, nil
}

// sealOf is where the Seal of a file lies, without its extension.
func (l *local) sealOf(o Own, f backup.File, place, recipient string) string {
	sum := sha256.Sum256([]byte(place + "\n" + recipient))
	return l.path(o, f.Name+"."+hex.EncodeToString(sum[:])[:sealTag])
}

// readSeal reads a Seal of a file as it was taken. One that is not whole is none: another is made, with another key.
func readSeal(at string, f backup.File, recipient string) (s seal.Seal, there bool) {
	content, err := os.ReadFile(at + sealExtension)
	if err != nil || json.Unmarshal(content, &s) != nil {
		return seal.Seal{}, false
	}
	sums, err := os.Stat(at + sumsExtension)
	return s, err == nil && sums.Size() == s.SumsBytes() && s.Recipient == recipient &&
		s.Plain == seal.Content{Bytes: f.Bytes, SHA256: f.SHA256}
}

// seal makes the Seal of a file. A set with a file that is not as it was taken is put aside.
func (l *local) seal(ctx context.Context, o Own, f backup.File, at, recipient string) (seal.Seal, error) {
	file, err := os.Open(l.path(o, f.Name))
	if err != nil {
		return seal.Seal{}, err
	}
	defer func() { _ = file.Close() }()
	// A Seal beside sums that are written anew would go for theirs if this life ended now.
	if err := durable.Remove(at + sealExtension); err != nil {
		return seal.Seal{}, err
	}
	sums, err := os.OpenFile(at+sumsExtension, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return seal.Seal{}, err
	}
	defer func() { _ = sums.Close() }()
	s, err := seal.Make(ctx, file, f.Bytes, recipient, sums)
	if err == nil && s.Plain.SHA256 != f.SHA256 {
		err = fmt.Errorf("it was read with the SHA-256 %s instead of %s: %w", s.Plain.SHA256, f.SHA256, seal.ErrChanged)
	}
	if errors.Is(err, seal.ErrChanged) {
		err = errors.Join(err, l.whole(ctx, o, true))
	}
	if err != nil {
		return seal.Seal{}, err
	}
	if err := errors.Join(sums.Sync(), sums.Close()); err != nil {
		return seal.Seal{}, err
	}
	content, err := json.Marshal(s)
	if err != nil {
		return seal.Seal{}, err
	}
	// Of a set that was removed meanwhile no folder is made again.
	if _, err := os.Stat(l.path(o, backup.DescriptionName)); err != nil {
		return seal.Seal{}, err
	}
	if err := durable.Replace(at+sealExtension, content); err != nil {
		return seal.Seal{}, err
	}
	l.reached("sealed", o.Kind)
	return s, nil
}

// upload brings the file with a number to a store. One that is not any more what was encrypted is given up: its set is
// put aside where it is so, and gets other keys where it was read wrongly.
func (l *local) upload(ctx context.Context, to *store.Store, p parcel, n int, progress func(int64)) error {
	key, file := p.KeyOf(p.Files[n].Name), l.path(p.own, p.own.Files[n].Name)
	if p.Encryption == nil {
		return to.Upload(ctx, key, file, progress)
	}
	plain, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	defer func() { _ = plain.Close() }()
	sums, err := os.Open(p.at[n] + sumsExtension)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	defer func() { _ = sums.Close() }()
	encrypted, err := p.seals[n].Reader(plain, sums)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	err = to.UploadFrom(ctx, key, encrypted, encrypted.Size(), progress)
	if encrypted.Changed() {
		err = errors.Join(err, unseal(p.at[n]), l.whole(ctx, p.own, true))
	}
	return err
}

// unseal has a file sealed anew, with another key: first goes what makes a Seal of what is left.
func unseal(at string) error {
	return errors.Join(durable.Remove(at+sealExtension), durable.Remove(at+sumsExtension))
}
