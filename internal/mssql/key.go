// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"geosql.dev/operator/internal/tsql"
)

// keyOfMaster is how sys.certificates tells that the database's master key encrypts a private key.
const keyOfMaster = "MK"

func scanCertificate(r Row) (c Certificate, err error) {
	var thumbprint []byte
	var encryption string
	err = r.Scan(&c.Name, &c.Expires, &c.DER, &c.Login, &thumbprint, &encryption)
	c.Thumbprint, c.PrivateKey = digits(thumbprint), strings.TrimSpace(encryption) == keyOfMaster
	return c, err
}

func readEncryptors(into map[string]Encryptor) read {
	return read{tsql.EncryptedDatabases(), func(r Row) error {
		var database, kind string
		var thumbprint []byte
		err := r.Scan(&database, &thumbprint, &kind)
		into[database] = Encryptor{Thumbprint: digits(thumbprint), Certificate: strings.EqualFold(kind, "CERTIFICATE")}
		return err
	}}
}

// Encryption is what an instance tells of what is encrypted, and by what.
type Encryption struct {
	// Encryptors are those of the databases that have an encryption key, by database.
	Encryptors map[string]Encryptor
	// Certificates are those of master, by name.
	Certificates map[string]Certificate
}

// Certificate is the one of a thumbprint, nil where there is none.
func (e Encryption) Certificate(thumbprint string) *Certificate {
	for _, c := range e.Certificates {
		if c.Thumbprint == thumbprint {
			return &c
		}
	}
	return nil
}

// EncryptorOf is what encrypts a database by its name, as the server's default collation compares it; false where it
// has no encryption key.
func (e Encryption) EncryptorOf(database string) (Encryptor, bool) {
	for name, encryptor := range e.Encryptors {
		if strings.EqualFold(name, database) {
			return encryptor, true
		}
	}
	return Encryptor{}, false
}

// ReadEncryptors reads which databases of an instance are encrypted, and by what.
func ReadEncryptors(ctx context.Context, q Querier) (map[string]Encryptor, error) {
	all := map[string]Encryptor{}
	err := readAll(ctx, q, "read what is encrypted", readEncryptors(all))
	return all, err
}

// ReadEncryption reads which databases of an instance are encrypted, and the certificates of its master, to which the
// connection is.
func ReadEncryption(ctx context.Context, q Querier) (Encryption, error) {
	e := Encryption{Encryptors: map[string]Encryptor{}, Certificates: map[string]Certificate{}}
	err := readAll(ctx, q, "read what is encrypted, and by what", readEncryptors(e.Encryptors),
		read{tsql.Certificates(), func(r Row) error {
			c, err := scanCertificate(r)
			e.Certificates[c.Name] = c
			return err
		}})
	return e, err
}

func digits(thumbprint []byte) string { return strings.ToUpper(hex.EncodeToString(thumbprint)) }

// Key is a certificate with its private key.
type Key struct {
	Name string
	// Thumbprint in hexadecimal digits.
	Thumbprint string
	// DER is the public part. PrivateKey is in PVK, encrypted by a password that is not here.
	DER, PrivateKey []byte
}

// ErrNoKey is the error of ReadKey where the instance has no such certificate, or does not give its private key.
var ErrNoKey = errors.New("no certificate with a private key that the master key opens")

// ReadKey reads a certificate of the connection's database by its thumbprint, in hexadecimal digits, with its private
// key encrypted by the password. It takes CONTROL of the certificate.
func ReadKey(ctx context.Context, q Querier, thumbprint, password string) (Key, error) {
	raw, err := hex.DecodeString(thumbprint)
	if err != nil {
		return Key{}, fmt.Errorf("thumbprint %q is not in hexadecimal digits: %w", thumbprint, err)
	}
	k := Key{Thumbprint: thumbprint}
	err = q.Query(ctx, tsql.ReadKey(raw, password), func(r Row) error { return r.Scan(&k.Name, &k.DER, &k.PrivateKey) })
	if err == nil && (len(k.DER) == 0 || len(k.PrivateKey) == 0) {
		err = ErrNoKey
	}
	if err != nil {
		return Key{}, fmt.Errorf("read certificate 0x%s with its private key on server %s: %w", thumbprint, q.Server(), err)
	}
	return k, nil
}

// Form is what makes the certificate at another instance; password is that by which the private key is encrypted, name
// what it is called there.
func (k Key) Form(name, password string) (tsql.KeyForm, error) {
	raw, err := hex.DecodeString(k.Thumbprint)
	if err != nil {
		return tsql.KeyForm{}, fmt.Errorf("thumbprint %q is not in hexadecimal digits: %w", k.Thumbprint, err)
	}
	return tsql.KeyForm{Name: name, Thumbprint: raw, DER: k.DER, PrivateKey: k.PrivateKey, Password: password}, nil
}
