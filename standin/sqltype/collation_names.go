// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"regexp"
	"strings"
)

// windowsDesignators begin the names of Windows collations (docs/t-sql/statements/windows-collation-name-transact-sql.md, CollationDesignator).
var windowsDesignators = strings.Fields(`Albanian Arabic Assamese Azeri_Cyrillic Azeri_Latin Bashkir Bengali Bosnian_Cyrillic Bosnian_Latin Breton Chinese_Hong_Kong_Stroke Chinese_PRC
	Chinese_PRC_Stroke Chinese_Simplified_Pinyin Chinese_Simplified_Stroke_Order Chinese_Taiwan_Bopomofo Chinese_Taiwan_Stroke Chinese_Traditional_Bopomofo Chinese_Traditional_Pinyin
	Chinese_Traditional_Stroke_Count Chinese_Traditional_Stroke_Order Corsican Croatian Cyrillic_General Czech Danish_Greenlandic Danish_Norwegian Dari Divehi Estonian Finnish_Swedish French
	Frisian Georgian_Modern_Sort German_PhoneBook Greek Hebrew Hungarian Hungarian_Technical Icelandic Indic_General Japanese Japanese_Bushu_Kakusu Japanese_Unicode Japanese_XJIS Kazakh Khmer
	Korean Korean_Wansung Lao Latin1_General Latvian Lithuanian Macedonian_FYROM Maltese Maori Mapudungan Modern_Spanish Mohawk Nepali Norwegian Pashto Persian Polish Romanian Romansh
	Sami_Norway Sami_Sweden_Finland Serbian_Cyrillic Serbian_Latin Slovak Slovenian Syriac Tamazight Tatar Thai Tibetan Traditional_Spanish Turkish Turkmen Uighur Ukrainian Upper_Sorbian Urdu
	Uzbek_Latin Vietnamese Welsh Yakut`)

// sqlSortRules begin the names of SQL Server collations, after SQL_ (docs/t-sql/statements/sql-server-collation-name-transact-sql.md).
var sqlSortRules = strings.Fields(`1xCompat AltDiction AltDiction2 AltDiction_Pref Croatian Czech Danish_Pref EBCDIC037 EBCDIC1141 EBCDIC1142 EBCDIC1143 EBCDIC1144 EBCDIC1145 EBCDIC1146
	EBCDIC1147 EBCDIC1148 EBCDIC273 EBCDIC277 EBCDIC278 EBCDIC280 EBCDIC284 EBCDIC285 EBCDIC297 Estonian Hungarian Icelandic_Pref Latin1_General Latin1_General_Pref Latvian Lithuanian MixDiction Polish Romanian
	Scandinavian Scandinavian_Pref Slovak Slovenian Spanish_Pref SwedishPhone_Pref SwedishStd_Pref Ukrainian`)

var (
	windowsCollation = regexp.MustCompile(`(?i)^(` + strings.Join(windowsDesignators, "|") + `)((?:_(?:90|100|140|160))?_(?:BIN2?(?:_UTF8)?|C[IS]_A[IS](?:_KS)?(?:_WS)?(?:_KS)?(?:_SC)?(?:_VSS)?(?:_UTF8)?))$`)
	sqlCollation     = regexp.MustCompile(`(?i)^SQL_(` + strings.Join(sqlSortRules, "|") + `)(_CP(?:1|437|850|125[0-8])_(?:C[IS]_A[IS]|BIN2?))$`)
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
