// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/sqlc-dev/teesql/ast"

// CreateCertificate is CREATE CERTIFICATE (docs/t-sql/statements/create-certificate-transact-sql.md). File or Binary is
// given when the certificate is Imported, else Subject.
type CreateCertificate struct {
	own
	Name string
	// Authorization is the owning user, empty for the creator.
	Authorization string
	Imported      bool
	File          string
	Binary        []byte
	PrivateKey    *PrivateKeyOptions
	// EncryptionPassword protects a made private key; empty: the database master key does.
	EncryptionPassword string
	Subject            string
	// StartDate and ExpiryDate are UTC date texts, empty when not given.
	StartDate, ExpiryDate string
	// ActiveForBeginDialog is nil when not given.
	ActiveForBeginDialog *bool
}

// PrivateKeyOptions are WITH PRIVATE KEY ( ... ); empty ones are not given.
type PrivateKeyOptions struct {
	File               string
	Binary             []byte
	DecryptionPassword string
	EncryptionPassword string
}

// AlterCertificate is ALTER CERTIFICATE (docs/t-sql/statements/alter-certificate-transact-sql.md).
type AlterCertificate struct {
	own
	Name string
	// RemovePrivateKey is REMOVE PRIVATE KEY.
	RemovePrivateKey bool
	PrivateKey       *PrivateKeyOptions
	// ActiveForBeginDialog is nil when not given.
	ActiveForBeginDialog *bool
}

// DropCertificate is DROP CERTIFICATE.
type DropCertificate struct {
	own
	Name string
}

// BackupCertificate is BACKUP CERTIFICATE (docs/t-sql/statements/backup-certificate-transact-sql.md).
type BackupCertificate struct {
	own
	Name       string
	File       string
	PrivateKey *PrivateKeyOptions
}

func parseCertificate(p *parser) ast.Statement {
	switch {
	case p.accept("CREATE", "CERTIFICATE"):
		return p.createCertificate()
	case p.accept("ALTER", "CERTIFICATE"):
		return p.alterCertificate()
	case p.accept("DROP", "CERTIFICATE"):
		return &DropCertificate{Name: p.name()}
	case p.accept("BACKUP", "CERTIFICATE"):
		n := &BackupCertificate{Name: p.name()}
		p.toFile("BACKUP CERTIFICATE")
		n.File = p.stringLiteral()
		p.personalExchange("BACKUP CERTIFICATE")
		if p.accept("WITH", "PRIVATE", "KEY") {
			n.PrivateKey = p.privateKey(false)
			if n.PrivateKey.File == "" || n.PrivateKey.EncryptionPassword == "" {
				p.refuse()
			}
		}
		return n
	}
	return nil
}

func (p *parser) createCertificate() ast.Statement {
	n := &CreateCertificate{Name: p.name()}
	if p.accept("AUTHORIZATION") {
		n.Authorization = p.name()
	}
	if n.Imported = p.accept("FROM"); n.Imported {
		switch {
		case p.is("EXECUTABLE", "FILE"), p.is("ASSEMBLY"):
			p.unsupported("CREATE CERTIFICATE FROM " + p.peek().Fold)
		case p.accept("BINARY", "="):
			n.Binary = p.binary()
		default:
			p.expect("FILE", "=")
			n.File = p.stringLiteral()
		}
		p.personalExchange("CREATE CERTIFICATE")
		if p.accept("WITH", "PRIVATE", "KEY") {
			n.PrivateKey = p.privateKey(true)
			if n.PrivateKey.File == "" && n.PrivateKey.Binary == nil {
				p.at-- // the parenthesis that ends the options
				p.refuse()
			}
		}
	} else {
		p.newCertificate(n)
	}
	n.ActiveForBeginDialog = p.activeForBeginDialog()
	return n
}

// toFile parses TO FILE =. TO URL is for storage in Azure.
func (p *parser) toFile(statement string) {
	if p.is("TO", "URL") {
		p.unsupported(statement + " TO URL")
	}
	p.expect("TO", "FILE", "=")
}

// personalExchange refuses WITH FORMAT = 'PFX' of SQL Server 2022.
func (p *parser) personalExchange(statement string) {
	if p.is("WITH", "FORMAT", "=") {
		p.unsupported(statement + " WITH FORMAT")
	}
}

func (p *parser) newCertificate(n *CreateCertificate) {
	if p.accept("ENCRYPTION") {
		n.EncryptionPassword = p.byPassword()
	}
	p.expect("WITH")
	seen := map[string]bool{}
	for {
		p.once(seen, p.peek().Fold)
		switch {
		case p.valued("SUBJECT"):
			n.Subject = p.stringLiteral()
		case p.valued("START_DATE"):
			n.StartDate = p.stringLiteral()
		case p.valued("EXPIRY_DATE"):
			n.ExpiryDate = p.stringLiteral()
		default:
			p.unknownOption("CREATE CERTIFICATE")
		}
		if !p.accept(",") {
			break
		}
	}
	if !seen["SUBJECT"] {
		p.refuse()
	}
}

func (p *parser) alterCertificate() ast.Statement {
	n := &AlterCertificate{Name: p.name()}
	switch {
	case p.accept("REMOVE", "PRIVATE", "KEY"):
		n.RemovePrivateKey = true
	case p.accept("WITH", "PRIVATE", "KEY"):
		n.PrivateKey = p.privateKey(true)
	default:
		p.accept("WITH")
		if n.ActiveForBeginDialog = p.activeForBeginDialog(); n.ActiveForBeginDialog == nil {
			p.refuse()
		}
	}
	return n
}

func (p *parser) activeForBeginDialog() *bool {
	if !p.accept("ACTIVE", "FOR", "BEGIN_DIALOG") {
		return nil
	}
	p.expect("=")
	return ptr(p.onOff())
}

// byPassword parses BY PASSWORD = 'password'.
func (p *parser) byPassword() string {
	p.expect("BY", "PASSWORD", "=")
	return p.stringLiteral()
}

func (p *parser) privateKey(binary bool) *PrivateKeyOptions {
	o := &PrivateKeyOptions{}
	seen := map[string]bool{}
	p.list(func() {
		p.once(seen, p.peek().Fold)
		switch {
		case p.accept("FILE", "="):
			o.File = p.stringLiteral()
		case binary && p.accept("BINARY", "="):
			o.Binary = p.binary()
		case p.accept("DECRYPTION"):
			o.DecryptionPassword = p.byPassword()
		case p.accept("ENCRYPTION"):
			o.EncryptionPassword = p.byPassword()
		default:
			p.unknownOption("PRIVATE KEY")
		}
	})
	if seen["FILE"] && seen["BINARY"] {
		p.refuse()
	}
	return o
}
