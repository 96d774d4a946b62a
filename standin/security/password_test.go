// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/sqlerr"
)

// A published example of the hash that SQL Server 2012 and later stores (hashcat's example of mode 1731).
const publishedHash = "02000102030434ea1b17802fd95ea6316bd61d2c94622ca3812793e8fb1672487b5c904a45a31b2ab4a78890d563d2fcf5663e46fe797d71550494be50cf4915d3f4d55ec375"

func TestHashIsSQLServers(t *testing.T) {
	g := NewWithT(t)
	hash, err := hex.DecodeString(publishedHash)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(passwordMatches("hashcat", hash)).To(BeTrue())
	g.Expect(passwordMatches("Hashcat", hash)).To(BeFalse())
	g.Expect(hashWith("hashcat", []byte{1, 2, 3, 4})).To(Equal(hash))
}

func TestHashesAreSalted(t *testing.T) {
	g := NewWithT(t)
	a, b := hashPassword("påss😀"), hashPassword("påss😀")
	g.Expect(a).NotTo(Equal(b))
	g.Expect(passwordMatches("påss😀", a)).To(BeTrue())
	g.Expect(passwordMatches("", nil)).To(BeFalse())
	g.Expect(passwordMatches("x", []byte{1, 0, 1, 2, 3})).To(BeFalse())
}

// number is the SQL Server number of an error, 0 for none.
func number(err error) int32 {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func TestPasswordPolicy(t *testing.T) {
	g := NewWithT(t)
	for password, want := range map[string]int32{"Str0ng!pass": 0, "Sh0rt!": 15116, "onlylowercase": 15118,
		"lower123": 15118,
		"Lower123": 0, "MyLogin#1": 15118} {
		g.Expect(number(checkPassword("mylogin", password, true))).To(Equal(want), password)
	}
	g.Expect(checkPassword("mylogin", "x", false)).To(Succeed())
	long := make([]byte, 129)
	for i := range long {
		long[i] = 'a'
	}
	g.Expect(number(checkPassword("mylogin", string(long), false))).To(BeEquivalentTo(15156))
}
