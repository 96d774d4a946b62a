// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
)

func TestEveryFormatFitsTheCatalog(t *testing.T) {
	g := NewWithT(t)
	g.Expect(len(formats)).To(BeNumerically(">", 300))
	for number, format := range formats {
		info, listed := catalog.Error(number)
		if !listed {
			extra, ok := notListed[number]
			g.Expect(ok).To(BeTrue(), "%d is neither in the catalog nor in notListed", number)
			g.Expect(extra.doc).To(HavePrefix("docs/"), "%d", number)
			continue
		}
		g.Expect(strings.Count(format, "%v")).To(Equal(len(info.Parameters)), "%d %q %v", number, format, info.Parameters)
		g.Expect(strings.Count(format, "%")).To(Equal(len(info.Parameters)), "%d has another verb than %%v", number)
	}
}

// What DBCC says has the catalog's severities where the catalog has the number.
func TestNoFormatOfDBCCHidesTheCatalog(t *testing.T) {
	g := NewWithT(t)
	for number := range dbccFormats {
		if _, listed := catalog.Error(number); listed {
			g.Expect(notListed).NotTo(HaveKey(number))
		}
	}
	g.Expect(Severity(2528)).To(BeEquivalentTo(10))
	g.Expect(Severity(7729)).To(BeEquivalentTo(16))
}

func TestNewHasSeverityStateAndText(t *testing.T) {
	g := NewWithT(t)
	err := New(208, 3, "dbo.t").At(7)
	g.Expect(err.Class).To(BeEquivalentTo(16))
	g.Expect(err.State).To(BeEquivalentTo(3))
	g.Expect(err.Line).To(BeEquivalentTo(7))
	g.Expect(err.Message).To(Equal("Invalid object name 'dbo.t'."))
	g.Expect(New(229, 5, "SELECT", "t", "db", "dbo").Class).To(BeEquivalentTo(14))
	g.Expect(New(5701, 1, "master").Class).To(BeEquivalentTo(10))
}

func TestNumberWithoutTextKeepsItsParameters(t *testing.T) {
	g := NewWithT(t)
	err := New(19524, 1, "a", "b")
	g.Expect(err.Number).To(BeEquivalentTo(19524))
	g.Expect(err.Message).To(ContainSubstring("a b"))
}
