// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// How a private key is encrypted, sys.certificates.pvt_key_encryption_type.
const (
	noPrivateKey = "NA"
	byMasterKey  = "MK"
	byPassword   = "PW"
)

const (
	firstCertificate int32 = 257
	// privateKeyBits is the length of keys made here (2048 since SQL Server 2016), maxPrivateKeyBits and
	// minPrivateKeyBits those of imported ones (docs/t-sql/statements/create-certificate-transact-sql.md, "Remarks").
	privateKeyBits    = 2048
	minPrivateKeyBits = 384
	maxPrivateKeyBits = 4096
	// maxSubject is the longest subject on Linux (the same page, "SUBJECT").
	maxSubject = 64
)

// certificate is a certificate of a database.
type certificate struct {
	ID         int32  `json:"id"`
	Name       string `json:"name"`
	Owner      int32  `json:"owner"`
	DER        []byte `json:"der"`
	Thumbprint []byte `json:"thumbprint"`
	// Encryption says how Private (PKCS #1) is encrypted.
	Encryption     string    `json:"encryption"`
	Private        []byte    `json:"private,omitempty"`
	ActiveForBegin bool      `json:"activeForBegin,omitempty"`
	Subject        string    `json:"subject,omitempty"`
	LastBackup     time.Time `json:"lastBackup"`
}

func (c *certificate) key() int32 { return c.ID }

func (c *databaseCatalog) certificate(name string) *certificate {
	for _, cert := range c.certificates {
		if strings.EqualFold(cert.Name, name) {
			return cert
		}
	}
	return nil
}

func (c *databaseCatalog) certificateByID(id int32) *certificate {
	for _, cert := range c.certificates {
		if cert.ID == id {
			return cert
		}
	}
	return nil
}

// x509 is the certificate itself.
func (c *certificate) x509() (*x509.Certificate, error) {
	parsed, err := x509.ParseCertificate(c.DER)
	if err != nil {
		return nil, failure(15297, 1)
	}
	return parsed, nil
}

func thumbprint(der []byte) []byte {
	sum := sha1.Sum(der)
	return sum[:]
}

func (e *Extension) createCertificate(ctx context.Context, s *engine.Session, n *syntax.CreateCertificate) error {
	db := s.CurrentDatabase()
	if !e.mayDatabase(ctx, s, db, "CREATE CERTIFICATE", "ALTER ANY CERTIFICATE") {
		return notPermitted()
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	if catalog.certificate(n.Name) != nil {
		return failure(15232, 1, n.Name)
	}
	owner, err := e.certificateOwner(ctx, s, db, catalog, n.Authorization)
	if err != nil {
		return err
	}
	c := &certificate{Name: n.Name, Owner: owner, Encryption: noPrivateKey,
		ActiveForBegin: n.ActiveForBeginDialog == nil || *n.ActiveForBeginDialog}
	if n.Imported {
		err = e.importCertificate(s, db, catalog, c, n)
	} else {
		err = e.makeCertificate(s, db, catalog, c, n)
	}
	if err != nil {
		return err
	}
	for _, other := range catalog.certificates {
		if string(other.Thumbprint) == string(c.Thumbprint) {
			return failure(15232, 2, n.Name)
		}
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		if c.ID, err = nextID(tx, tableCertificates, firstCertificate); err != nil {
			return err
		}
		return put(tx, tableCertificates, c)
	})
}

// certificateOwner is AUTHORIZATION's user or the creator's; roles own no certificates.
func (e *Extension) certificateOwner(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	c *databaseCatalog,
	name string,
) (int32, error) {
	owner, err := e.ownerOf(ctx, s, db, c, name)
	if err != nil {
		return 0, err
	}
	if u := c.userByID(owner); u != nil && u.Type == rolePrincipal {
		return 0, failure(15345, 1, "certificate")
	}
	return owner, nil
}

// makeCertificate makes a key pair and a self-signed certificate. Errors: 15212 subject, 15213 dates, 15581 no master
// key.
func (e *Extension) makeCertificate(
	s *engine.Session,
	db *engine.Database,
	catalog *databaseCatalog,
	c *certificate,
	n *syntax.CreateCertificate,
) error {
	if length := utf8.RuneCountInString(n.Subject); length == 0 || length > maxSubject {
		return failure(15212, 1, maxSubject)
	}
	start, end, err := e.validity(n)
	if err != nil {
		return err
	}
	if n.EncryptionPassword != "" {
		if err := checkPassword("", n.EncryptionPassword, true); err != nil {
			return err
		}
	} else if _, err := e.databaseKey(s, db, catalog); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, privateKeyBits)
	if err != nil {
		return failure(15508, 1)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return failure(15508, 2)
	}
	name := pkix.Name{CommonName: commonName(n.Subject)}
	template := &x509.Certificate{SerialNumber: serial, Subject: name, Issuer: name, NotBefore: start, NotAfter: end,
		SignatureAlgorithm: x509.SHA256WithRSA}
	c.DER, err = x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return failure(15297, 2)
	}
	c.Thumbprint, c.Subject = thumbprint(c.DER), n.Subject
	return e.sealPrivateKey(s, db, catalog, c, key, n.EncryptionPassword)
}

// commonName is what a subject text says: its CN where it is written as a distinguished name, else all of it.
func commonName(subject string) string {
	first, _, _ := strings.Cut(subject, ",")
	if key, value, ok := strings.Cut(first, "="); ok && strings.EqualFold(strings.TrimSpace(key), "CN") {
		return strings.TrimSpace(value)
	}
	return subject
}

func (e *Extension) validity(n *syntax.CreateCertificate) (start, end time.Time, err error) {
	start = e.now().UTC().Truncate(time.Second)
	if n.StartDate != "" {
		if start, err = dateText(n.StartDate); err != nil {
			return start, end, err
		}
	}
	end = start.AddDate(1, 0, 0)
	if n.ExpiryDate != "" {
		if end, err = dateText(n.ExpiryDate); err != nil {
			return start, end, err
		}
	}
	if end.Before(start) {
		return start, end, failure(15213, 1)
	}
	return start, end, nil
}

// dateText is a START_DATE or EXPIRY_DATE in UTC: whatever can be a date and time in T-SQL.
func dateText(text string) (time.Time, error) {
	v, e := sqltype.Convert(
		text,
		sqltype.NVarCharOf(max(1, utf8.RuneCountInString(text))),
		sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 3},
		0,
		sqltype.Implicit,
	)
	if e != nil {
		return time.Time{}, e
	}
	return v.(time.Time).UTC(), nil
}

// importCertificate takes a certificate, and its private key when given, from files or binary constants.
func (e *Extension) importCertificate(
	s *engine.Session,
	db *engine.Database,
	catalog *databaseCatalog,
	c *certificate,
	n *syntax.CreateCertificate,
) error {
	der := n.Binary
	if n.File != "" {
		data, err := os.ReadFile(e.filePath(n.File))
		if err != nil {
			return failure(15208, 1)
		}
		der = data
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return failure(15208, 2)
	}
	if _, ok := parsed.PublicKey.(*rsa.PublicKey); !ok {
		return failure(15464, 1)
	}
	c.DER, c.Thumbprint = der, thumbprint(der)
	if n.PrivateKey == nil {
		return nil
	}
	return e.loadPrivateKey(s, db, catalog, c, n.PrivateKey)
}

// loadPrivateKey adds a private key from a PVK file or binary constant.
func (e *Extension) loadPrivateKey(
	s *engine.Session,
	db *engine.Database,
	catalog *databaseCatalog,
	c *certificate,
	o *syntax.PrivateKeyOptions,
) error {
	data := o.Binary
	if o.File != "" {
		var err error
		if data, err = os.ReadFile(e.filePath(o.File)); err != nil {
			return failure(15208, 3)
		}
	}
	key, err := parsePVK(data, o.DecryptionPassword)
	if err != nil {
		return err
	}
	if bits := key.N.BitLen(); bits < minPrivateKeyBits || bits > maxPrivateKeyBits {
		return failure(15464, 1)
	}
	parsed, err := c.x509()
	if err != nil {
		return err
	}
	if public, ok := parsed.PublicKey.(*rsa.PublicKey); !ok || !public.Equal(&key.PublicKey) {
		return failure(15474, 1, "certificate")
	}
	return e.sealPrivateKey(s, db, catalog, c, key, o.EncryptionPassword)
}

// sealPrivateKey encrypts the key by the password, or by the database master key without one.
func (e *Extension) sealPrivateKey(
	s *engine.Session,
	db *engine.Database,
	catalog *databaseCatalog,
	c *certificate,
	key *rsa.PrivateKey,
	password string,
) error {
	plain := x509.MarshalPKCS1PrivateKey(key)
	if password != "" {
		if err := checkPassword("", password, true); err != nil {
			return err
		}
		c.Encryption, c.Private = byPassword, sealByPassword(password, plain)
		return nil
	}
	master, err := e.databaseKey(s, db, catalog)
	if err != nil {
		return err
	}
	c.Encryption, c.Private = byMasterKey, seal(master, plain)
	return nil
}

// privateKey decrypts a certificate's private key. Errors: 15246 none, 15465 wrong password, 15581 no master key.
func (e *Extension) privateKey(
	s *engine.Session,
	db *engine.Database,
	catalog *databaseCatalog,
	c *certificate,
	password string,
) (*rsa.PrivateKey, error) {
	var plain []byte
	var err error
	switch c.Encryption {
	case byPassword:
		if plain, err = openByPassword(password, c.Private); err != nil {
			return nil, failure(15465, 1)
		}
	case byMasterKey:
		master, err := e.databaseKey(s, db, catalog)
		if err != nil {
			return nil, err
		}
		if plain, err = open(master, c.Private); err != nil {
			return nil, failure(15466, 1)
		}
	default:
		return nil, failure(15246, 1, c.Name)
	}
	key, err := x509.ParsePKCS1PrivateKey(plain)
	if err != nil {
		return nil, failure(15507, 1)
	}
	return key, nil
}

func (e *Extension) alterCertificate(ctx context.Context, s *engine.Session, n *syntax.AlterCertificate) error {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	found := catalog.certificate(n.Name)
	if found == nil || !e.may(ctx, s, db, securable{class: classCertificate, major: found.ID}, "ALTER") {
		return failure(15151, 1, "alter", "certificate", n.Name)
	}
	c := *found
	switch {
	case n.RemovePrivateKey:
		if c.Encryption == noPrivateKey {
			return failure(15563, 1, "certificate")
		}
		if err := e.notInUse(ctx, s, db, &c); err != nil {
			return err
		}
		c.Encryption, c.Private = noPrivateKey, nil
	case n.PrivateKey != nil && n.PrivateKey.File == "" && n.PrivateKey.Binary == nil:
		key, err := e.privateKey(s, db, catalog, &c, n.PrivateKey.DecryptionPassword)
		if err != nil {
			return err
		}
		if err := e.sealPrivateKey(s, db, catalog, &c, key, n.PrivateKey.EncryptionPassword); err != nil {
			return err
		}
	case n.PrivateKey != nil:
		if err := e.loadPrivateKey(s, db, catalog, &c, n.PrivateKey); err != nil {
			return err
		}
	}
	if n.ActiveForBeginDialog != nil {
		c.ActiveForBegin = *n.ActiveForBeginDialog
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error { return put(tx, tableCertificates, &c) })
}

// notInUse refuses to take a certificate away from an endpoint (15352).
func (e *Extension) notInUse(ctx context.Context, s *engine.Session, db *engine.Database, c *certificate) error {
	if db != e.master() {
		return nil
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	for _, ep := range catalog.endpoints {
		if ep.Certificate == c.ID {
			return failure(15352, 1, "certificate")
		}
	}
	return nil
}

func (e *Extension) dropCertificate(ctx context.Context, s *engine.Session, n *syntax.DropCertificate) error {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	c := catalog.certificate(n.Name)
	if c == nil || !e.may(ctx, s, db, securable{class: classCertificate, major: c.ID}, "CONTROL") &&
		!e.mayDatabase(ctx, s, db, "ALTER ANY CERTIFICATE") {
		return failure(15151, 1, "drop", "certificate", n.Name)
	}
	if err := e.notInUse(ctx, s, db, c); err != nil {
		return err
	}
	logins, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	sid := certificateSID(c.Thumbprint)
	if db == e.master() && logins.loginBySID(sid) != nil || catalog.userBySID(sid) != nil {
		return failure(15352, 2, "certificate")
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		for _, p := range catalog.permissions {
			if p.Class == classCertificate && p.Major == c.ID {
				if err := remove(tx, tablePermissions, p.ID); err != nil {
					return err
				}
			}
		}
		return remove(tx, tableCertificates, c.ID)
	})
}

func (e *Extension) backupCertificate(ctx context.Context, s *engine.Session, n *syntax.BackupCertificate) error {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	c := catalog.certificate(n.Name)
	right := "VIEW DEFINITION"
	if n.PrivateKey != nil {
		right = "CONTROL"
	}
	if c == nil || !e.may(ctx, s, db, securable{class: classCertificate, major: c.ID}, right) {
		return failure(15151, 1, "find", "certificate", n.Name)
	}
	var sealed []byte
	if n.PrivateKey != nil {
		if err := checkPassword("", n.PrivateKey.EncryptionPassword, true); err != nil {
			return err
		}
		key, err := e.privateKey(s, db, catalog, c, n.PrivateKey.DecryptionPassword)
		if err != nil {
			return err
		}
		sealed = formatPVK(key, n.PrivateKey.EncryptionPassword)
	}
	if err := writeNewFile(e.filePath(n.File), c.DER); err != nil {
		return err
	}
	if sealed == nil {
		return nil
	}
	if err := writeNewFile(e.filePath(n.PrivateKey.File), sealed); err != nil {
		os.Remove(e.filePath(n.File))
		return err
	}
	changed := *c
	changed.LastBackup = e.now().UTC()
	return e.writing(ctx, s, db, func(tx *storage.Tx) error { return put(tx, tableCertificates, &changed) })
}
