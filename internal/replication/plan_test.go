// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// What several objects share is made by whoever comes first: the others take its being there for done.
func TestSharedPrincipalsAreMadeOnce(t *testing.T) {
	g := NewWithT(t)
	var p replication.Plan
	s := replication.System{Login: "agents", SID: []byte{1}}
	g.Expect(p.Login(s, "sub", &mssql.ReplicationServer{})).To(BeTrue())
	p.Owner(s, "sub", "Copy", replication.Owner{})
	for text, done := range map[string]int32{"CREATE LOGIN": 15025, "CREATE USER": 15023} {
		found := false
		for _, step := range p.Steps {
			e := step.(replication.Execute)
			if strings.Contains(e.Statement.Text, text) {
				found = true
				g.Expect(e.Done).To(ContainElement(done), text)
			}
		}
		g.Expect(found).To(BeTrue(), text)
	}
}
