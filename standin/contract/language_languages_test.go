// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// documentedLanguages are the names in English, the locale IDs and the message groups of
// docs/relational-databases/system-compatibility-views/sys-syslanguages-transact-sql.md; the aliases of
// sys.syslanguages differ from the page's names for English, Slovene and the Portuguese of Brazil. Bokmål, which
// servers have, is not on the page.
const documentedLanguages = `English 1033 1033; German 1031 1031; French 1036 1036; Japanese 1041 1041; Danish 1030 1030; Spanish 3082 3082; Italian 1040 1040; Dutch 1043 1043; ` +
	`Norwegian 2068 2068; Portuguese 2070 2070; Finnish 1035 1035; Swedish 1053 1053; Czech 1029 1029; Hungarian 1038 1038; Polish 1045 1045; Romanian 1048 1048; Croatian 1050 1050; Slovak 1051 1051; ` +
	`Slovenian 1060 1060; Greek 1032 1032; Bulgarian 1026 1026; Russian 1049 1049; Turkish 1055 1055; British English 2057 1033; Estonian 1061 1061; Latvian 1062 1062; Lithuanian 1063 1063; ` +
	`Brazilian 1046 1046; Traditional Chinese 1028 1028; Korean 1042 1042; Simplified Chinese 2052 2052; Arabic 1025 1025; Thai 1054 1054; Bokmål 1044 1044`

// TestLanguages: every documented language is there, SET LANGUAGE takes its name and its alias, sets the format of
// dates and the first day of the week, and DATENAME and the names of months in CONVERT follow it. By
// docs/t-sql/statements/set-language-transact-sql.md, docs/t-sql/functions/datename-transact-sql.md,
// docs/t-sql/functions/language-transact-sql.md, docs/t-sql/functions/langid-transact-sql.md.
func TestLanguages(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	g.Expect(rowsText(query(t, db, "SELECT alias, lcid, msglangid FROM sys.syslanguages ORDER BY langid"))).
		To(Equal(documentedLanguages))
	for _, l := range query(t, db,
		"SELECT langid, name, alias, RTRIM(dateformat), datefirst, months, shortmonths, days FROM sys.syslanguages "+
			"ORDER BY langid") {
		id, name, alias, format, first := l[0].(int64), l[1].(string), l[2].(string), l[3].(string), l[4].(int64)
		months, short, days := strings.Split(l[5].(string), ","), strings.Split(l[6].(string), ","),
			strings.Split(l[7].(string), ",")
		g.Expect(months).To(HaveLen(12), name)
		g.Expect(short).To(HaveLen(12), name)
		g.Expect(days).To(HaveLen(7), name)
		date := map[string]string{"mdy": "'12/3/2007'", "dmy": "'3/12/2007'", "ymd": "'07/12/3'"}[format]
		for _, spoken := range []string{alias, name} {
			mustExec(t, db, "SET LANGUAGE N'"+spoken+"'")
			g.Expect(query(t, db,
				"SELECT @@LANGUAGE, @@LANGID, @@DATEFIRST, DATENAME(month, '20071203'), DATENAME(weekday, '20071203'), "+
					"DATENAME(year, '20071203'), CONVERT(nvarchar(40), CAST('20071203' AS datetime), 106), "+
					"CONVERT(date, CAST("+date+" AS datetime))")).
				To(Equal([][]any{{name, id, first, months[11], days[0], "2007", "03 " + short[11] + " 2007",
					query(t, db, "SELECT CAST('20071203' AS date)")[0][0]}}), spoken)
		}
	}
	converse(t, db, []say{
		{"SET LANGUAGE Italian", "ok"},
		{
			"SELECT DATENAME(month, CAST('20071203' AS date)), CAST('3 dicembre 2007' AS date), CAST('dic 3 2007' AS " +
				"datetime), CAST('3 DIC 2007 10:00' AS datetime2(0))",
			"dicembre 2007-12-03T00:00:00 2007-12-03T00:00:00 2007-12-03T10:00:00",
		},
		{"SELECT CAST('3 december 2007' AS date)", "!241/16"},
		{
			"SELECT CONVERT(varchar(30), CAST('20071203 15:04:05' AS datetime)), CONVERT(varchar(30), CAST('20071203' AS " +
				"datetime), 107), CONVERT(varchar(30), CAST('20071203 15:04:05' AS datetime), 113), CONVERT(varchar(30), " +
				"CAST('20071203' AS datetime), 120)",
			"dic  3 2007  3:04PM dic 03, 2007 03 dic 2007 15:04:05:000 2007-12-03 00:00:00",
		},
		{
			"SET LANGUAGE Français; SELECT TRY_CAST('2 août 2010' AS date), TRY_CAST('14 juillet 2010' AS date), " +
				"TRY_CAST('juil. 14 2010' AS date), TRY_CAST('July 14 2010' AS date), ISDATE('14 juillet 2010')",
			"2010-08-02T00:00:00 2010-07-14T00:00:00 2010-07-14T00:00:00 NULL 1",
		},
		{
			"SET LANGUAGE polski; SELECT CAST('3 XII 2007' AS date), CAST('3 II 2007' AS date), CONVERT(varchar(20), " +
				"CAST('20070203' AS date), 6)",
			"2007-12-03T00:00:00 2007-02-03T00:00:00 03 II 07",
		},
		{
			"SET LANGUAGE Deutsch; SELECT FORMAT(CAST('20070203' AS date), 'D'), CHOOSE(1, DATENAME(dw, '20070203'))",
			"Samstag, 3. Februar 2007 Samstag",
		},
		{"DECLARE @l nvarchar(30) = N'Svenska'; SET LANGUAGE @l; SELECT @@LANGUAGE", "Svenska"},
		{"SELECT FORMAT(CAST('20070203' AS date), 'D')", "!40517"},
		{"SET LANGUAGE Klingon", "!2740/16"},
		{
			"SELECT @@LANGUAGE, language, date_format, date_first FROM sys.dm_exec_sessions WHERE session_id = @@SPID",
			"Svenska Svenska ymd 1",
		},
		{"SET LANGUAGE us_english; SELECT CAST('3 december 2007' AS date)", "2007-12-03T00:00:00"},
		{
			"EXEC sp_helplanguage French",
			"2 dmy 1 0 Français French janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre " +
				"janv,févr,mars,avr,mai,juin,juil,août,sept,oct,nov,déc " +
				"lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche 1036 1036",
		},
		{"EXEC sp_helplanguage 'Klingon'", "!15033/16"},
	})
	g.Expect(query(t, db, "EXEC sp_helplanguage")).To(HaveLen(34))
}

// TestLanguageOfALogin: a session begins in the language of its login, or the one that the client asks for
// (docs/t-sql/statements/create-login-transact-sql.md, DEFAULT_LANGUAGE).
func TestLanguageOfALogin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin := connection(t, shared.open(t, ""))
	name := uniqueName("speaker")
	mustExec(t, admin, "CREATE LOGIN "+name+" WITH PASSWORD = 'Sp3aks-German', DEFAULT_LANGUAGE = German")
	t.Cleanup(func() { dropLogin(t, shared.open(t, ""), name) })
	g.Expect(value(t, admin, "SELECT default_language_name FROM sys.server_principals WHERE name = '"+name+"'")).
		To(Equal("Deutsch"))
	g.Expect(query(t, shared.openAs(t, name, "Sp3aks-German", ""), "SELECT @@LANGUAGE, DATENAME(month, '20070501')")).
		To(Equal([][]any{{"Deutsch", "Mai"}}))
	converse(t, admin, []say{
		{"ALTER LOGIN " + name + " WITH DEFAULT_LANGUAGE = Klingon", "!15033/16"},
		{"EXEC sp_defaultlanguage '" + name + "', 'Thai'", "ok"},
	})
	g.Expect(query(t, shared.openAs(t, name, "Sp3aks-German", ""), "SELECT @@LANGUAGE, @@LANGID")).
		To(Equal([][]any{{"ไทย", int64(32)}}))
}
