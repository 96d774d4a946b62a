// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"strconv"
	"strings"
	"sync"
)

// unicodeOnly are the designators whose collations have no code page: only nchar, nvarchar and ntext can have them,
// unless they end in _UTF8.
const unicodeOnly = -1

// locale is what a collation says about where its texts are written: the LCID with the identifier of its sort order,
// and the code page.
type locale struct {
	lcid   uint32
	number int
}

// locales are the designators of Windows collations with their LCIDs and code pages
// (docs/t-sql/statements/windows-collation-name-transact-sql.md; [MS-LCID] 2.2 has the identifiers).
var locales = func() map[string]locale {
	all := map[string]locale{}
	for _, line := range strings.Split(strings.TrimSpace(`
Albanian 0041C 1250
Arabic 00401 1256
Assamese 0044D -1
Azeri_Cyrillic 0082C 1251
Azeri_Latin 0042C 1254
Bashkir 0046D 1251
Bengali 00445 -1
Bosnian_Cyrillic 0201A 1251
Bosnian_Latin 0141A 1250
Breton 0047E 1252
Chinese_Hong_Kong_Stroke 00C04 950
Chinese_PRC 00804 936
Chinese_PRC_Stroke 20804 936
Chinese_Simplified_Pinyin 00804 936
Chinese_Simplified_Stroke_Order 20804 936
Chinese_Taiwan_Bopomofo 30404 950
Chinese_Taiwan_Stroke 00404 950
Chinese_Traditional_Bopomofo 30404 950
Chinese_Traditional_Pinyin 01404 950
Chinese_Traditional_Stroke_Count 00404 950
Chinese_Traditional_Stroke_Order 21404 950
Corsican 00483 1252
Croatian 0041A 1250
Cyrillic_General 00419 1251
Czech 00405 1250
Danish_Greenlandic 00406 1252
Danish_Norwegian 00406 1252
Dari 0048C 1256
Divehi 00465 -1
Estonian 00425 1257
Finnish_Swedish 0040B 1252
French 0040C 1252
Frisian 00462 1252
Georgian_Modern_Sort 10437 1252
German_PhoneBook 10407 1252
Greek 00408 1253
Hebrew 0040D 1255
Hungarian 0040E 1250
Hungarian_Technical 1040E 1250
Icelandic 0040F 1252
Indic_General 00439 -1
Japanese 00411 932
Japanese_Bushu_Kakusu 40411 932
Japanese_Unicode 10411 932
Japanese_XJIS 00411 932
Kazakh 0043F 1251
Khmer 00453 -1
Korean 00412 949
Korean_Wansung 00412 949
Lao 00454 -1
Latin1_General 00409 1252
Latvian 00426 1257
Lithuanian 00427 1257
Macedonian_FYROM 0042F 1251
Maltese 0043A -1
Maori 00481 -1
Mapudungan 0047A 1252
Modern_Spanish 00C0A 1252
Mohawk 0047C 1252
Nepali 00461 -1
Norwegian 00414 1252
Pashto 00463 -1
Persian 00429 1256
Polish 00415 1250
Romanian 00418 1250
Romansh 00417 1252
Sami_Norway 0043B 1252
Sami_Sweden_Finland 0083B 1252
Serbian_Cyrillic 00C1A 1251
Serbian_Latin 0081A 1250
Slovak 0041B 1250
Slovenian 00424 1250
Syriac 0045A -1
Tamazight 0085F 1252
Tatar 00444 1251
Thai 0041E 874
Tibetan 00451 -1
Traditional_Spanish 0040A 1252
Turkish 0041F 1254
Turkmen 00442 1250
Uighur 00480 1256
Ukrainian 00422 1251
Upper_Sorbian 0042E 1252
Urdu 00420 1256
Uzbek_Latin 00443 1254
Vietnamese 0042A 1258
Welsh 00452 1252
Yakut 00485 1251`), "\n") {
		f := strings.Fields(line)
		lcid, _ := strconv.ParseUint(f[1], 16, 32)
		number, _ := strconv.Atoi(f[2])
		all[f[0]] = locale{uint32(lcid), number}
	}
	return all
}()

// sortOrders are the identifiers of the sort orders of SQL Server collations, without SQL_ (docs/t-sql/statements/
// sql-server-collation-name-transact-sql.md, Sort order ID). Drivers read the code page of a value by them.
var sortOrders = func() map[string]byte {
	all := map[string]byte{}
	for _, list := range []string{
		"30 Latin1_General_CP437_BIN Latin1_General_CP437_CS_AS Latin1_General_CP437_CI_AS " +
			"Latin1_General_Pref_CP437_CI_AS Latin1_General_CP437_CI_AI",
		"40 Latin1_General_CP850_BIN Latin1_General_CP850_CS_AS Latin1_General_CP850_CI_AS " +
			"Latin1_General_Pref_CP850_CI_AS Latin1_General_CP850_CI_AI",
		"49 1xCompat_CP850_CI_AS - Latin1_General_CP1_CS_AS Latin1_General_CP1_CI_AS Latin1_General_Pref_CP1_CI_AS " +
			"Latin1_General_CP1_CI_AI AltDiction_CP850_CS_AS" +
			" AltDiction_Pref_CP850_CI_AS AltDiction_CP850_CI_AI Scandinavian_Pref_CP850_CI_AS Scandinavian_CP850_CS_AS " +
			"Scandinavian_CP850_CI_AS AltDiction_CP850_CI_AS",
		"80 Latin1_General_CP1250_BIN Latin1_General_CP1250_CS_AS Latin1_General_CP1250_CI_AS Czech_CP1250_CS_AS " +
			"Czech_CP1250_CI_AS Hungarian_CP1250_CS_AS Hungarian_CP1250_CI_AS" +
			" Polish_CP1250_CS_AS Polish_CP1250_CI_AS Romanian_CP1250_CS_AS Romanian_CP1250_CI_AS Croatian_CP1250_CS_AS " +
			"Croatian_CP1250_CI_AS Slovak_CP1250_CS_AS Slovak_CP1250_CI_AS" +
			" Slovenian_CP1250_CS_AS Slovenian_CP1250_CI_AS",
		"104 Latin1_General_CP1251_BIN Latin1_General_CP1251_CS_AS Latin1_General_CP1251_CI_AS Ukrainian_CP1251_CS_AS " +
			"Ukrainian_CP1251_CI_AS",
		"112 Latin1_General_CP1253_BIN Latin1_General_CP1253_CS_AS Latin1_General_CP1253_CI_AS - - - - - " +
			"MixDiction_CP1253_CS_AS AltDiction_CP1253_CS_AS AltDiction2_CP1253_CS_AS - Latin1_General_CP1253_CI_AI",
		"128 Latin1_General_CP1254_BIN Latin1_General_CP1254_CS_AS Latin1_General_CP1254_CI_AS",
		"136 Latin1_General_CP1255_BIN Latin1_General_CP1255_CS_AS Latin1_General_CP1255_CI_AS",
		"144 Latin1_General_CP1256_BIN Latin1_General_CP1256_CS_AS Latin1_General_CP1256_CI_AS",
		"152 Latin1_General_CP1257_BIN Latin1_General_CP1257_CS_AS Latin1_General_CP1257_CI_AS Estonian_CP1257_CS_AS " +
			"Estonian_CP1257_CI_AS Latvian_CP1257_CS_AS Latvian_CP1257_CI_AS" +
			" Lithuanian_CP1257_CS_AS Lithuanian_CP1257_CI_AS",
		"183 Danish_Pref_CP1_CI_AS SwedishPhone_Pref_CP1_CI_AS SwedishStd_Pref_CP1_CI_AS Icelandic_Pref_CP1_CI_AS",
	} {
		names := strings.Fields(list)
		first, _ := strconv.Atoi(names[0])
		for i, name := range names[1:] {
			all[name] = byte(first + i)
		}
	}
	return all
}()

// languageOf is the part of a collation's name that says whose rules it has, with what follows it. Names are as
// canonicalCollation has them.
func languageOf(name string) (designator, style string, sql bool) {
	if m := sqlCollation.FindStringSubmatch(name); m != nil {
		return m[1], m[2], true
	}
	if m := windowsCollation.FindStringSubmatch(name); m != nil {
		return m[1], m[2], false
	}
	return "", "", false
}

// localeOf is a collation's locale; that of the server's collation for a name that is none. SQL Server collations have
// the code page of their name.
func localeOf(name string) locale {
	designator, style, sql := languageOf(name)
	l, ok := locales[designator]
	if !ok {
		l = locales["Latin1_General"]
	}
	if sql {
		l.number = 1252
		if text := strings.Split(style, "_")[1]; text != "CP1" {
			l.number, _ = strconv.Atoi(text[len("CP"):])
		}
	}
	if strings.HasSuffix(style, "_UTF8") {
		l.number = pages[PageUTF8].number
	}
	return l
}

// pagesOf keeps PageOf's answers. Names come from definitions that were judged: there are not more than collations.
var pagesOf sync.Map

// PageOf is the code page of a collation; that of the server's collation where it has none, for a name that is none,
// and for the empty name.
func PageOf(name string) Page {
	if name == "" || name == DefaultCollation {
		return Page1252
	}
	if known, ok := pagesOf.Load(name); ok {
		return known.(Page)
	}
	p, _ := pageByNumber(localeOf(name).number)
	pagesOf.Store(name, p)
	return p
}

// UnicodeOnly tells whether a collation is for nchar, nvarchar and ntext alone (error 459).
func UnicodeOnly(name string) bool { return localeOf(name).number == unicodeOnly }
