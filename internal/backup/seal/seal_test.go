// SPDX-License-Identifier: Apache-2.0

package seal_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/backup/seal"
)

func newKey(t interface{ Fatal(...any) }) (identity, recipient string) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key.String(), key.Recipient().String()
}

// sizes are those at which something begins or ends.
var sizes = []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3<<20 + 12345}

func content(seed uint64, size int) []byte {
	all := make([]byte, size)
	random := mathrand.New(mathrand.NewPCG(seed, 1))
	for i := range all {
		all[i] = byte(random.Uint32())
	}
	return all
}

func made(t testing.TB, plain []byte, recipient string) (seal.Seal, []byte) {
	t.Helper()
	var sums bytes.Buffer
	s, err := seal.Make(t.Context(), bytes.NewReader(plain), int64(len(plain)), recipient, &sums)
	if err != nil {
		t.Fatal(err)
	}
	if int64(sums.Len()) != s.SumsBytes() {
		t.Fatalf("%d bytes have %d bytes of sums, and not %d", len(plain), sums.Len(), s.SumsBytes())
	}
	return s, sums.Bytes()
}

func encrypted(g *WithT, s seal.Seal, plain, sums []byte) []byte {
	r, err := s.Reader(bytes.NewReader(plain), bytes.NewReader(sums))
	g.Expect(err).NotTo(HaveOccurred())
	all, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	g.Expect(err).NotTo(HaveOccurred())
	return all
}

// What is made here age opens, whatever the size; each making is another, and a Seal that was read back is the same.
func TestAgeOpensWhatIsSealed(t *testing.T) {
	identity, recipient := newKey(t)
	key, err := age.ParseX25519Identity(identity)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range sizes {
		g := NewWithT(t)
		plain := content(1, size)
		s, sums := made(t, plain, recipient)
		all := encrypted(g, s, plain, sums)
		opened, err := age.Decrypt(bytes.NewReader(all), key)
		g.Expect(err).NotTo(HaveOccurred(), "%d bytes", size)
		back, err := io.ReadAll(opened)
		g.Expect(err).NotTo(HaveOccurred(), "%d bytes", size)
		g.Expect(bytes.Equal(back, plain)).To(BeTrue(), "%d bytes", size)
		sum := sha256.Sum256(all)
		g.Expect(s.Stored).To(Equal(seal.Content{Bytes: int64(len(all)), SHA256: hex.EncodeToString(sum[:])}))
		sum = sha256.Sum256(plain)
		g.Expect(s.Plain).To(Equal(seal.Content{Bytes: int64(size), SHA256: hex.EncodeToString(sum[:])}))

		var again seal.Seal
		kept, err := json.Marshal(s)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(json.Unmarshal(kept, &again)).To(Succeed())
		g.Expect(bytes.Equal(encrypted(g, again, plain, sums), all)).To(BeTrue(), "the next life's is the same")
		other, sums := made(t, plain, recipient)
		g.Expect(other.Key).NotTo(Equal(s.Key))
		g.Expect(bytes.Equal(encrypted(g, other, plain, sums), all)).To(BeFalse())
	}
}

// From any place on, and in pieces of any size, the bytes are those of the whole.
func TestAnyPartIsTheSameAgain(t *testing.T) {
	_, recipient := newKey(t)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.SampledFrom(sizes), rapid.IntRange(0, 3<<20)).Draw(t, "size")
		plain := content(rapid.Uint64().Draw(t, "seed"), size)
		var sums bytes.Buffer
		s, err := seal.Make(t.Context(), bytes.NewReader(plain), int64(size), recipient, &sums)
		if err != nil {
			t.Fatal(err)
		}
		g := NewWithT(t)
		all := encrypted(g, s, plain, sums.Bytes())
		at := rapid.IntRange(0, len(all)).Draw(t, "at")
		end := rapid.IntRange(at, len(all)).Draw(t, "end")
		r, err := s.Reader(bytes.NewReader(plain), bytes.NewReader(sums.Bytes()))
		g.Expect(err).NotTo(HaveOccurred())
		part, err := io.ReadAll(io.NewSectionReader(r, int64(at), int64(end-at)))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Equal(part, all[at:end])).To(BeTrue())
	})
}

// A file whose bytes are others is not encrypted under the same key: what is before them comes, and nothing of them.
func TestNothingIsGivenAwayOfAFileThatChanged(t *testing.T) {
	_, recipient := newKey(t)
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		size := rapid.IntRange(1, 3<<20).Draw(t, "size")
		plain := content(2, size)
		var sums bytes.Buffer
		s, err := seal.Make(t.Context(), bytes.NewReader(plain), int64(size), recipient, &sums)
		g.Expect(err).NotTo(HaveOccurred())
		was := encrypted(g, s, plain, sums.Bytes())
		at := rapid.IntRange(0, size-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "cut off") {
			plain = plain[:at]
		} else {
			plain[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		r, err := s.Reader(bytes.NewReader(plain), bytes.NewReader(sums.Bytes()))
		g.Expect(err).NotTo(HaveOccurred())
		got, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
		g.Expect(err).To(MatchError(seal.ErrChanged))
		g.Expect(bytes.HasPrefix(was, got)).To(BeTrue())
	})
}

// A file is decrypted in its place; one bit that is another, a byte more or less, is found.
func TestAFileIsOpenedInItsPlace(t *testing.T) {
	identity, recipient := newKey(t)
	former, _ := newKey(t)
	file := filepath.Join(t.TempDir(), "1.bak.age")
	for _, size := range sizes {
		g := NewWithT(t)
		plain := content(3, size)
		s, sums := made(t, plain, recipient)
		all := encrypted(g, s, plain, sums)
		open := func(content []byte, identities ...string) error {
			g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
			return seal.Open(t.Context(), file, s.Plain, identities)
		}
		g.Expect(open(all, former, identity)).To(Succeed())
		back, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Equal(back, plain)).To(BeTrue(), "%d bytes", size)

		g.Expect(open(all, former)).To(MatchError(seal.ErrKey))
		g.Expect(open(all)).To(MatchError(seal.ErrKey))
		g.Expect(open(append(bytes.Clone(all), 0), identity)).To(MatchError(seal.ErrDamaged))
		g.Expect(open(all[:len(all)-1], identity)).To(MatchError(seal.ErrDamaged))
		random := make([]byte, 1)
		_, _ = rand.Read(random)
		flipped := bytes.Clone(all)
		flipped[len(s.Header)+int(random[0])%16] ^= 1
		g.Expect(open(flipped, identity)).To(MatchError(seal.ErrDamaged))
		other := s.Plain
		other.SHA256 = strings.Repeat("0", 64)
		g.Expect(os.WriteFile(file, all, 0o600)).To(Succeed())
		g.Expect(seal.Open(t.Context(), file, other, []string{identity})).To(MatchError(seal.ErrDamaged))
	}
}

func TestOneBitIsFoundAnywhere(t *testing.T) {
	identity, recipient := newKey(t)
	plain := content(4, 1<<20+100)
	s, sums := made(t, plain, recipient)
	all := encrypted(NewWithT(t), s, plain, sums)
	file := filepath.Join(t.TempDir(), "1.bak.age")
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		flipped := bytes.Clone(all)
		at := rapid.OneOf(rapid.IntRange(0, len(s.Header)-1), rapid.IntRange(0, len(all)-1)).Draw(t, "at")
		flipped[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		g.Expect(os.WriteFile(file, flipped, 0o600)).To(Succeed())
		err := seal.Open(t.Context(), file, s.Plain, []string{identity})
		g.Expect(errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrKey)).To(BeTrue(), "%d: %v", at, err)
	})
}

// Keys are what age-keygen writes; the first encrypts. No error has anything of a key.
func TestKeysAreRead(t *testing.T) {
	first, recipient := newKey(t)
	second, other := newKey(t)
	mistake := first[:len(first)-1] + "0"
	if mistake == first {
		mistake = first[:len(first)-1] + "9"
	}
	for _, row := range []struct {
		what, text string
		keys       seal.Keys
		refused    string
	}{
		{"one", "# created: 2026\n# public key: " + recipient + "\n" + first + "\n",
			seal.Keys{Recipient: recipient, Identities: []string{first}}, ""},
		{"a former one behind it", first + "\r\n\n" + second, seal.Keys{Recipient: recipient,
			Identities: []string{first, second}}, ""},
		{"the public key alone", recipient, seal.Keys{Recipient: recipient}, ""},
		{"the public key, and a former private one", recipient + "\n" + second,
			seal.Keys{Recipient: recipient, Identities: []string{second}}, ""},
		{"none", "# nothing\n", seal.Keys{}, "it has no key"},
		{"a public key behind another", first + "\n" + other, seal.Keys{}, "line 2 is a public key behind another"},
		{"a private key with a mistake", mistake, seal.Keys{}, "line 1: a private key is none"},
		{"a public key with a mistake", recipient[:len(recipient)-1] + "b", seal.Keys{}, "line 1 is no public key"},
		{"something else", "hunter2", seal.Keys{}, "line 1 is no key of age-keygen"},
	} {
		t.Run(row.what, func(t *testing.T) {
			g := NewWithT(t)
			keys, err := seal.Parse([]byte(row.text))
			if row.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(row.refused)))
				g.Expect(err.Error()).NotTo(Or(ContainSubstring("hunter2"), ContainSubstring(first[16:24])))
			}
			g.Expect(keys).To(Equal(row.keys))
		})
	}
	g := NewWithT(t)
	g.Expect(seal.Opens([]string{first, second}, other)).To(BeTrue())
	g.Expect(seal.Opens([]string{first}, other)).To(BeFalse())
	g.Expect(seal.Opens(nil, other)).To(BeFalse())
}
