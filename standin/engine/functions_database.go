// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/sqltype"
)

// optionProperties are the properties of DATABASEPROPERTYEX that show an option of ALTER DATABASE ... SET, which is off
// unless it was set; a + stands before those that are on (docs/t-sql/functions/databasepropertyex-transact-sql.md).
var optionProperties = map[string]string{
	"isansinulldefault":                         "ANSI_NULL_DEFAULT",
	"isansinullsenabled":                        "ANSI_NULLS",
	"isansipaddingenabled":                      "ANSI_PADDING",
	"isansiwarningsenabled":                     "ANSI_WARNINGS",
	"isarithmeticabortenabled":                  "ARITHABORT",
	"isautoclose":                               "AUTO_CLOSE",
	"isautocreatestatistics":                    "+AUTO_CREATE_STATISTICS",
	"isautoshrink":                              "AUTO_SHRINK",
	"isautoupdatestatistics":                    "+AUTO_UPDATE_STATISTICS",
	"isclosecursorsoncommitenabled":             "CURSOR_CLOSE_ON_COMMIT",
	"isnullconcat":                              "CONCAT_NULL_YIELDS_NULL",
	"isnumericroundabortenabled":                "NUMERIC_ROUNDABORT",
	"isquotedidentifiersenabled":                "QUOTED_IDENTIFIER",
	"isrecursivetriggersenabled":                "RECURSIVE_TRIGGERS",
	"ismemoryoptimizedelevatetosnapshotenabled": "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT",
}

// wordProperties are those that tell whether an option has a certain value.
var wordProperties = map[string][2]string{
	"islocalcursorsdefault":      {"CURSOR_DEFAULT", "LOCAL"},
	"isparameterizationforced":   {"PARAMETERIZATION", "FORCED"},
	"istornpagedetectionenabled": {"PAGE_VERIFY", "TORN_PAGE_DETECTION"},
}

// neverProperties are those that no database has here.
var neverProperties = map[string]bool{
	"issyncwithbackup":                     true,
	"isfulltextenabled":                    true,
	"isautocreatestatisticsincremental":    true,
	"isclone":                              true,
	"isverifiedclone":                      true,
	"isdatabasesuspendedforsnapshotbackup": true,
	"isxtpsupported":                       true,
}

// optionProperty is a property that is an option's; known is false for others.
func (i DatabaseInfo) optionProperty(property string) (on int64, known bool) {
	if word, is := wordProperties[property]; is {
		return asBit(i.Options[word[0]] == word[1]), true
	}
	option, known := optionProperties[property]
	if !known {
		return 0, neverProperties[property]
	}
	option, isOn := strings.CutPrefix(option, "+")
	if v, set := i.Options[option]; set {
		isOn = v == "ON" || v == ""
	}
	return asBit(isOn), true
}

func init() {
	addBuiltins(map[string]*builtinFunction{
		// DATABASEPROPERTY is the former DATABASEPROPERTYEX, with properties for states
		// (docs/t-sql/functions/databaseproperty-transact-sql.md).
		"databaseproperty": systemFunction(2, 2, sqltype.IntType, []sqltype.Type{nmax}, func(s *Session, a []any) any {
			name, _ := a[0].(string)
			property, _ := a[1].(string)
			is := func(of, value string) any { return asBit(s.databaseProperty(name, of) == value) }
			if s.inst.Database(name) == nil {
				return nil
			}
			switch lower(property) {
			case "isshutdown", "isdetached":
				return int64(0)
			case "isoffline":
				return is("Status", "OFFLINE")
			case "isinload":
				return is("Status", "RESTORING")
			case "isinrecovery":
				return is("Status", "RECOVERING")
			case "issuspect", "isnotrecovered":
				return is("Status", "SUSPECT")
			case "isemergencymode":
				return is("Status", "EMERGENCY")
			case "isreadonly":
				return is("Updateability", "READ_ONLY")
			case "issingleuser":
				return is("UserAccess", "SINGLE_USER")
			case "isdboonly":
				return is("UserAccess", "RESTRICTED_USER")
			case "istrunclog":
				return is("Recovery", "SIMPLE")
			case "isbulkcopy":
				return is("Recovery", "BULK_LOGGED")
			case "version", "isinstandby":
				return s.databaseProperty(name, property)
			}
			if on, known := s.inst.Database(name).Info().optionProperty(lower(property)); known {
				return on
			}
			return nil
		}),
	})
}
