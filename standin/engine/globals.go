// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// counters are what sys.dm_os_performance_counters and the @@ functions count.
type counters struct {
	batches, transactions, rowsWritten, logins atomic.Int64
}

// build has the numbers of SERVERPROPERTY('ProductVersion').
func (inst *Instance) build() [4]uint16 {
	var b [4]uint16
	for i, part := range strings.SplitN(inst.config.Version, ".", len(b)) {
		n, _ := strconv.ParseUint(part, 10, 16) // config has checked it
		b[i] = uint16(n)
	}
	return b
}

// versionText is @@VERSION. Object mappers read the version after "Microsoft ... - ", so it begins as SQL Server's
// does; it does not pretend to be Microsoft's.
func versionText(inst *Instance) string {
	return fmt.Sprintf(
		"Microsoft SQL Server dialect of the geosql stand-in (not Microsoft SQL Server) - %s (X64)\n\t%s on %s/%s",
		inst.config.Version,
		inst.config.Edition,
		runtime.GOOS,
		runtime.GOARCH,
	)
}

func installGlobals(r *Registry) {
	global := func(name string, t sqltype.Type, f func(*Session) any) {
		r.Global(Global{Name: name, Type: t, Value: f, Nullable: name == "@@identity" || name == "@@remserver"})
	}
	global("@@version", sqltype.NVarCharOf(300), func(s *Session) any { return versionText(s.inst) })
	global("@@servername", sqltype.Sysname, func(s *Session) any { return s.inst.config.ServerName })
	global("@@servicename", sqltype.Sysname, func(s *Session) any { return "MSSQLSERVER" })
	global("@@spid", sqltype.SmallIntType, func(s *Session) any { return int64(s.spid) })
	global("@@rowcount", sqltype.IntType, func(s *Session) any { return s.rowCount })
	global("@@error", sqltype.IntType, func(s *Session) any { return int64(s.lastError) })
	global("@@trancount", sqltype.IntType, func(s *Session) any { return int64(s.count) })
	global("@@nestlevel", sqltype.IntType, func(s *Session) any { return int64(max(0, s.nest-1)) })
	global("@@fetch_status", sqltype.IntType, func(s *Session) any { return s.fetchStatus })
	global("@@cursor_rows", sqltype.IntType, func(s *Session) any { return s.cursorRows })
	global("@@identity", sqltype.DecimalOf(38, 0), func(s *Session) any { return decimalOf(s.lastIdentity) })
	global("@@lock_timeout", sqltype.IntType, func(s *Session) any { return s.settings.lockTimeout })
	global("@@options", sqltype.IntType, func(s *Session) any { return s.optionBits() })
	global("@@datefirst", sqltype.TinyIntType, func(s *Session) any { return s.settings.dates.first })
	global("@@language", sqltype.Sysname, func(s *Session) any { return s.settings.language })
	global("@@langid", sqltype.SmallIntType, func(s *Session) any { return int64(s.dates().language) })
	global("@@textsize", sqltype.IntType, func(s *Session) any { return s.settings.textSize })
	global("@@max_connections", sqltype.IntType, func(s *Session) any { return int64(32767) })
	global("@@max_precision", sqltype.TinyIntType, func(s *Session) any { return int64(38) })
	global("@@microsoftversion", sqltype.IntType, func(s *Session) any {
		b := s.inst.build()
		return int64(b[0])<<24 | int64(b[1])<<16 | int64(b[2])
	})
	global("@@procid", sqltype.IntType, func(s *Session) any {
		if f := s.frame(); f != nil {
			return int64(f.objectID)
		}
		return int64(0)
	})
	global("@@dbts", sqltype.Type{Kind: sqltype.VarBinary, Length: 8}, func(s *Session) any {
		if n, ok := s.lastRowVersion(s.connection); ok {
			return rowVersionValue(n)
		}
		return nil
	})
	global("@@connections", sqltype.IntType, func(s *Session) any { return s.inst.counters.logins.Load() })
	global("@@remserver", sqltype.Sysname, func(s *Session) any { return nil })
	for _, name := range []string{"@@cpu_busy", "@@idle", "@@io_busy", "@@pack_received", "@@pack_sent", "@@packet_errors",
		"@@timeticks", "@@total_errors", "@@total_read", "@@total_write"} {
		global(name, sqltype.IntType, func(s *Session) any { return int64(0) })
	}
}

// optionBits is @@OPTIONS
// (docs/database-engine/configure-windows/configure-the-user-options-server-configuration-option.md).
func (s *Session) optionBits() int64 {
	bits := int64(0)
	for name, bit := range map[string]int64{"AnsiWarnings": 8, "AnsiPadding": 16, "AnsiNulls": 32, "ArithAbort": 64,
		"ArithIgnore": 128, "QuotedIdentifier": 256,
		"AnsiNullDfltOn": 1024, "AnsiNullDfltOff": 2048, "ConcatNullYieldsNull": 4096, "NumericRoundAbort": 8192,
		"CursorCloseOnCommit": 4} {
		if s.settings.options[name] {
			bits |= bit
		}
	}
	if s.settings.implicitTransactions {
		bits |= 2
	}
	if s.settings.noCount {
		bits |= 512
	}
	if s.settings.xactAbort {
		bits |= 16384
	}
	return bits
}

func installProperties(r *Registry) {
	text := func(v string) func(*Instance) any { return func(*Instance) any { return v } }
	number := func(at int) func(*Instance) any {
		return func(i *Instance) any { return strconv.Itoa(int(i.build()[at])) }
	}
	productVersion := func(i *Instance) any { return i.config.Version }
	num := func(v int64) func(*Instance) any { return func(*Instance) any { return v } }
	engineEdition := func(inst *Instance) any {
		e := strings.ToLower(inst.config.Edition)
		switch {
		case strings.HasPrefix(e, "standard"), strings.HasPrefix(e, "web"):
			return int64(2)
		case strings.HasPrefix(e, "express"):
			return int64(4)
		}
		return int64(3)
	}
	for name, f := range map[string]func(*Instance) any{
		"ServerName":                  func(i *Instance) any { return i.config.ServerName },
		"MachineName":                 func(i *Instance) any { return i.config.ServerName },
		"ComputerNamePhysicalNetBIOS": func(i *Instance) any { return i.config.ServerName },
		"InstanceName":                func(*Instance) any { return nil },
		"Edition":                     func(i *Instance) any { return i.config.Edition + " (geosql stand-in)" },
		"EditionID":                   num(-2117995310),
		"EngineEdition":               engineEdition,
		"ProductVersion":              productVersion, "ProductLevel": text("RTM"), "ProductMajorVersion": number(0),
		"ProductMinorVersion": number(1),
		"ProductBuild":        number(2), "ProductBuildType": func(*Instance) any { return nil },
		"ProductUpdateLevel":     func(*Instance) any { return nil },
		"ProductUpdateReference": func(*Instance) any { return nil }, "ResourceVersion": productVersion,
		"ResourceLastUpdateDateTime": func(i *Instance) any { return i.started },
		"BuildClrVersion":            func(*Instance) any { return nil },
		"Collation":                  text(sqltype.DefaultCollation), "CollationID": num(872468488), "SqlCharSet": num(1),
		"SqlCharSetName": text("iso_1"),
		"SqlSortOrder":   num(52), "SqlSortOrderName": text("nocase_iso"), "LCID": num(1033), "ComparisonStyle": num(196609),
		"IsClustered": num(0), "IsFullTextInstalled": num(0), "IsIntegratedSecurityOnly": num(0), "IsSingleUser": num(0),
		"IsLocalDB":           num(0),
		"IsPolyBaseInstalled": num(0), "IsXTPSupported": num(0), "IsAdvancedAnalyticsInstalled": num(0),
		"IsBigDataCluster":                num(0),
		"IsTempDbMetadataMemoryOptimized": num(0), "IsExternalAuthenticationOnly": num(0), "LicenseType": text("DISABLED"),
		"NumLicenses":               func(*Instance) any { return nil },
		"IsHadrEnabled":             func(i *Instance) any { return yes(i.config.HADREnabled) },
		"HadrManagerStatus":         func(i *Instance) any { return yes(i.config.HADREnabled) },
		"ProcessID":                 func(*Instance) any { return int64(os.Getpid()) },
		"InstanceDefaultDataPath":   func(i *Instance) any { return strings.TrimSuffix(i.config.DataDir, "/") + "/" },
		"InstanceDefaultLogPath":    func(i *Instance) any { return strings.TrimSuffix(i.config.LogDir, "/") + "/" },
		"InstanceDefaultBackupPath": func(i *Instance) any { return strings.TrimSuffix(i.config.BackupDir, "/") + "/" },
		"ErrorLogFileName":          func(i *Instance) any { return TextOrNull(i.config.ErrorLog) },
		"FilestreamShareName":       text("MSSQLSERVER"), "FilestreamConfiguredLevel": num(0),
		"FilestreamEffectiveLevel": num(0),
		"PathSeparator":            text("/"),
	} {
		r.ServerProperty(name, f)
	}
}

// databaseProperty is DATABASEPROPERTYEX.
func (s *Session) databaseProperty(name, property string) any {
	db := s.inst.Database(name)
	if db == nil {
		return nil
	}
	info := db.Info()
	switch lower(property) {
	case "status":
		return db.State().String()
	case "recovery":
		return db.RecoveryName()
	case "updateability":
		if info.ReadOnly || db.Storage() != nil && db.Storage().Mode() != storage.Primary {
			return "READ_ONLY"
		}
		return "READ_WRITE"
	case "isinstandby":
		return asBit(db.Standby() != "")
	case "useraccess":
		return info.UserAccess
	case "collation":
		return info.Collation
	case "version":
		return int64(957)
	case "ispublished":
		return yes(info.Published)
	case "issubscribed":
		return yes(info.Subscribed)
	case "ismergepublished":
		return yes(info.MergePublished)
	case "sqlsortorder":
		return int64(52)
	case "comparisonstyle":
		return int64(196609)
	case "lcid":
		return int64(1033)
	}
	if on, known := info.optionProperty(lower(property)); known {
		return on
	}
	return nil
}

// RecoveryName is recovery_model_desc.
func (db *Database) RecoveryName() string {
	switch db.RecoveryModel() {
	case storage.Simple:
		return "SIMPLE"
	case storage.BulkLogged:
		return "BULK_LOGGED"
	}
	return "FULL"
}

// RecoveryModel is the recovery model that the database has: in use, or as it was when it was last open.
func (db *Database) RecoveryModel() storage.RecoveryModel {
	if st := db.Storage(); st != nil {
		return st.RecoveryModel()
	}
	return db.Info().RecoveryModel
}
