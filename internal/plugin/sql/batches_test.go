// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// What GO ends is a batch, as with sqlcmd, unless it stands where the server would not see a word.
func TestBatches(t *testing.T) {
	one := func(texts ...string) []batch {
		var all []batch
		for _, text := range texts {
			all = append(all, batch{text: text, times: 1})
		}
		return all
	}
	for _, c := range []struct {
		name, text string
		want       []batch
		wrong      string
	}{
		{name: "two", text: "SELECT 1\nGO\nSELECT 2\ngo\n", want: one("SELECT 1\n", "SELECT 2\n")},
		{name: "with carriage returns", text: "SELECT 1\r\nGO\r\n", want: one("SELECT 1\n")},
		{name: "with a byte order mark", text: "\ufeffSELECT 1\nGO", want: one("SELECT 1\n")},
		{name: "several times", text: "SELECT 1\n  Go  3 -- three\n", want: []batch{{text: "SELECT 1\n", times: 3}}},
		{name: "with a semicolon", text: "SELECT 1\nGO;\n", want: one("SELECT 1\n")},
		{name: "nothing between", text: "GO\n\nGO\nSELECT 1\nGO\n", want: one("SELECT 1\n")},
		{name: "a word that begins so", text: "GOTO done\nGO\n", want: one("GOTO done\n")},
		{name: "in a string", text: "SELECT '\nGO\n'\nGO\n", want: one("SELECT '\nGO\n'\n")},
		{name: "after a quote in a string", text: "SELECT 'it''s'\nGO\n", want: one("SELECT 'it''s'\n")},
		{name: "in a quoted name", text: "SELECT 1 AS \"\nGO\n\"\nGO\n", want: one("SELECT 1 AS \"\nGO\n\"\n")},
		{name: "in brackets", text: "SELECT 1 AS [a]]\nGO\n]\nGO\n", want: one("SELECT 1 AS [a]]\nGO\n]\n")},
		{name: "in a comment", text: "/* a\nGO /* b */\n*/ SELECT 1\nGO\n", want: one("/* a\nGO /* b */\n*/ SELECT 1\n")},
		{name: "in a nested comment", text: "/* /* */\nGO\n*/\nSELECT 1\nGO\n", want: one("/* /* */\nGO\n*/\nSELECT 1\n")},
		{name: "a quote in a comment", text: "SELECT 1 -- it's\nGO\n", want: one("SELECT 1 -- it's\n")},
		{name: "a comment in a string", text: "SELECT '--'\nGO\n", want: one("SELECT '--'\n")},
		{name: "quit", text: "SELECT 1\nGO\n:quit\nSELECT 2\nGO\n", want: one("SELECT 1\n")},
		{name: "exit as sqlcmd has it", text: "SELECT 1\nGO\nexit\nSELECT 2\n", want: one("SELECT 1\n")},
		{name: "a column of that name", text: "SELECT 1 AS\nexit\nGO\n", want: one("SELECT 1 AS\nexit\n")},
		{name: "reset", text: "SELECT 1\n:reset\nSELECT 2\nGO\n", want: one("SELECT 2\n")},
		{name: "no number", text: "SELECT 1\nGO x\n", wrong: `line 2: GO takes a number of times from 1 to 100000, and not "x"`},
		{name: "no times", text: "SELECT 1\nGO 0\n", wrong: `not "0"`},
		{name: "sqlcmd's variables", text: "SELECT 1\nGO\n:setvar a b\n", wrong: "line 3: :setvar is not known here"},
		{name: "cut off", text: "SELECT 1\nGO\nDELETE FROM t\n", wrong: "ends within the batch that begins at line 3"},
		{name: "with a comment", text: "SELECT 1\nGO--1\nSELECT 2\nGO -- 2\n", want: one("SELECT 1\n", "SELECT 2\n")},
		{name: "UTF-16", text: "S\x00E\x00", wrong: "not UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			batches, err := script(c.text, false)
			if c.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.wrong)))
				g.Expect(batches).To(BeEmpty(), "nothing of it is executed")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(batches).To(Equal(c.want))
		})
	}
	g := NewWithT(t)
	batches, err := script("SELECT 1\nGO\nSELECT 2", true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(batches).To(Equal(one("SELECT 1\n", "SELECT 2\n")), "of a command line the rest is one, too")
}

// The prompt of a line that goes on says inside of what.
func TestModes(t *testing.T) {
	for text, want := range map[string]mode{
		"SELECT 1": plain, "SELECT 'a": quote, "SELECT \"a": double, "SELECT [a": bracket, "/* a": comment,
		"-- 'a": plain, "'a' [b] \"c\" /* d */": plain,
	} {
		b := &batcher{}
		for line := range strings.Lines(text) {
			b.line(line)
		}
		NewWithT(t).Expect(b.mode).To(Equal(want), text)
	}
}
