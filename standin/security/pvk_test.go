// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/rand"
	"crypto/rsa"
	"testing"

	. "github.com/onsi/gomega"
)

func TestPrivateKeyFilesRoundTrip(t *testing.T) {
	g := NewWithT(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	g.Expect(err).NotTo(HaveOccurred())
	for _, password := range []string{"", "Str0ng!pass"} {
		data := formatPVK(key, password)
		back, err := parsePVK(data, password)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(back.Equal(key)).To(BeTrue())
	}
	sealed := formatPVK(key, "Str0ng!pass")
	_, err = parsePVK(sealed, "other")
	g.Expect(number(err)).To(BeEquivalentTo(15465))
	_, err = parsePVK(sealed, "")
	g.Expect(number(err)).To(BeEquivalentTo(15465))
	for cut := 0; cut < len(sealed); cut += 7 {
		_, err = parsePVK(sealed[:cut], "Str0ng!pass")
		g.Expect(number(err)).NotTo(BeZero(), "%d bytes", cut)
	}
}

func TestSealing(t *testing.T) {
	g := NewWithT(t)
	key := newKey()
	sealed := seal(key, []byte("secret"))
	plain, err := open(key, sealed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plain).To(Equal([]byte("secret")))
	sealed[len(sealed)-1] ^= 1
	_, err = open(key, sealed)
	g.Expect(err).To(HaveOccurred())
	by := sealByPassword("p", []byte("secret"))
	_, err = openByPassword("q", by)
	g.Expect(err).To(HaveOccurred())
	g.Expect(openByPassword("p", by)).To(Equal([]byte("secret")))
}
