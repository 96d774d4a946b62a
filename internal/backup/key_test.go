// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A key that was sealed is opened by its secret alone, and only as it was sealed.
func TestSealedKeys(t *testing.T) {
	g := NewWithT(t)
	key := Key{Name: "Sales]Key", Thumbprint: "A1B2", Certificate: []byte{0x30, 0x82}, PrivateKey: []byte{0x1E, 0xF1},
		Password: "for this one time"}
	secret := []byte("what the user alone holds")
	sealed, err := key.Seal(secret, "7/42")
	g.Expect(err).NotTo(HaveOccurred())
	content, err := sealed.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).NotTo(Or(ContainSubstring(key.Password), ContainSubstring(string(secret))))
	read, err := DecodeKey(content)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read).To(Equal(sealed))
	g.Expect(read.SealedBy).To(Equal("7/42"))
	g.Expect(read.Open(secret)).To(Equal(key))
	again, err := key.Seal(secret, "7/42")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Sealed).NotTo(Equal(sealed.Sealed))

	for why, edit := range map[string]func(s *SealedKey){
		"another certificate": func(s *SealedKey) { s.Certificate = []byte{0x30, 0x83} },
		"another thumbprint":  func(s *SealedKey) { s.Thumbprint = "A1B3" },
		"another name":        func(s *SealedKey) { s.Name = "Other" },
		"a bit of the seal": func(s *SealedKey) {
			s.Sealed = append([]byte{s.Sealed[0] ^ 1}, s.Sealed[1:]...)
		},
		"no nonce": func(s *SealedKey) { s.Nonce = nil },
	} {
		changed := read
		edit(&changed)
		_, err := changed.Open(secret)
		g.Expect(err).To(MatchError(ErrSeal), why)
	}
	_, err = read.Open([]byte("what another one holds"))
	g.Expect(err).To(MatchError(ErrSeal))
	_, err = key.Seal([]byte("short"), "7/42")
	g.Expect(err).To(MatchError(ContainSubstring("less than 16 bytes")))
}

func TestWhatIsNoSealedKey(t *testing.T) {
	for why, content := range map[string]string{
		"no JSON":                     "-----BEGIN",
		"a form of a later release":   `{"format": 2}`,
		"nothing":                     `{"format": 1}`,
		"rounds that would take days": `{"format": 1, "thumbprint": "A1", "certificate": "MII=", "salt": "MII=", "rounds": 2000000000}`,
	} {
		_, err := DecodeKey([]byte(content))
		NewWithT(t).Expect(err).To(HaveOccurred(), why)
	}
}

func TestWhereKeysAre(t *testing.T) {
	g := NewWithT(t)
	namespace, target, ok := TargetOf(DatabaseFolder("web", "group/content", "Sales.2"))
	g.Expect(ok).To(BeTrue())
	g.Expect(KeyObject(namespace, target, "a1b2")).To(Equal("web/keys/group/content/A1B2.json"))
	_, _, ok = TargetOf("imports")
	g.Expect(ok).To(BeFalse())
}
