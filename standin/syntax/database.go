// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// CreateDatabase is CREATE DATABASE (docs/t-sql/statements/create-database-transact-sql.md).
type CreateDatabase struct {
	own
	Name string
	// Containment is NONE or PARTIAL, empty when not given.
	Containment string
	Files, Logs []FileSpec
	// FileGroups are those beside PRIMARY, whose files are Files.
	FileGroups []FileGroupSpec
	Collation  string
	// ForAttach is FOR ATTACH, ForAttachRebuildLog FOR ATTACH_REBUILD_LOG.
	ForAttach, ForAttachRebuildLog bool
	// SnapshotOf is the source of AS SNAPSHOT OF, empty for an ordinary database.
	SnapshotOf string
	Options    []DatabaseOption
}

// FileSpec is a file of a database; nil is not given.
type FileSpec struct {
	LogicalName string
	// NewName is MODIFY FILE's NEWNAME.
	NewName  *string
	FileName *string
	Size     *FileSize
	MaxSize  *FileSize // Unlimited possible
	Growth   *FileSize // Percent possible
	Offline  bool
}

// FileSize is a size in KB, a percentage, or unlimited.
type FileSize struct {
	KB                 int64
	Percent, Unlimited bool
}

// AlterDatabase is ALTER DATABASE (docs/t-sql/statements/alter-database-transact-sql.md and its pages on SET options,
// SET HADR, and files). Current is true for ALTER DATABASE CURRENT.
type AlterDatabase struct {
	own
	Name    string
	Current bool
	// Action is one of the DB... types below.
	Action any
}

type (
	// DBSet is SET option [, option]... [WITH termination].
	DBSet struct {
		Options []DatabaseOption
		// RollbackImmediate, RollbackAfter (seconds, when > 0) and NoWait are the termination.
		RollbackImmediate, NoWait bool
		RollbackAfter             int64
	}
	// DBSetHADR is SET HADR; Action is JOIN (SET HADR AVAILABILITY GROUP = Group), OFF, SUSPEND or RESUME.
	DBSetHADR struct{ Action, Group string }
	// DBModifyName is MODIFY NAME.
	DBModifyName struct{ NewName string }
	// DBAddFile is ADD FILE, or ADD LOG FILE when Log is true. FileGroup is empty where the statement names none.
	DBAddFile struct {
		Files     []FileSpec
		Log       bool
		FileGroup string
	}
	// DBModifyFile is MODIFY FILE, DBRemoveFile REMOVE FILE.
	DBModifyFile struct{ File FileSpec }
	DBRemoveFile struct{ LogicalName string }
	// DBCollate is COLLATE.
	DBCollate struct{ Collation string }
)

// DatabaseOption is an option of SET or CREATE DATABASE ... WITH. Value is in upper case; a flag has none.
type DatabaseOption struct {
	// Name is in upper case: RECOVERY, READ_ONLY, SINGLE_USER, ALLOW_SNAPSHOT_ISOLATION, COMPATIBILITY_LEVEL, ...
	Name  string
	Value string
	// Parts are those of QUERY_STORE; numbers are in the units of sys.database_query_store_options.
	Parts []DatabaseOption
}

// DropDatabase is DROP DATABASE [IF EXISTS] name [, name]...
type DropDatabase struct {
	own
	IfExists bool
	Names    []string
}

func parseDatabase(p *parser) ast.Statement {
	switch {
	case p.accept("ALTER", "DATABASE", "SCOPED", "CONFIGURATION"):
		return p.parseScopedConfiguration()
	case p.peekAt(1).Is("DATABASE") && p.peekAt(2).Is("SCOPED") && p.peekAt(3).Is("CREDENTIAL"):
		return nil
	case p.is("CREATE", "DATABASE", "ENCRYPTION", "KEY"),
		p.is("ALTER", "DATABASE", "ENCRYPTION", "KEY"),
		p.is("DROP", "DATABASE", "ENCRYPTION", "KEY"):
		p.unsupported("A database encryption key")
	case p.peekAt(1).Is("DATABASE") && p.peekAt(2).Is("AUDIT") && p.peekAt(3).Is("SPECIFICATION"):
		p.unsupported(p.peek().Fold + " DATABASE AUDIT SPECIFICATION")
	case p.accept("CREATE", "DATABASE"):
		return p.createDatabase()
	case p.accept("ALTER", "DATABASE"):
		n := &AlterDatabase{Current: p.accept("CURRENT")}
		if !n.Current {
			n.Name = p.name()
		}
		n.Action = p.databaseAction()
		return n
	case p.accept("DROP", "DATABASE"):
		n := &DropDatabase{IfExists: p.accept("IF", "EXISTS")}
		n.Names = p.names()
		return n
	}
	return nil
}

func (p *parser) createDatabase() ast.Statement {
	n := &CreateDatabase{Name: p.name()}
	if p.accept("CONTAINMENT", "=") {
		n.Containment = p.oneOf("NONE", "PARTIAL")
	}
	if p.accept("ON") {
		p.createdFiles(n)
		if p.accept("LOG", "ON") {
			n.Logs = p.fileSpecs()
		}
	} else if p.accept("LOG", "ON") {
		p.refuseWith(188)
	}
	if p.accept("COLLATE") {
		n.Collation = p.name()
	}
	switch {
	case n.Files == nil && p.is("FOR"):
		p.refuse()
	case p.accept("FOR", "ATTACH"):
		n.ForAttach = true
		if p.accept("WITH") {
			n.Options = p.optionList(p.attachOption)
		}
	case p.accept("FOR", "ATTACH_REBUILD_LOG"):
		n.ForAttachRebuildLog = true
	case p.accept("AS", "SNAPSHOT", "OF"):
		n.SnapshotOf = p.name()
	case p.accept("WITH"):
		n.Options = p.optionList(p.createOption)
	}
	return n
}

func (p *parser) databaseAction() any {
	switch {
	case p.accept("SET", "HADR"):
		return p.setHADR()
	case p.accept("SET"):
		return p.databaseSet()
	case p.accept("MODIFY", "NAME", "="):
		return DBModifyName{p.name()}
	case p.accept("MODIFY", "FILE"):
		return DBModifyFile{p.fileSpec()}
	case p.accept("ADD", "LOG", "FILE"):
		return DBAddFile{Files: p.fileSpecs(), Log: true}
	case p.accept("ADD", "FILE"):
		a := DBAddFile{Files: p.fileSpecs()}
		if p.accept("TO", "FILEGROUP") {
			a.FileGroup = p.fileGroupName()
		}
		return a
	case p.accept("REMOVE", "FILE"):
		return DBRemoveFile{p.fileName()}
	case p.accept("COLLATE"):
		return DBCollate{p.name()}
	}
	if a := p.fileGroupAction(); a != nil {
		return a
	}
	p.refuse()
	return nil
}

func (p *parser) setHADR() any {
	if p.accept("AVAILABILITY", "GROUP", "=") {
		return DBSetHADR{Action: "JOIN", Group: p.name()}
	}
	return DBSetHADR{Action: p.oneOf("OFF", "SUSPEND", "RESUME")}
}

func (p *parser) databaseSet() any {
	a := DBSet{Options: p.databaseOptions()}
	p.termination(&a)
	return a
}

// termination parses WITH <termination>, if there is one.
func (p *parser) termination(a *DBSet) {
	if !p.accept("WITH") {
		return
	}
	switch {
	case p.accept("NO_WAIT"):
		a.NoWait = true
	case p.accept("ROLLBACK", "IMMEDIATE"):
		a.RollbackImmediate = true
	default:
		p.expect("ROLLBACK", "AFTER")
		a.RollbackAfter = p.integer()
		p.accept("SECONDS")
	}
}

func (p *parser) fileSpecs() []FileSpec {
	all := []FileSpec{p.fileSpec()}
	for p.accept(",") {
		all = append(all, p.fileSpec())
	}
	return all
}

// fileName parses a logical file name: a name or a string.
func (p *parser) fileName() string {
	if p.peek().Kind == token.String {
		return p.stringLiteral()
	}
	return p.name()
}

func (p *parser) fileSpec() FileSpec {
	f := FileSpec{}
	seen := map[string]bool{}
	p.list(func() {
		p.once(seen, p.peek().Fold)
		switch {
		case p.valued("NAME"):
			f.LogicalName = p.fileName()
		case p.valued("NEWNAME"):
			f.NewName = ptr(p.fileName())
		case p.valued("FILENAME"):
			f.FileName = ptr(p.stringLiteral())
		case p.valued("SIZE"):
			f.Size = ptr(p.fileSize(false))
		case p.accept("MAXSIZE", "=", "UNLIMITED"):
			f.MaxSize = &FileSize{Unlimited: true}
		case p.valued("MAXSIZE"):
			f.MaxSize = ptr(p.fileSize(false))
		case p.valued("FILEGROWTH"):
			f.Growth = ptr(p.fileSize(true))
		case p.accept("OFFLINE"):
			f.Offline = true
		default:
			p.unknownOption("CREATE/ALTER DATABASE")
		}
	})
	return f
}

// fileSize parses n [KB|MB|GB|TB|%]; megabytes are the default.
func (p *parser) fileSize(percent bool) FileSize {
	s := FileSize{KB: p.integerIn(0, 1<<31-1)}
	switch {
	case p.accept("KB"):
	case p.accept("GB"):
		s.KB *= 1 << 20
	case p.accept("TB"):
		s.KB *= 1 << 30
	case percent && p.accept("%"):
		s.Percent = true
	default:
		p.accept("MB")
		s.KB *= 1 << 10
	}
	return s
}
