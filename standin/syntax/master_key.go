// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// CreateMasterKey is CREATE MASTER KEY (docs/t-sql/statements/create-master-key-transact-sql.md).
type CreateMasterKey struct {
	own
	Password string
}

// AlterMasterKey is ALTER MASTER KEY (docs/t-sql/statements/alter-master-key-transact-sql.md).
type AlterMasterKey struct {
	own
	// Regenerate is [FORCE] REGENERATE WITH ENCRYPTION BY PASSWORD.
	Regenerate, Force bool
	// Add is ADD ENCRYPTION, Drop DROP ENCRYPTION: BY SERVICE MASTER KEY, or BY PASSWORD when Password is given.
	Add, Drop        bool
	ServiceMasterKey bool
	Password         string
}

// DropMasterKey is DROP MASTER KEY.
type DropMasterKey struct{ own }

// OpenMasterKey is OPEN MASTER KEY DECRYPTION BY PASSWORD, CloseMasterKey CLOSE MASTER KEY.
type OpenMasterKey struct {
	own
	Password string
}

// CloseMasterKey is CLOSE MASTER KEY.
type CloseMasterKey struct{ own }

// BackupMasterKey is BACKUP MASTER KEY (docs/t-sql/statements/backup-master-key-transact-sql.md).
type BackupMasterKey struct {
	own
	File, Password string
}

// RestoreMasterKey is RESTORE MASTER KEY (docs/t-sql/statements/restore-master-key-transact-sql.md).
type RestoreMasterKey struct {
	own
	File, DecryptionPassword, EncryptionPassword string
	Force                                        bool
}

func parseMasterKey(p *parser) ast.Statement {
	switch {
	case p.is("BACKUP", "SERVICE", "MASTER", "KEY"), p.is("RESTORE", "SERVICE", "MASTER", "KEY"):
		p.unsupported(p.peek().Fold + " SERVICE MASTER KEY")
	case p.is("BACKUP", "SYMMETRIC", "KEY"), p.is("RESTORE", "SYMMETRIC", "KEY"):
		p.unsupported(p.peek().Fold + " SYMMETRIC KEY")
	case p.accept("CREATE", "MASTER", "KEY"):
		if k := p.peek().Kind; k == token.End ||
			p.is(";") { // docs/t-sql/statements/create-master-key-transact-sql.md: the password may be left out in Azure
			p.unsupported("CREATE MASTER KEY without a password")
		}
		p.expect("ENCRYPTION")
		return &CreateMasterKey{Password: p.byPassword()}
	case p.accept("ALTER", "MASTER", "KEY"):
		return p.alterMasterKey()
	case p.accept("DROP", "MASTER", "KEY"):
		return &DropMasterKey{}
	case p.accept("OPEN", "MASTER", "KEY"):
		p.expect("DECRYPTION")
		return &OpenMasterKey{Password: p.byPassword()}
	case p.accept("CLOSE", "MASTER", "KEY"):
		return &CloseMasterKey{}
	case p.accept("BACKUP", "MASTER", "KEY"):
		n := &BackupMasterKey{}
		p.toFile("BACKUP MASTER KEY")
		n.File = p.stringLiteral()
		p.expect("ENCRYPTION")
		n.Password = p.byPassword()
		return n
	case p.accept("RESTORE", "MASTER", "KEY"):
		if p.is("FROM", "URL") {
			p.unsupported("RESTORE MASTER KEY FROM URL")
		}
		n := &RestoreMasterKey{}
		p.expect("FROM", "FILE", "=")
		n.File = p.stringLiteral()
		p.expect("DECRYPTION")
		n.DecryptionPassword = p.byPassword()
		p.expect("ENCRYPTION")
		n.EncryptionPassword = p.byPassword()
		n.Force = p.accept("FORCE")
		return n
	}
	return nil
}

func (p *parser) alterMasterKey() ast.Statement {
	n := &AlterMasterKey{Force: p.accept("FORCE")}
	if n.Force || p.is("REGENERATE") {
		p.expect("REGENERATE", "WITH", "ENCRYPTION")
		n.Regenerate, n.Password = true, p.byPassword()
		return n
	}
	n.Add = p.oneOf("ADD", "DROP") == "ADD"
	n.Drop = !n.Add
	p.expect("ENCRYPTION")
	if p.accept("BY", "SERVICE", "MASTER", "KEY") {
		n.ServiceMasterKey = true
		return n
	}
	n.Password = p.byPassword()
	return n
}
