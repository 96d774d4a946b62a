// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// windowsDesignators begin the names of Windows collations.
var windowsDesignators = slices.Sorted(maps.Keys(locales))

// sqlSortRules begin the names of SQL Server collations, after SQL_
// (docs/t-sql/statements/sql-server-collation-name-transact-sql.md).
var sqlSortRules = strings.Fields(
	`1xCompat AltDiction AltDiction2 AltDiction_Pref Croatian Czech Danish_Pref EBCDIC037 EBCDIC1141 EBCDIC1142 EBCDIC1143 EBCDIC1144 EBCDIC1145 EBCDIC1146
	EBCDIC1147 EBCDIC1148 EBCDIC273 EBCDIC277 EBCDIC278 EBCDIC280 EBCDIC284 EBCDIC285 EBCDIC297 Estonian Hungarian Icelandic_Pref Latin1_General Latin1_General_Pref Latvian Lithuanian MixDiction Polish Romanian
	Scandinavian Scandinavian_Pref Slovak Slovenian Spanish_Pref SwedishPhone_Pref SwedishStd_Pref Ukrainian`,
)

var (
	windowsCollation = regexp.MustCompile(
		`(?i)^(` + strings.Join(
			windowsDesignators,
			"|",
		) + `)((?:_(?:90|100|140|160))?_(?:BIN2?(?:_UTF8)?|C[IS]_A[IS](?:_KS)?(?:_WS)?(?:_KS)?(?:_SC)?(?:_VSS)?(?:_UTF8)?))$`,
	)
	sqlCollation = regexp.MustCompile(
		`(?i)^SQL_(` + strings.Join(sqlSortRules, "|") + `)(_CP(?:1|437|850|125[0-8])_(?:C[IS]_A[IS]|BIN2?))$`,
	)
)

// canonicalCollation is the name of a collation as the catalogue has it, whatever the case in which it is written.
func canonicalCollation(name string) (string, bool) {
	prefix, list := "", windowsDesignators
	parts := windowsCollation.FindStringSubmatch(name)
	if parts == nil {
		prefix, list = "SQL_", sqlSortRules
		parts = sqlCollation.FindStringSubmatch(name)
	}
	if parts == nil {
		return name, false
	}
	for _, known := range list {
		if strings.EqualFold(known, parts[1]) {
			return prefix + known + strings.ToUpper(parts[2]), true
		}
	}
	return name, false
}
