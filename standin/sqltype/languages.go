// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	_ "embed"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Language is a row of sys.syslanguages: what SET LANGUAGE changes
// (docs/relational-databases/system-compatibility-views/sys-syslanguages-transact-sql.md).
type Language struct {
	ID          int16
	Name, Alias string
	Order       DateOrder
	// First is the day that a week begins with, 1 for Monday to 7 for Sunday.
	First              int64
	LCID, MessageGroup int64
	// Culture is what FORMAT and PARSE take where they name none.
	Culture string
	// Months and Short begin with January, Days with Monday.
	Months, Short, Days []string
	english             bool
}

// languageTable has a language in each line, by langid: langid, name, alias, date format, first day of the week, LCID,
// message group, culture, months, abbreviated months, days from Monday. The months of Greek and Arabic are as the
// server's own table has them.
//
//go:embed languages.txt
var languageTable string

// Languages are all languages, by langid; the first one is that of a new session.
var Languages = func() []*Language {
	var out []*Language
	for _, line := range strings.Split(strings.TrimSpace(languageTable), "\n") {
		f := strings.Split(line, "|")
		n := func(i int) int64 {
			v, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil {
				panic("languages.txt: " + line + ": " + err.Error())
			}
			return v
		}
		order, ok := ParseDateOrder(f[3])
		if !ok || n(0) != int64(len(out)) {
			panic("languages.txt: " + line)
		}
		out = append(
			out,
			&Language{
				ID:           int16(len(out)),
				Name:         f[1],
				Alias:        f[2],
				Order:        order,
				First:        n(4),
				LCID:         n(5),
				MessageGroup: n(6),
				Culture:      f[7],
				Months: strings.Split(
					f[8],
					",",
				),
				Short:   strings.Split(f[9], ","),
				Days:    strings.Split(f[10], ","),
				english: strings.HasPrefix(f[7], "en-"),
			},
		)
	}
	return out
}()

// FindLanguage finds a language by its name or its alias, nil for none.
func FindLanguage(name string) *Language {
	for _, l := range Languages {
		if strings.EqualFold(l.Name, name) || strings.EqualFold(l.Alias, name) {
			return l
		}
	}
	return nil
}

// Day is the name of a day of the week.
func (l *Language) Day(d time.Weekday) string { return l.Days[(int(d)+6)%7] }

// languageUnit leaves room for every style of a client, which is an int.
const languageUnit = 1 << 32

// LocalStyle is what Convert takes for a style in a session of a language: names of months are read and written in it.
// The style is the order of dates where the conversion has none of its own (DateOrder.Style).
func LocalStyle(style int, language int16) int { return style + int(language)*languageUnit }

// splitStyle takes LocalStyle apart.
func splitStyle(style int) (int, *Language) {
	n := (style + languageUnit/2) >> 32
	if n < 0 || n >= len(Languages) {
		return style, Languages[0]
	}
	return style - n*languageUnit, Languages[n]
}

// monthAt is the month whose name, or abbreviation, a text begins with, and the length of that; 0 for none. The longest
// one counts: in Czech the abbreviations are Roman numerals.
func (l *Language) monthAt(text string) (time.Month, int) {
	found, length := time.Month(0), 0
	for _, names := range [][]string{l.Months, l.Short} {
		for i, name := range names {
			if first, _ := utf8.DecodeRuneInString(name); !unicode.IsLetter(first) {
				continue // Japanese has numbers for names
			}
			n := prefixFold(text, name)
			if next, _ := utf8.DecodeRuneInString(text[n:]); n > length && !unicode.IsLetter(next) {
				found, length = time.Month(i+1), n
			}
		}
	}
	return found, length
}

// prefixFold is the length of the part of a text that is a name in any case, 0 when it does not begin with it.
func prefixFold(text, name string) int {
	n := 0
	for range name {
		if n >= len(text) {
			return 0
		}
		_, size := utf8.DecodeRuneInString(text[n:])
		n += size
	}
	if !strings.EqualFold(text[:n], name) {
		return 0
	}
	return n
}
