// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// Restore is RESTORE DATABASE, LOG, HEADERONLY, FILELISTONLY, LABELONLY or VERIFYONLY
// (docs/t-sql/statements/restore-statements-transact-sql.md, restore-statements-arguments-transact-sql.md).
type Restore struct {
	own
	// Kind is DATABASE, LOG, HEADERONLY, FILELISTONLY, LABELONLY or VERIFYONLY.
	Kind string
	// Database (or Variable) is for DATABASE and LOG.
	Database, Variable string
	// Devices is empty for RESTORE DATABASE name WITH RECOVERY without FROM.
	Devices []BackupDevice
	Options RestoreOptions
}

// RestoreOptions are WITH's options; zero values are not given.
type RestoreOptions struct {
	TransferOptions
	Recovery, NoRecovery    bool
	Standby                 string
	Replace, Restart        bool
	RestrictedUser          bool
	KeepReplication         bool
	Checksum, NoChecksum    bool
	StopOnError             bool
	ContinueAfterError      bool
	LoadHistory             bool
	Move                    []MoveFile
	File                    int64 // the backup set's position, from 1; 0 when not given
	Stats                   *int64
	StopAt                  string
	StopAtMark              string
	StopBeforeMark          string
	MediaName               string
	EnableBroker, NewBroker bool
	ErrorBroker             bool
	// Variables are those that have an option's value, by the option's word.
	Variables map[string]string
}

// MoveFile is MOVE 'logical' TO 'path'.
type MoveFile struct{ LogicalName, Path string }

func parseRestore(p *parser) ast.Statement {
	p.expect("RESTORE")
	n := &Restore{Kind: p.oneOf("DATABASE", "LOG", "HEADERONLY", "FILELISTONLY", "LABELONLY", "VERIFYONLY")}
	if n.Kind == "DATABASE" || n.Kind == "LOG" {
		n.Database, n.Variable = p.nameOrVariable()
		if p.is("FILE", "=") || p.is("FILEGROUP", "=") || p.is("PAGE", "=") || p.is("READ_WRITE_FILEGROUPS") {
			p.unsupported("RESTORE of single files and pages")
		}
		if p.is("FROM", "DATABASE_SNAPSHOT", "=") {
			p.unsupported("RESTORE FROM DATABASE_SNAPSHOT")
		}
		if p.accept("FROM") {
			n.Devices = p.backupDevices()
		}
	} else {
		p.expect("FROM")
		n.Devices = p.backupDevices()
	}
	if p.accept("WITH") {
		p.restoreOptions(n)
	}
	return n
}

func (p *parser) restoreOptions(n *Restore) {
	seen := map[string]bool{}
	for {
		if !p.is("MOVE") {
			p.once(seen, p.peek().Fold)
		}
		p.absentOption("RESTORE", absentRestoreOptions)
		if !p.restoreOption(n) {
			p.unknownOption("RESTORE")
		}
		if !p.accept(",") {
			break
		}
	}
	for _, pair := range [][2]string{{"RECOVERY", "NORECOVERY"}, {"RECOVERY", "STANDBY"}, {"NORECOVERY", "STANDBY"},
		{"CHECKSUM", "NO_CHECKSUM"}, {"STOP_ON_ERROR", "CONTINUE_AFTER_ERROR"}} {
		if seen[pair[0]] && seen[pair[1]] {
			p.refuseWith(3031, pair[0], pair[1])
		}
	}
}

func (p *parser) restoreOption(n *Restore) bool {
	o := &n.Options
	if n.Kind == "DATABASE" || n.Kind == "LOG" {
		if p.restoreFlag(o) {
			return true
		}
	}
	switch {
	case n.Kind == "VERIFYONLY" && p.accept("LOADHISTORY"):
		o.LoadHistory = true
	case p.accept("CHECKSUM"):
		o.Checksum = true
	case p.accept("NO_CHECKSUM"):
		o.NoChecksum = true
	case p.accept("STOP_ON_ERROR"):
		o.StopOnError = true
	case p.accept("CONTINUE_AFTER_ERROR"):
		o.ContinueAfterError = true
	case n.Kind != "LABELONLY" && p.accept("FILE", "="):
		if !p.valueOf("FILE", &o.Variables) {
			o.File = p.integerIn(1, 1<<15)
		}
	case p.valued("MEDIANAME"):
		if !p.valueOf("MEDIANAME", &o.Variables) {
			o.MediaName = p.stringLiteral()
		}
	case p.accept("STATS"):
		o.Stats = ptr(int64(10))
		if p.accept("=") {
			o.Stats = ptr(p.integerIn(1, 100))
		}
	case p.accept("MOVE"):
		m := MoveFile{LogicalName: p.stringLiteral()}
		p.expect("TO")
		m.Path = p.stringLiteral()
		o.Move = append(o.Move, m)
	case p.accept("NOUNLOAD"), p.accept("UNLOAD"), p.accept("REWIND"), p.accept("NOREWIND"):
	default:
		return false
	}
	return true
}

func (p *parser) restoreFlag(o *RestoreOptions) bool {
	flags := []struct {
		word string
		flag *bool
	}{
		{"RECOVERY", &o.Recovery}, {"NORECOVERY", &o.NoRecovery}, {"REPLACE", &o.Replace}, {"RESTART", &o.Restart},
		{"RESTRICTED_USER", &o.RestrictedUser}, {"KEEP_REPLICATION", &o.KeepReplication},
		{"ENABLE_BROKER", &o.EnableBroker}, {"NEW_BROKER", &o.NewBroker}, {"ERROR_BROKER_CONVERSATIONS", &o.ErrorBroker},
	}
	for _, f := range flags {
		if p.accept(f.word) {
			*f.flag = true
			return true
		}
	}
	switch {
	case p.valued("STANDBY"):
		if !p.valueOf("STANDBY", &o.Variables) {
			o.Standby = p.stringLiteral()
		}
	case p.valued("STOPAT"):
		if !p.valueOf("STOPAT", &o.Variables) {
			o.StopAt = p.stringLiteral()
		}
	case p.valued("STOPATMARK"):
		o.StopAtMark = p.markName()
	case p.valued("STOPBEFOREMARK"):
		o.StopBeforeMark = p.markName()
	default:
		return p.transferOption(&o.TransferOptions, &o.Variables)
	}
	return true
}

// markName is the name of a marked transaction, or 'lsn:...'; examples of the page have it without quotes.
func (p *parser) markName() string {
	if p.peek().Kind == token.String {
		return p.stringLiteral()
	}
	return p.name()
}
