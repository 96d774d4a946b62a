// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/tds"
)

// language is a row of sys.syslanguages: what SET LANGUAGE changes.
type language struct {
	id          int16
	name, alias string
	order       sqltype.DateOrder
	// first is the day that a week begins with, 1 for Monday to 7 for Sunday.
	first   int64
	lcid    int64
	culture string
}

// languages are those in which months and days have English names; the first one is that of a new session.
var languages = []*language{
	{name: "us_english", alias: "English", first: 7, lcid: 1033, culture: "en-US"},
	{id: 23, name: "British", alias: "British English", order: 1, first: 1, lcid: 2057, culture: "en-GB"},
}

// otherLanguages are the names and aliases of the languages that exist (docs/t-sql/functions/parse-transact-sql.md, culture) and
// are not spoken here.
var otherLanguages = strings.Split("Deutsch,German,Français,French,日本語,Japanese,Dansk,Danish,Español,Spanish,Italiano,Italian,Nederlands,Dutch,"+
	"Norsk,Norwegian,Português,Portuguese,Suomi,Finnish,Svenska,Swedish,čeština,Czech,magyar,Hungarian,polski,Polish,română,Romanian,hrvatski,Croatian,"+
	"slovenčina,Slovak,slovenski,Slovenian,ελληνικά,Greek,български,Bulgarian,русский,Russian,Türkçe,Turkish,eesti,Estonian,latviešu,Latvian,"+
	"lietuvių,Lithuanian,Português (Brasil),Brazilian,繁體中文,Traditional Chinese,한국어,Korean,简体中文,Simplified Chinese,Arabic,ไทย,Thai", ",")

// language is the session's language.
func (s *Session) language() *language {
	for _, l := range languages {
		if l.id == s.dates().language {
			return l
		}
	}
	return languages[0]
}

// setLanguage is SET LANGUAGE: it sets DATEFORMAT and DATEFIRST, too (docs/t-sql/statements/set-language-transact-sql.md).
func (s *Session) setLanguage(name string, w tds.Writer) error {
	for _, l := range languages {
		if strings.EqualFold(l.name, name) || strings.EqualFold(l.alias, name) {
			s.settings.language = l.name
			s.settings.dates = dateSettings{order: l.order, first: l.first, language: l.id}
			return w.Message(sqlerr.New(5703, 1, l.name))
		}
	}
	for _, other := range otherLanguages {
		if strings.EqualFold(other, name) {
			return unsupported("SET LANGUAGE " + name)
		}
	}
	return sqlerr.New(2740, 1, name)
}

// languageRecords are the rows of sys.syslanguages.
func languageRecords(context.Context, *Session) ([]record, error) {
	var out []record
	for _, l := range languages {
		out = append(out, record{"langid": l.id, "dateformat": l.order.String(), "datefirst": l.first, "upgrade": 0, "name": l.name, "alias": l.alias,
			"months":      "January,February,March,April,May,June,July,August,September,October,November,December",
			"shortmonths": "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec", "days": "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
			"lcid": l.lcid, "msglangid": 1033})
	}
	return out, nil
}
