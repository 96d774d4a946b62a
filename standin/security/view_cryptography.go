// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
)

var keyEncryptions = map[string]string{noPrivateKey: "NO_PRIVATE_KEY", byMasterKey: "ENCRYPTED_BY_MASTER_KEY",
	byPassword: "ENCRYPTED_BY_PASSWORD"}

func (e *Extension) installCryptographyViews(r *engine.Registry) {
	e.view(r, "certificates", documented("sys.certificates"), e.certificateRows)
	e.view(r, "symmetric_keys", documented("sys.symmetric_keys"), e.symmetricKeyRows)
	// docs/relational-databases/system-catalog-views/sys-key-encryptions-transact-sql.md
	e.view(r, "key_encryptions", columns("key_id int", "thumbprint varbinary(32)", "crypt_type char(4)",
		"crypt_type_desc nvarchar(60)", "crypt_property varbinary(max)"), e.keyEncryptionRows)
}

func (e *Extension) certificateRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	db := s.ViewDatabase()
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	var rows []viewRow
	for _, cert := range c.certificates {
		if !e.may(ctx, s, db, securable{class: classCertificate, major: cert.ID}, "VIEW DEFINITION") {
			continue
		}
		parsed, err := cert.x509()
		if err != nil {
			return nil, err
		}
		row := viewRow{"name": cert.Name, "certificate_id": cert.ID, "principal_id": cert.Owner,
			"pvt_key_encryption_type": cert.Encryption, "pvt_key_encryption_type_desc": keyEncryptions[cert.Encryption],
			"is_active_for_begin_dialog": cert.ActiveForBegin, "issuer_name": distinguished(parsed.Issuer),
			"cert_serial_number": serialText(parsed), "sid": certificateSID(cert.Thumbprint),
			"string_sid": sidText(certificateSID(cert.Thumbprint)), "subject": distinguished(parsed.Subject),
			"expiry_date": parsed.NotAfter.UTC(), "start_date": parsed.NotBefore.UTC(), "thumbprint": cert.Thumbprint,
			"pvt_key_last_backup_date": cert.LastBackup}
		rows = append(rows, row)
	}
	return rows, nil
}

// distinguished is a name as the certificate views show it: the bare common name when there's nothing else.
func distinguished(name pkix.Name) string {
	if len(name.Names) == 1 && name.CommonName != "" {
		return name.CommonName
	}
	return name.String()
}

// serialText is a serial number as pairs of hexadecimal digits, its first 16 bytes.
func serialText(c *x509.Certificate) string {
	b := c.SerialNumber.Bytes()
	if len(b) > 16 {
		b = b[:16]
	}
	pairs := make([]string, len(b))
	for i, x := range b {
		pairs[i] = hex.EncodeToString([]byte{x})
	}
	return strings.Join(pairs, " ")
}

// sidText is a security identifier in its S-1-... form ([MS-DTYP] 2.4.2.1).
func sidText(sid []byte) string {
	if len(sid) < 8 {
		return "0x" + strings.ToUpper(hex.EncodeToString(sid))
	}
	var authority uint64
	for _, b := range sid[2:8] {
		authority = authority<<8 | uint64(b)
	}
	text := fmt.Sprintf("S-%d-%d", sid[0], authority)
	for i := 8; i+4 <= len(sid); i += 4 {
		text += fmt.Sprintf("-%d", uint32(sid[i])|uint32(sid[i+1])<<8|uint32(sid[i+2])<<16|uint32(sid[i+3])<<24)
	}
	return text
}

func (e *Extension) symmetricKeyRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	db := s.ViewDatabase()
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	if !e.mayDatabase(ctx, s, db, "VIEW DEFINITION") {
		return nil, nil
	}
	row := func(name string, id int32) viewRow {
		return viewRow{"name": name, "principal_id": int32(dboID), "symmetric_key_id": id, "key_length": keyBytes * 8,
			"key_algorithm": "A3", "algorithm_desc": "AES_256"}
	}
	var rows []viewRow
	if k := c.masterKey(); k != nil {
		r := row("##MS_DatabaseMasterKey##", k.ID)
		r["create_date"], r["modify_date"], r["key_guid"] = k.Created, k.Modified, k.GUID
		rows = append(rows, r)
	}
	if db == e.master() {
		r := row("##MS_ServiceMasterKey##", serviceMasterKeyID)
		r["create_date"], r["modify_date"] = db.Info().Created, db.Info().Created
		rows = append(rows, r)
	}
	return rows, nil
}

func (e *Extension) keyEncryptionRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	db := s.ViewDatabase()
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	k := c.masterKey()
	if k == nil || !e.mayDatabase(ctx, s, db, "VIEW DEFINITION") {
		return nil, nil
	}
	var rows []viewRow
	if k.ByService != nil {
		rows = append(rows, viewRow{"key_id": k.ID, "crypt_type": "ESKM", "crypt_type_desc": "ENCRYPTION BY MASTER KEY"})
	}
	for range k.ByPasswords {
		rows = append(rows, viewRow{"key_id": k.ID, "crypt_type": "ESKP", "crypt_type_desc": "ENCRYPTION BY PASSWORD"})
	}
	return rows, nil
}
