// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"geosql.dev/standin/storage/disk"
)

// Key encrypts the passwords that agents need and that lie in tables (MSlogreader_agents.publisher_password ...).
// The key is in a file of the data directory that only the server reads.
type Key struct{ aead cipher.AEAD }

// Open reads the key, which the first call makes.
func (k *Key) Open(dir string) error {
	path := filepath.Join(dir, "replication_key")
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		raw = make([]byte, 32)
		if _, err = rand.Read(raw); err == nil {
			err = disk.Replace(path, raw, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("open the key of replication passwords: %w", err)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return fmt.Errorf("open the key of replication passwords in %s: %w", path, err)
	}
	k.aead, err = cipher.NewGCM(block)
	return err
}

// Seal is nil for an empty password.
func (k *Key) Seal(password string) any {
	if password == "" {
		return nil
	}
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails since Go 1.24
	return hex.EncodeToString(k.aead.Seal(nonce, nonce, []byte(password), nil))
}

// Unseal is the inverse of seal.
func (k *Key) Unseal(sealed string) (string, error) {
	if sealed == "" {
		return "", nil
	}
	raw, err := hex.DecodeString(sealed)
	if err != nil || len(raw) < k.aead.NonceSize() {
		return "", errors.New("a stored password cannot be read; set it again")
	}
	plain, err := k.aead.Open(nil, raw[:k.aead.NonceSize()], raw[k.aead.NonceSize():], nil)
	if err != nil {
		return "", errors.New("a stored password was sealed by another server; set it again")
	}
	return string(plain), nil
}
