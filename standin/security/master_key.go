// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// masterKeyID is the symmetric_key_id of ##MS_DatabaseMasterKey##, serviceMasterKeyID that of ##MS_ServiceMasterKey##.
const (
	masterKeyID        = 101
	serviceMasterKeyID = 102
)

// masterKey is a database master key: a key that is stored only encrypted, by passwords and by the service master key.
type masterKey struct {
	ID       int32     `json:"id"`
	GUID     uuid.UUID `json:"guid"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	// ByPasswords are encryptions by password, ByService the one by the service master key, nil when dropped.
	ByPasswords [][]byte `json:"byPasswords"`
	ByService   []byte   `json:"byService,omitempty"`
}

func (k *masterKey) key() int32 { return k.ID }

func (c *databaseCatalog) masterKey() *masterKey {
	for _, k := range c.masterKeys {
		return k
	}
	return nil
}

// databaseKey is the opened master key of a database: by OPEN MASTER KEY in the session, or by the service master key.
// 15581 when there is none or it isn't open. s may be nil.
func (e *Extension) databaseKey(s *engine.Session, db *engine.Database, c *databaseCatalog) ([]byte, error) {
	k := c.masterKey()
	if k == nil {
		return nil, failure(15581, 1)
	}
	if s != nil {
		e.mu.Lock()
		key := e.opened[s][db.ID()]
		e.mu.Unlock()
		if key != nil {
			return key, nil
		}
	}
	if k.ByService != nil {
		if key, err := open(e.smk.key, k.ByService); err == nil {
			return key, nil
		}
	}
	return nil, failure(15581, 3)
}

// withMasterKey finds the current database's master key for a statement that needs CONTROL on the database.
func (e *Extension) withMasterKey(ctx context.Context, s *engine.Session) (*engine.Database, *databaseCatalog, error) {
	db := s.CurrentDatabase()
	if !e.mayDatabase(ctx, s, db, "CONTROL") {
		return nil, nil, notPermitted()
	}
	c, err := e.database(ctx, s, db)
	return db, c, err
}

func (e *Extension) createMasterKey(ctx context.Context, s *engine.Session, n *syntax.CreateMasterKey) error {
	db, c, err := e.withMasterKey(ctx, s)
	if err != nil {
		return err
	}
	if c.masterKey() != nil {
		return failure(15578, 1)
	}
	if err := checkPassword("", n.Password, true); err != nil {
		return err
	}
	now := e.now().UTC()
	plain := newKey()
	k := &masterKey{ID: masterKeyID, GUID: uuid.New(), Created: now, Modified: now,
		ByPasswords: [][]byte{sealByPassword(n.Password, plain)}, ByService: seal(e.smk.key, plain)}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error { return put(tx, tableMasterKey, k) })
}

func (e *Extension) alterMasterKey(ctx context.Context, s *engine.Session, n *syntax.AlterMasterKey) error {
	db, c, err := e.withMasterKey(ctx, s)
	if err != nil {
		return err
	}
	plain, err := e.databaseKey(s, db, c)
	if err != nil {
		return err
	}
	k := *c.masterKey()
	k.Modified = e.now().UTC()
	var certificates []*certificate
	switch {
	case n.Regenerate:
		if err := checkPassword("", n.Password, true); err != nil {
			return err
		}
		fresh := newKey()
		if certificates, err = resealed(c.certificates, plain, fresh); err != nil {
			return err
		}
		k.ByPasswords, k.ByService = [][]byte{sealByPassword(n.Password, fresh)}, seal(e.smk.key, fresh)
	case n.Add && n.ServiceMasterKey:
		k.ByService = seal(e.smk.key, plain)
	case n.Add:
		if err := checkPassword("", n.Password, true); err != nil {
			return err
		}
		k.ByPasswords = append(slices.Clone(k.ByPasswords), sealByPassword(n.Password, plain))
	case n.ServiceMasterKey:
		k.ByService = nil
	default:
		if k.ByPasswords, err = withoutPassword(k.ByPasswords, n.Password); err != nil {
			return err
		}
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		for _, cert := range certificates {
			if err := put(tx, tableCertificates, cert); err != nil {
				return err
			}
		}
		return put(tx, tableMasterKey, &k)
	})
}

// resealed are the certificates whose private keys the old master key encrypts, encrypted by the new one.
func resealed(all []*certificate, old, fresh []byte) ([]*certificate, error) {
	var changed []*certificate
	for _, c := range all {
		if c.Encryption != byMasterKey {
			continue
		}
		plain, err := open(old, c.Private)
		if err != nil {
			return nil, failure(15329, 1)
		}
		again := *c
		again.Private = seal(fresh, plain)
		changed = append(changed, &again)
	}
	return changed, nil
}

// withoutPassword drops the encryption by that password; the last one can't be dropped.
func withoutPassword(sealed [][]byte, password string) ([][]byte, error) {
	for i, one := range sealed {
		if _, err := openByPassword(password, one); err == nil {
			if len(sealed) == 1 {
				return nil, failure(15465, 2)
			}
			return slices.Delete(slices.Clone(sealed), i, i+1), nil
		}
	}
	return nil, failure(15465, 1)
}

func (e *Extension) dropMasterKey(ctx context.Context, s *engine.Session, _ *syntax.DropMasterKey) error {
	db, c, err := e.withMasterKey(ctx, s)
	if err != nil {
		return err
	}
	k := c.masterKey()
	if k == nil {
		return failure(15151, 1, "drop", "symmetric key", "##MS_DatabaseMasterKey##")
	}
	for _, cert := range c.certificates {
		if cert.Encryption == byMasterKey {
			return failure(15580, 1, "master key", "certificate", cert.Name)
		}
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error { return remove(tx, tableMasterKey, k.ID) })
}

func (e *Extension) openMasterKey(ctx context.Context, s *engine.Session, n *syntax.OpenMasterKey) error {
	db, c, err := e.withMasterKey(ctx, s)
	if err != nil {
		return err
	}
	k := c.masterKey()
	if k == nil {
		return failure(15581, 1)
	}
	for _, sealed := range k.ByPasswords {
		plain, err := openByPassword(n.Password, sealed)
		if err != nil {
			continue
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.opened[s] == nil {
			e.opened[s] = map[int32][]byte{}
		}
		e.opened[s][db.ID()] = plain
		return nil
	}
	return failure(15465, 1)
}

func (e *Extension) closeMasterKey(ctx context.Context, s *engine.Session, _ *syntax.CloseMasterKey) error {
	db, _, err := e.withMasterKey(ctx, s)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.opened[s][db.ID()] == nil {
		return failure(15315, 1, "##MS_DatabaseMasterKey##")
	}
	delete(e.opened[s], db.ID())
	return nil
}

// masterKeyFileMagic begins a file of BACKUP MASTER KEY; the key follows, encrypted by the password.
const masterKeyFileMagic = "geosql database master key 1\n"

func (e *Extension) backupMasterKey(ctx context.Context, s *engine.Session, n *syntax.BackupMasterKey) error {
	db, c, err := e.withMasterKey(ctx, s)
	if err != nil {
		return err
	}
	plain, err := e.databaseKey(s, db, c)
	if err != nil {
		return err
	}
	if err := checkPassword("", n.Password, true); err != nil {
		return err
	}
	return writeNewFile(e.filePath(n.File), append([]byte(masterKeyFileMagic), sealByPassword(n.Password, plain)...))
}

func (e *Extension) restoreMasterKey(ctx context.Context, s *engine.Session, n *syntax.RestoreMasterKey) error {
	db, c, err := e.withMasterKey(ctx, s)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(e.filePath(n.File))
	if err != nil || len(data) < len(masterKeyFileMagic) || string(data[:len(masterKeyFileMagic)]) != masterKeyFileMagic {
		return failure(15317, 1)
	}
	fresh, err := openByPassword(n.DecryptionPassword, data[len(masterKeyFileMagic):])
	if err != nil || len(fresh) != keyBytes {
		return failure(15465, 1)
	}
	if err := checkPassword("", n.EncryptionPassword, true); err != nil {
		return err
	}
	now := e.now().UTC()
	k := &masterKey{ID: masterKeyID, GUID: uuid.New(), Created: now, Modified: now,
		ByPasswords: [][]byte{sealByPassword(n.EncryptionPassword, fresh)}, ByService: seal(e.smk.key, fresh)}
	var certificates []*certificate
	if old, err := e.databaseKey(s, db, c); err == nil {
		if certificates, err = resealed(c.certificates, old, fresh); err != nil {
			return err
		}
	} else if c.masterKey() != nil && !n.Force {
		return failure(15329, 1)
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		for _, cert := range certificates {
			if err := put(tx, tableCertificates, cert); err != nil {
				return err
			}
		}
		return put(tx, tableMasterKey, k)
	})
}

// filePath puts a bare file name into the instance's data directory, as the documentation says.
func (e *Extension) filePath(name string) string {
	if filepath.IsAbs(name) {
		return e.inst.OnDisk(name)
	}
	return filepath.Join(e.inst.Config().DataDir, name)
}
