// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// Backup is BACKUP DATABASE or BACKUP LOG (docs/t-sql/statements/backup-transact-sql.md).
type Backup struct {
	own
	Log bool
	// Database is the name, or Variable the variable that has it.
	Database, Variable string
	Devices            []BackupDevice
	Options            BackupOptions
}

// BackupDevice is one of TO or FROM.
type BackupDevice struct {
	// Kind is DISK, TAPE or URL; empty for a logical device.
	Kind string
	// Name is the path, URL or logical name; Variable the variable that has it.
	Name, Variable string
}

// TransferOptions are those of WITH, of a backup or a restore, about how it is written or read: bytes, a count, and
// bytes; nil when not given, or given by a variable.
type TransferOptions struct {
	BlockSize, BufferCount, MaxTransferSize *int64
}

// transferOption reads one of them.
func (p *parser) transferOption(o *TransferOptions, variables *map[string]string) bool {
	for _, one := range []struct {
		word  string
		value **int64
	}{{"BLOCKSIZE", &o.BlockSize}, {"BUFFERCOUNT", &o.BufferCount}, {"MAXTRANSFERSIZE", &o.MaxTransferSize}} {
		if p.valued(one.word) {
			if !p.valueOf(one.word, variables) {
				*one.value = ptr(p.integer())
			}
			return true
		}
	}
	return false
}

// BackupOptions are WITH's options; zero values are not given.
type BackupOptions struct {
	TransferOptions
	CopyOnly, Differential, Compression, NoCompression bool
	Init, NoInit, Format, NoFormat, Skip               bool
	Checksum, NoChecksum                               bool
	StopOnError, ContinueAfterError                    bool
	NoRecovery, NoTruncate                             bool
	Standby                                            string
	Name, Description, MediaName, MediaDescription     string
	// Stats is the percentage of progress messages, nil when not given (10 is BACKUP's own default for a bare STATS).
	Stats      *int64
	ExpireDate string
	RetainDays *int64
	// Variables are those that have an option's value, by the option's word.
	Variables map[string]string
}

func parseBackup(p *parser) ast.Statement {
	n := &Backup{}
	switch {
	case p.accept("BACKUP", "DATABASE"):
	case p.accept("BACKUP", "LOG"):
		n.Log = true
	default:
		p.expect("BACKUP")
		p.refuse()
	}
	n.Database, n.Variable = p.nameOrVariable()
	if p.is("FILE", "=") || p.is("FILEGROUP", "=") || p.is("READ_WRITE_FILEGROUPS") {
		p.unsupported("BACKUP of single files")
	}
	p.expect("TO")
	n.Devices = p.backupDevices()
	if p.is("MIRROR", "TO") {
		p.unsupported("BACKUP ... MIRROR TO")
	}
	if p.accept("WITH") {
		p.backupOptions(&n.Options, n.Log)
	}
	return n
}

func (p *parser) nameOrVariable() (name, variable string) {
	if p.peek().Kind == token.Variable {
		return "", p.next().Text
	}
	return p.name(), ""
}

func (p *parser) backupDevices() []BackupDevice {
	var all []BackupDevice
	for {
		d := BackupDevice{}
		for _, kind := range []string{"DISK", "TAPE", "URL"} {
			if p.accept(kind, "=") {
				d.Kind = kind
				break
			}
		}
		switch {
		case d.Kind == "":
			d.Name, d.Variable = p.nameOrVariable()
		case p.peek().Kind == token.Variable:
			d.Variable = p.next().Text
		default:
			d.Name = p.stringLiteral()
		}
		all = append(all, d)
		if !p.accept(",") {
			return all
		}
	}
}

// absentBackupOptions and absentRestoreOptions are documented options of backups that are encrypted, in Azure's
// storage, of volumes' snapshots, of FILESTREAM, of CDC and of single files.
var (
	absentBackupOptions  = token.Words("ENCRYPTION CREDENTIAL FILE_SNAPSHOT METADATA_ONLY SNAPSHOT")
	absentRestoreOptions = token.Words(
		"CREDENTIAL METADATA_ONLY SNAPSHOT PARTIAL KEEP_CDC FILESTREAM KEEP_TEMPORAL_RETENTION SNAPSHOT_RESTORE_PHASE DBNAME",
	)
)

// absentOption refuses the option that comes next by its name.
func (p *parser) absentOption(statement string, absent map[string]bool) {
	if t := p.peek(); t.Kind == token.Word && absent[t.Fold] {
		p.unsupported(statement + " WITH " + t.Fold)
	}
}

func (p *parser) backupOptions(o *BackupOptions, log bool) {
	seen := map[string]bool{}
	for {
		p.once(seen, p.peek().Fold)
		p.absentOption("BACKUP", absentBackupOptions)
		if !p.backupFlag(o, log) && !p.backupValue(o) {
			p.unknownOption("BACKUP")
		}
		if !p.accept(",") {
			break
		}
	}
	for _, pair := range [][2]string{{"INIT", "NOINIT"}, {"FORMAT", "NOFORMAT"}, {"CHECKSUM", "NO_CHECKSUM"},
		{"COMPRESSION", "NO_COMPRESSION"}, {"STOP_ON_ERROR", "CONTINUE_AFTER_ERROR"}, {"NORECOVERY", "STANDBY"}} {
		if seen[pair[0]] && seen[pair[1]] {
			p.refuseWith(3031, pair[0], pair[1])
		}
	}
}

func (p *parser) backupFlag(o *BackupOptions, log bool) bool {
	flags := []struct {
		word string
		flag *bool
	}{
		{"COPY_ONLY", &o.CopyOnly}, {"COMPRESSION", &o.Compression}, {"NO_COMPRESSION", &o.NoCompression},
		{"INIT", &o.Init}, {"NOINIT", &o.NoInit}, {"FORMAT", &o.Format}, {"NOFORMAT", &o.NoFormat},
		{"SKIP", &o.Skip}, {"CHECKSUM", &o.Checksum}, {"NO_CHECKSUM", &o.NoChecksum},
		{"STOP_ON_ERROR", &o.StopOnError}, {"CONTINUE_AFTER_ERROR", &o.ContinueAfterError},
	}
	for _, f := range flags {
		if p.accept(f.word) {
			*f.flag = true
			return true
		}
	}
	switch {
	case p.accept("NOSKIP"), p.accept("REWIND"), p.accept("NOREWIND"), p.accept("UNLOAD"), p.accept("NOUNLOAD"):
	case !log && p.accept("DIFFERENTIAL"):
		o.Differential = true
	case log && p.accept("NORECOVERY"):
		o.NoRecovery = true
	case log && p.accept("NO_TRUNCATE"):
		o.NoTruncate = true
	case log && p.valued("STANDBY"):
		o.Standby = p.stringLiteral()
	case p.accept("STATS"):
		o.Stats = ptr(int64(10))
		if p.accept("=") {
			o.Stats = ptr(p.integerIn(1, 100))
		}
	default:
		return false
	}
	return true
}

func (p *parser) backupValue(o *BackupOptions) bool {
	texts := []struct {
		word string
		text *string
	}{
		{"NAME", &o.Name}, {"DESCRIPTION", &o.Description}, {"MEDIANAME", &o.MediaName},
		{"MEDIADESCRIPTION", &o.MediaDescription}, {"EXPIREDATE", &o.ExpireDate},
	}
	for _, t := range texts {
		if p.valued(t.word) {
			if !p.valueOf(t.word, &o.Variables) {
				*t.text = p.stringLiteral()
			}
			return true
		}
	}
	switch {
	case p.transferOption(&o.TransferOptions, &o.Variables):
	case p.valued("RETAINDAYS"):
		if !p.valueOf("RETAINDAYS", &o.Variables) {
			o.RetainDays = ptr(p.integer())
		}
	default:
		return false
	}
	return true
}

// valued consumes the name of an option and the = that has to follow.
func (p *parser) valued(option string) bool {
	if !p.accept(option) {
		return false
	}
	p.expect("=")
	return true
}

// valueOf consumes the variable that has an option's value, if one follows.
func (p *parser) valueOf(option string, variables *map[string]string) bool {
	if p.peek().Kind != token.Variable {
		return false
	}
	if *variables == nil {
		*variables = map[string]string{}
	}
	(*variables)[option] = p.next().Text
	return true
}
