// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// language is the session's language. Messages are in us_english whatever it is.
func (s *Session) language() *sqltype.Language { return sqltype.Languages[s.dates().language] }

// setLanguage is SET LANGUAGE: it sets DATEFORMAT and DATEFIRST, too, unless the session has set them itself
// (docs/t-sql/statements/set-language-transact-sql.md; set-dateformat-transact-sql.md, Remarks).
func (s *Session) setLanguage(name string, w tds.Writer) error {
	l := sqltype.FindLanguage(name)
	if l == nil {
		return sqlerr.New(2740, 1, name)
	}
	old := s.settings.language
	s.speak(l)
	return w.Language(l.Name, old)
}

// setsLanguage tells whether a command of a SET statement is LANGUAGE, of whose success there is a message.
func setsLanguage(c ast.SetCommand) bool {
	g, ok := c.(*ast.GeneralSetCommand)
	return ok && g.CommandType == "Language"
}

// Language serves tds.Session.
func (s *Session) Language() string { return s.settings.language }

// speakFirst gives a new session the language that its client asks for, or that of its login.
func (s *Session) speakFirst() {
	for _, name := range []string{s.request.Language, s.original.DefaultLanguage} {
		if l := sqltype.FindLanguage(name); l != nil {
			s.speak(l)
			return
		}
	}
}

func (s *Session) speak(l *sqltype.Language) {
	s.settings.language = l.Name
	s.settings.dates.language = l.ID
	if !s.settings.ownOrder {
		s.settings.dates.order = l.Order
	}
	if !s.settings.ownFirst {
		s.settings.dates.first = l.First
	}
}

// languageRecords are the rows of sys.syslanguages.
func languageRecords(context.Context, *Session) ([]record, error) {
	var out []record
	for _, l := range sqltype.Languages {
		out = append(
			out,
			record{
				"langid":     l.ID,
				"dateformat": l.Order.String(),
				"datefirst":  l.First,
				"upgrade":    0,
				"name":       l.Name,
				"alias":      l.Alias,
				"months": strings.Join(
					l.Months,
					",",
				),
				"shortmonths": strings.Join(l.Short, ","),
				"days":        strings.Join(l.Days, ","),
				"lcid":        l.LCID,
				"msglangid":   l.MessageGroup,
			},
		)
	}
	return out, nil
}
