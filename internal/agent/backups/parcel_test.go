// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
)

// sealing has a set with one file of 3 MiB on the backup volume, and a store that is encrypted.
func sealing(t *testing.T) (*local, Own, orders.BackupStore) {
	t.Helper()
	g := NewWithT(t)
	l := &local{dir: filepath.Join(t.TempDir(), setsDir)}
	content := bytes.Repeat([]byte("abc"), 1<<20)
	sum := sha256.Sum256(content)
	d := taken("one", backup.Full, time.Hour, "10", "20")
	d.Files = []backup.File{{Name: "1.bak", Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}}
	at := filepath.Join(l.dir, newPrefix+"one")
	g.Expect(os.MkdirAll(at, 0o750)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(at, "1.bak"), content, 0o600)).To(Succeed())
	g.Expect(l.add(at, d)).To(Succeed())
	key, err := age.GenerateX25519Identity()
	g.Expect(err).NotTo(HaveOccurred())
	to := orders.BackupStore{Name: "bucket", Bucket: "backups"}.Encrypted(key.Recipient().String(), nil)
	return l, Own{Description: d}, to
}

// A Seal holds with all of its sums alone: with others nothing could be sent, in any life.
func TestASealWithoutAllOfItsSumsIsMadeAnew(t *testing.T) {
	for why, spoil := range map[string]func(sums string) error{
		"none":      os.Remove,
		"empty":     func(sums string) error { return os.Truncate(sums, 0) },
		"not whole": func(sums string) error { return os.Truncate(sums, sha256.Size) },
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			l, own, to := sealing(t)
			p, err := l.pack(t.Context(), own, to)
			g.Expect(err).NotTo(HaveOccurred())
			again, err := l.pack(t.Context(), own, to)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.seals).To(Equal(p.seals), "it is kept")
			g.Expect(spoil(p.at[0] + sumsExtension)).To(Succeed())
			again, err = l.pack(t.Context(), own, to)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.seals[0].Key).NotTo(Equal(p.seals[0].Key))
			info, err := os.Stat(p.at[0] + sumsExtension)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Size()).To(Equal(again.seals[0].SumsBytes()))
		})
	}
}

// While sums are written there is no Seal: neither where that fails, nor where it is to be made anew.
func TestNoSealIsBesideSumsOfAnother(t *testing.T) {
	g := NewWithT(t)
	l, own, to := sealing(t)
	p, err := l.pack(t.Context(), own, to)
	g.Expect(err).NotTo(HaveOccurred())
	file := p.at[0] + sealExtension
	g.Expect(file).To(BeAnExistingFile())
	_, err = l.seal(t.Context(), own, own.Files[0], p.at[0], "nobody")
	g.Expect(err).To(HaveOccurred())
	g.Expect(file).NotTo(BeAnExistingFile())

	_, err = l.pack(t.Context(), own, to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Remove(p.at[0] + sumsExtension)).To(Succeed())
	g.Expect(os.MkdirAll(filepath.Join(p.at[0]+sumsExtension, "stays"), 0o700)).To(Succeed())
	g.Expect(unseal(p.at[0])).NotTo(Succeed())
	g.Expect(file).NotTo(BeAnExistingFile(), "it goes first")
}

// Where it is not said to whom, nothing goes as it is.
func TestNothingIsPackedForAnEncryptionToNobody(t *testing.T) {
	g := NewWithT(t)
	l, own, to := sealing(t)
	to.Encryption.Recipient = ""
	_, err := l.pack(t.Context(), own, to)
	g.Expect(err).To(MatchError(ContainSubstring("store bucket is encrypted, and not to whom")))
	to.Encryption = nil
	p, err := l.pack(t.Context(), own, to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.seals).To(Equal([]seal.Seal(nil)))
}
