// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/tsql"
)

func TestQuoting(t *testing.T) {
	g := NewWithT(t)
	g.Expect(tsql.Identifier("a]b")).To(Equal("[a]]b]"))
	g.Expect(tsql.Qualified("dbo", "x]; DROP")).To(Equal("[dbo].[x]]; DROP]"))
	g.Expect(tsql.String("it's")).To(Equal("N'it''s'"))
	g.Expect(tsql.String("a\\\nb")).To(Equal("N'a\\'+N'\nb'"))
	g.Expect(tsql.Binary([]byte{0, 0xab})).To(Equal("0x00AB"))
	g.Expect(tsql.Binary(nil)).To(Equal("0x"))
}

// unquote undoes a delimited text and fails when anything is left over: nothing that is quoted can leave its quotes.
func unquote(t *rapid.T, s, open, shut string) string {
	rest, ok := strings.CutPrefix(s, open)
	if !ok {
		t.Fatalf("%q does not begin with %q", s, open)
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(rest, shut)
		out.WriteString(before)
		if !found {
			t.Fatalf("%q does not end", s)
		}
		if doubled, ok := strings.CutPrefix(after, shut); ok {
			out.WriteString(shut)
			rest = doubled
			continue
		}
		if after != "" {
			t.Fatalf("%q goes on after its end: %q", s, after)
		}
		return out.String()
	}
}

func TestQuotingIsReversible(t *testing.T) {
	hard := rapid.StringOfN(rapid.SampledFrom([]rune("a]['\"\\;-/* \n\rø\U0001F600")), 0, 20, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := hard.Draw(t, "text")
		if got := unquote(t, tsql.Identifier(s), "[", "]"); got != s {
			t.Fatalf("identifier %q became %q", s, got)
		}
		literal := tsql.String(s)
		// A backslash before a line end splits the literal in two.
		joined := strings.NewReplacer("\\'+N'\n", "\\\n", "\\'+N'\r", "\\\r").Replace(literal)
		if strings.Contains(s, "\\'+N'") {
			t.Skip("the text holds the seam itself")
		}
		if got := unquote(t, joined, "N'", "'"); got != s {
			t.Fatalf("literal %q became %q", s, got)
		}
		if strings.Contains(literal, "\\\n") || strings.Contains(literal, "\\\r") {
			t.Fatalf("literal %q has a line continuation", literal)
		}
	})
}

func TestSecretsAreNeverShown(t *testing.T) {
	g := NewWithT(t)
	l := tsql.Login{Name: "geosql_agent", SID: make([]byte, 16), Password: "hunter'2"}
	for _, s := range []tsql.Statement{tsql.CreateLogin(l), tsql.AlterLoginPassword(l)} {
		g.Expect(s.Text).To(ContainSubstring("N'hunter''2'"))
		for _, shown := range []string{s.Redacted(), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s", s, s, s, s), s.Reason} {
			g.Expect(shown).NotTo(ContainSubstring("hunter"))
		}
		g.Expect(s.Redacted()).To(ContainSubstring("PASSWORD = N'***'"))
	}
}

func TestRepeatable(t *testing.T) {
	g := NewWithT(t)
	for _, s := range []tsql.Statement{tsql.Alive(), tsql.Instance(), tsql.ServerLogins(), tsql.TempDBFiles()} {
		g.Expect(s.Repeatable()).To(BeTrue(), s.Text)
	}
	for _, text := range []string{"SELECT 1 INTO t", "UPDATE t SET a = 1", "SELECT 1; DELETE t", "SELECT 1\nDELETE t",
		"SELECT 1\nexec p", "SELECT NEXT VALUE FOR s", "EXEC p"} {
		g.Expect(tsql.Statement{Text: text}.Repeatable()).To(BeFalse(), text)
	}
}
