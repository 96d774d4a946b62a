// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"geosql.dev/standin/storage/disk"
)

// keyBytes is the length of all symmetric keys here: AES-256.
const keyBytes = 32

var errSeal = errors.New("the key does not open the sealed data")

// seal encrypts and authenticates with AES-256-GCM; the nonce comes first.
func seal(key, plain []byte) []byte {
	gcm := newGCM(key)
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce)
	return gcm.Seal(nonce, nonce, plain, nil)
}

// open is the inverse of seal.
func open(key, sealed []byte) ([]byte, error) {
	gcm := newGCM(key)
	if len(sealed) < gcm.NonceSize() {
		return nil, errSeal
	}
	plain, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], nil)
	if err != nil {
		return nil, errSeal
	}
	return plain, nil
}

func newGCM(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(fmt.Sprintf("security: a key of %d bytes: %v", len(key), err))
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(fmt.Sprintf("security: AES-GCM: %v", err))
	}
	return gcm
}

const (
	saltLength = 16
	// passwordIterations makes a guess at a password cost some milliseconds.
	passwordIterations = 50000
)

// sealByPassword is seal with a key made of a password; the salt comes first.
func sealByPassword(password string, plain []byte) []byte {
	salt := make([]byte, saltLength)
	rand.Read(salt)
	return append(salt, seal(passwordKey(password, salt), plain)...)
}

// openByPassword is the inverse of sealByPassword.
func openByPassword(password string, sealed []byte) ([]byte, error) {
	if len(sealed) < saltLength {
		return nil, errSeal
	}
	return open(passwordKey(password, sealed[:saltLength]), sealed[saltLength:])
}

func passwordKey(password string, salt []byte) []byte {
	key, err := pbkdf2.Key(sha256.New, password, salt, passwordIterations, keyBytes)
	if err != nil {
		panic(fmt.Sprintf("security: derive a key: %v", err))
	}
	return key
}

func newKey() []byte {
	key := make([]byte, keyBytes)
	rand.Read(key)
	return key
}

// serviceMasterKey is the instance's own key. It lives in a file beside the databases, readable by the service alone,
// and never in a backup: a database that moves to another instance needs its master key's password there.
type serviceMasterKey struct {
	path string
	key  []byte
}

// open reads the key, or makes it at the first start.
func (k *serviceMasterKey) open() error {
	key, err := os.ReadFile(k.path)
	if err == nil && len(key) == keyBytes {
		k.key = key
		return nil
	}
	if err == nil {
		return fmt.Errorf("the service master key %s has %d bytes, not %d", k.path, len(key), keyBytes)
	}
	if !os.IsNotExist(err) {
		return fmt.Errorf("read the service master key: %w", err)
	}
	k.key = newKey()
	if err := disk.Replace(k.path, k.key, 0o600); err != nil {
		return fmt.Errorf("write the service master key: %w", err)
	}
	return nil
}

// writeNewFile writes a file that must not exist yet, as BACKUP CERTIFICATE does; 15240 when it can't.
func writeNewFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return failure(15240, 1, path)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return failure(15240, 2, path)
	}
	return nil
}
