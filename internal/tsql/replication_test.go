// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
)

var tablesOf = regexp.MustCompile(`(?:FROM|JOIN) (?:msdb\.)?dbo\.((?:MS|sys)\w+)(?: AS (\w+))?`)

// uncataloguedTables are tables that the catalog does not have, with their pages.
var uncataloguedTables = map[string]string{
	// It came with distribution databases in groups; it has no page of its own.
	"MSreplservers": "docs/relational-databases/replication/configure-distribution-availability-group.md",
	// It has no page; that of the procedure says who works it off.
	"MSnosyncsubsetup": "docs/relational-databases/system-stored-procedures/sp-addsubscription-transact-sql.md",
	"syssessions":      "docs/relational-databases/system-tables/dbo-syssessions-transact-sql.md",
	"syscategories":    "docs/relational-databases/system-tables/dbo-syscategories-transact-sql.md",
	"sysjobservers":    "docs/relational-databases/system-tables/dbo-sysjobservers-transact-sql.md",
}

// Replication's tables are documented, and so are the columns that are read of them.
func TestReplicationTablesAreAsDocumented(t *testing.T) {
	met := 0
	each(t, func(t *testing.T, text string) {
		for _, m := range tablesOf.FindAllStringSubmatch(text, -1) {
			table, ok := catalog().replicationTable(m[1])
			if !ok {
				if uncataloguedTables[m[1]] == "" {
					t.Errorf("table %s is neither in the catalog nor in the list of documented ones", m[1])
				}
				continue
			}
			met++
			if m[2] == "" {
				continue
			}
			for _, c := range regexp.MustCompile(`\b`+m[2]+`\.\[?(\w+)`).FindAllStringSubmatch(text, -1) {
				if !slices.ContainsFunc(table.Columns, func(i column) bool { return strings.EqualFold(i.Name, c[1]) }) {
					t.Errorf("table %s has no column %s", m[1], c[1])
				}
			}
		}
	})
	NewWithT(t).Expect(met).To(BeNumerically(">", 15))
}

func TestCommandLine(t *testing.T) {
	g := NewWithT(t)
	c := tsql.NewCommand().
		With("Publisher", "tukpub-0").
		With("PublisherDB", "odd]name").
		WithSecret("PublisherPassword", "secret").
		WithNumber("PacketSize", 8192).
		Flag("Continuous")
	line := "-Publisher [tukpub-0] -PublisherDB [odd]]name] -PublisherPassword [secret] -PacketSize 8192 -Continuous"
	g.Expect(c.Is(line)).To(BeTrue())
	g.Expect(c.String()).
		To(Equal("-Publisher [tukpub-0] -PublisherDB [odd]]name] -PublisherPassword *** -PacketSize 8192 -Continuous"))
	g.Expect(tsql.UpdateJobStep("job", 1, c).Text).To(ContainSubstring("@command = N'" + line + "'"))
}

func TestSchemaOption(t *testing.T) {
	g := NewWithT(t)
	g.Expect(tsql.AddArticle(tsql.Article{}).Text).To(ContainSubstring("@schema_option = 0x00000000080070F3,"))
	g.Expect(tsql.AddArticle(tsql.Article{Compressed: true}).Text).
		To(ContainSubstring("@schema_option = 0x00000004080070F3,"))
	publishable := tsql.AddArticle(tsql.Article{Publishable: true}).Text
	g.Expect(publishable).
		To(And(ContainSubstring("@schema_option = 0x0000000008017CF7,"),
			ContainSubstring("@identityrangemanagementoption = N'manual'")))
}
