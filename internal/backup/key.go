// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// KeysName is the folder of the keys of a namespace's targets. It lies beside those of the targets: what is in theirs
// and is no backup is removed.
const KeysName = "keys"

// KeyObject is the key of the object that keeps a certificate for a target, below a store's prefix.
func KeyObject(namespace, target, thumbprint string) string {
	return path.Join(namespace, KeysName, target, strings.ToUpper(thumbprint)+".json")
}

// TargetOf is the namespace and the target of a database's folder; false where it is none.
func TargetOf(databaseFolder string) (namespace, target string, ok bool) {
	parts := strings.Split(databaseFolder, "/")
	if len(parts) != 4 {
		return "", "", false
	}
	return parts[0], path.Join(parts[1], parts[2]), true
}

// Key is a certificate with its private key, by which databases or backups are encrypted.
type Key struct {
	Name string `json:"-"`
	// Thumbprint in hexadecimal digits.
	Thumbprint string `json:"-"`
	// Certificate is the public part in DER.
	Certificate []byte `json:"-"`
	// PrivateKey is in PVK, encrypted by Password.
	PrivateKey []byte `json:"privateKey"`
	Password   string `json:"password"`
}

const (
	// sealFormat is the version of the form, sealCipher names what it is made of for who opens it by hand.
	sealFormat = 1
	sealCipher = "AES-256-GCM, key by PBKDF2-HMAC-SHA256"
	// sealRounds is how often PBKDF2 hashes; sealRoundsMost bounds what is believed of an object.
	sealRounds, sealRoundsMost = 600_000, 10_000_000
	sealSalt, sealKey          = 16, 32
)

// SealLeast is how many bytes a secret has at least that seals keys.
const SealLeast = 16

// ErrSeal says that a secret does not open a sealed key, or that the key is not as it was sealed.
var ErrSeal = errors.New("the secret does not open it: it was sealed by another one, or is not as it was written")

// SealedKey is a certificate whose private key a secret seals.
type SealedKey struct {
	Format     int    `json:"format"`
	Thumbprint string `json:"thumbprint"`
	Name       string `json:"name"`
	// Certificate is the public part in DER.
	Certificate []byte `json:"certificate"`
	// SealedBy says which secret sealed it, and nothing of what that is.
	SealedBy string `json:"sealedBy"`
	Cipher   string `json:"cipher"`
	Rounds   int    `json:"rounds"`
	Salt     []byte `json:"salt"`
	Nonce    []byte `json:"nonce"`
	Sealed   []byte `json:"sealed"`
}

// Seal encrypts the private key by a secret; by says which that is.
func (k Key) Seal(secret []byte, by string) (SealedKey, error) {
	s := SealedKey{Format: sealFormat, Thumbprint: k.Thumbprint, Name: k.Name, Certificate: k.Certificate, SealedBy: by,
		Cipher: sealCipher, Rounds: sealRounds, Salt: make([]byte, sealSalt)}
	if len(secret) < SealLeast {
		return s, fmt.Errorf("seal certificate 0x%s: the secret has less than %d bytes", k.Thumbprint, SealLeast)
	}
	if _, err := rand.Read(s.Salt); err != nil {
		return s, fmt.Errorf("seal certificate 0x%s: %w", k.Thumbprint, err)
	}
	aead, err := s.cipher(secret)
	if err != nil {
		return s, fmt.Errorf("seal certificate 0x%s: %w", k.Thumbprint, err)
	}
	s.Nonce = make([]byte, aead.NonceSize())
	if _, err := rand.Read(s.Nonce); err != nil {
		return s, fmt.Errorf("seal certificate 0x%s: %w", k.Thumbprint, err)
	}
	plain, err := json.Marshal(k)
	if err != nil {
		return s, fmt.Errorf("seal certificate 0x%s: %w", k.Thumbprint, err)
	}
	s.Sealed = aead.Seal(nil, s.Nonce, plain, s.bound())
	return s, nil
}

// Open decrypts the private key. The error is ErrSeal where the secret does not.
func (s SealedKey) Open(secret []byte) (Key, error) {
	k := Key{Name: s.Name, Thumbprint: s.Thumbprint, Certificate: s.Certificate}
	aead, err := s.cipher(secret)
	if err != nil {
		return Key{}, fmt.Errorf("open certificate 0x%s: %w", s.Thumbprint, err)
	}
	if len(s.Nonce) != aead.NonceSize() {
		return Key{}, fmt.Errorf("open certificate 0x%s: %w", s.Thumbprint, ErrSeal)
	}
	plain, err := aead.Open(nil, s.Nonce, s.Sealed, s.bound())
	if err == nil {
		err = json.Unmarshal(plain, &k)
	}
	if err != nil {
		return Key{}, fmt.Errorf("open certificate 0x%s: %w", s.Thumbprint, ErrSeal)
	}
	return k, nil
}

func (s SealedKey) cipher(secret []byte) (cipher.AEAD, error) {
	key, err := pbkdf2.Key(sha256.New, string(secret), s.Salt, s.Rounds, sealKey)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// bound is what cannot be changed without the seal's breaking.
func (s SealedKey) bound() []byte {
	return fmt.Appendf(nil, "%d\n%s\n%q\n%x", s.Format, s.Thumbprint, s.Name, s.Certificate)
}

// Encode makes the object.
func (s SealedKey) Encode() ([]byte, error) {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe certificate 0x%s: %w", s.Thumbprint, err)
	}
	return append(content, '\n'), nil
}

// DecodeKey reads a sealed key's object. One of a newer form is an error.
func DecodeKey(content []byte) (SealedKey, error) {
	var s SealedKey
	if err := json.Unmarshal(content, &s); err != nil {
		return s, fmt.Errorf("a sealed key: %w", err)
	}
	switch {
	case s.Format < 1 || s.Format > sealFormat:
		return s, fmt.Errorf("a sealed key has format %d; this release reads 1 to %d", s.Format, sealFormat)
	case s.Rounds < 1 || s.Rounds > sealRoundsMost || len(s.Salt) == 0 || s.Thumbprint == "" || len(s.Certificate) == 0:
		return s, errors.New("a sealed key lacks thumbprint, certificate, salt or rounds")
	}
	return s, nil
}
