// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// sealKey encrypts the passwords that agents need and that lie in tables (MSlogreader_agents.publisher_password ...).
// The key is in a file of the data directory that only the server reads.
type sealKey struct{ aead cipher.AEAD }

func (k *sealKey) open(dir string) error {
	path := filepath.Join(dir, "replication_key")
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		raw = make([]byte, 32)
		if _, err = rand.Read(raw); err == nil {
			err = writeDurably(path, raw, 0o600)
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

// seal is nil for an empty password.
func (k *sealKey) seal(password string) any {
	if password == "" {
		return nil
	}
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails since Go 1.24
	return hex.EncodeToString(k.aead.Seal(nonce, nonce, []byte(password), nil))
}

// unseal is the inverse of seal.
func (k *sealKey) unseal(sealed string) (string, error) {
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

// writeDurably writes a file so that it is there whole or not at all.
func writeDurably(path string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
