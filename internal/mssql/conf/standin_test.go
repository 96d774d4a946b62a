// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// The stand-in obeys every setting that all servers are given: tests over it would say nothing of one that it only
// keeps. Its SQL Server Agent waits for no database, which is what the one that it does not obey asks for.
func TestTheStandInObeysWhatIsManaged(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../../standin/docs/limits.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(page), "\n### mssql.conf\n")
	g.Expect(found).To(BeTrue())
	_, obeyed, _ := strings.Cut(section, "- Obeyed:")
	obeyed, _, _ = strings.Cut(obeyed, "\n- ")
	for setting := range managed {
		if setting == waitForDatabases {
			continue
		}
		g.Expect(obeyed).To(ContainSubstring("`" + strings.ToLower(setting) + "`"))
	}
}
