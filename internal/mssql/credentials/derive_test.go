// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
)

func TestDerivedPasswords(t *testing.T) {
	g := NewWithT(t)
	passwords := credentials.Passwords{credentials.KeyReplication: []byte("Xy3-first")}
	link, err := credentials.Derive(passwords, "link main")
	g.Expect(err).NotTo(HaveOccurred())
	again, err := credentials.Derive(passwords, "link main")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(link), "the same each time")
	other, err := credentials.Derive(passwords, "agents main")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other).NotTo(Equal(link))
	rotated, err := credentials.Derive(
		credentials.Passwords{credentials.KeyReplication: []byte("Xy3-second")},
		"link main",
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rotated).NotTo(Equal(link))
	for _, p := range []string{link, other, rotated} {
		g.Expect(p).To(HaveLen(32))
		for _, class := range []string{"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789", "-_."} {
			g.Expect(strings.ContainsAny(p, class)).To(BeTrue(), "%s has one of %s", p, class)
		}
	}
	_, err = credentials.Derive(credentials.Passwords{}, "link main")
	g.Expect(err).To(MatchError(ContainSubstring("replication-password is missing")))
}

// Nothing of a derived password is kept: a later release must come to the same one. These were computed by other means,
// as HMAC-SHA-256 of a counter and the purpose; of "link main" more than one block is used, of "link 18" a byte is
// drawn that is just not below the limit.
func TestDerivedPasswordsStayAsTheyAre(t *testing.T) {
	for purpose, want := range map[string]string{
		"link main":   "Bt3.yuGVDvbMDEW2JURwEijLbkeV7k3w",
		"agents main": "Ju5.ikaDemmECZAjg3UiGHyptCdJQNjX",
		"link 18":     "Pm5-jbaquEASeoSz.QDSXa5p2AYrHruB",
	} {
		got, err := credentials.Derive(credentials.Passwords{credentials.KeyReplication: []byte("Xy3-first")}, purpose)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want), purpose)
	}
}
