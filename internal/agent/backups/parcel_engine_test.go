// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/test/support/bucket"
)

func newKey(t *testing.T) (identity, recipient string) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key.String(), key.Recipient().String()
}

func encryptedTo(recipient string) func(*orders.Backup) {
	return func(o *orders.Backup) { o.Stores[0] = o.Stores[0].Encrypted(recipient, nil) }
}

// opened is what the bucket's file is decrypted to.
func opened(t *testing.T, s *bucket.Server, d backup.Description, f backup.File, identity string) []byte {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(s.File(d.KeyOf(f.Name)))
	g.Expect(err).NotTo(HaveOccurred())
	copied := filepath.Join(t.TempDir(), f.Name)
	g.Expect(os.WriteFile(copied, content, 0o600)).To(Succeed())
	g.Expect(seal.Open(t.Context(), copied, seal.Content{Bytes: f.Plain.Bytes, SHA256: f.Plain.SHA256},
		[]string{identity})).To(Succeed())
	content, err = os.ReadFile(copied)
	g.Expect(err).NotTo(HaveOccurred())
	return content
}

// What the bucket gets nobody reads without the key; to see what it is, and whether it is whole, none is needed.
func TestASetIsSentEncrypted(t *testing.T) {
	g := NewWithT(t)
	identity, recipient := newKey(t)
	s := newShipping(t, encryptedTo(recipient))
	g.Expect(s.current().Sets).To(HaveLen(1))
	k := s.current().Sets[0]
	g.Expect(k.Encryption).To(Equal(&backup.Encryption{Scheme: "age", Recipient: recipient}))
	g.Expect(k.Format).To(Equal(backup.Format), "an earlier release reads nothing of it")
	for _, f := range k.Files {
		content, err := os.ReadFile(s.bucket.File(k.KeyOf(f.Name)))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(content)).To(HavePrefix("age-encryption.org/v1\n"))
		g.Expect(f.Name).To(Equal(f.Plain.Name + ".age"))
		g.Expect(string(opened(t, s.bucket, k.Description, f, identity))).
			To(Equal(map[string]string{"1.bak": "one", "2.bak": "two"}[f.Plain.Name]))
	}
	objects, err := s.store.List(t.Context(), k.Folder()+"/")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(3), "and nothing as the engine wrote it")
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.current().Sets[0].Verified).To(BeTrue())
	g.Expect(s.planForget(s.observed())).To(HaveLen(1))

	file := s.bucket.File(k.KeyOf("2.bak.age"))
	was, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	flipped := bytes.Clone(was)
	flipped[len(was)-1] ^= 1
	g.Expect(os.WriteFile(file, flipped, 0o600)).To(Succeed())
	g.Expect(s.check(t.Context(), s.catalog, Check{s.current().Sets[0], "bucket"})).To(Succeed())
	g.Expect(s.current().Sets[0].Damaged).To(BeTrue(), "one bit")
	s.sendAll(t.Context(), s.catalog, false)
	now, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(now, was)).To(BeTrue(), "the same again")
}

// large has one set of a file with several parts on the backup volume, for each life of the sidecar.
type large struct {
	dir     string
	content []byte
	own     backup.Description
}

func newLarge(t *testing.T) *large {
	t.Helper()
	l := &large{dir: t.TempDir(), content: make([]byte, 40<<20)}
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(l.content) // it never fails
	sum := sha256.Sum256(l.content)
	l.own = taken("large", backup.Full, time.Hour, "10", "20")
	l.own.Files = []backup.File{{Name: "1.bak", Bytes: int64(len(l.content)), SHA256: hex.EncodeToString(sum[:])}}
	taking := filepath.Join(l.dir, setsDir, newPrefix+"1")
	if err := os.MkdirAll(taking, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(taking, "1.bak"), l.content, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := (&local{dir: filepath.Join(l.dir, setsDir)}).add(taking, l.own); err != nil {
		t.Fatal(err)
	}
	return l
}

// live is another life of the sidecar.
func (l *large) live(t *testing.T, to *bucket.Between, recipient string) *runner {
	t.Helper()
	p := NewPart(nil, "tukpub-0", l.dir, Engine{}, slog.New(slog.DiscardHandler))
	if err := p.sets.load(); err != nil {
		t.Fatal(err)
	}
	r, err := newRunner(order(func(o *orders.Backup) {
		o.Stores = []orders.BackupStore{StoreOf("bucket", to.Bucket)}
		if recipient != "" {
			o.Stores[0] = o.Stores[0].Encrypted(recipient, nil)
		}
	}), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stores["bucket"].store.Close)
	return r
}

// send sends the set, until so many parts are there; 0 is all. It says how many were sent.
func (l *large) send(t *testing.T, to *bucket.Between, recipient string, until int) (parts int, err error) {
	t.Helper()
	r := l.live(t, to, recipient)
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	to.Do(func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		next.ServeHTTP(w, q)
		if q.Method == http.MethodPut && q.URL.Query().Has("partNumber") {
			if parts++; parts == until {
				cut()
			}
		}
	})
	defer to.Do(nil)
	c := r.stores["bucket"]
	if err := c.list(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := r.planSends(r.observed())
	if len(all) != 1 {
		return 0, fmt.Errorf("%d sets are to be sent", len(all))
	}
	return parts, r.sendOne(ctx, c, "send", all[0])
}

// An upload that is cut off behind any part goes on in the next life with the same bytes: no part is sent twice, and
// what comes of it is opened.
func TestAnEncryptedUploadGoesOnBehindAnyPart(t *testing.T) {
	for _, until := range []int{1, 2} {
		g := NewWithT(t)
		identity, recipient := newKey(t)
		server, l := bucket.Start(t), newLarge(t)
		between := server.Between(t)
		_, err := l.send(t, between, recipient, until)
		g.Expect(err).To(HaveOccurred())
		parts, err := l.send(t, between, recipient, 0)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parts).To(Equal(3-until), "cut off behind part %d", until)
		sent, err := l.live(t, between, recipient).stores["bucket"].describe(t.Context(), l.own.Folder())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Equal(opened(t, server, sent, sent.Files[0], identity), l.content)).To(BeTrue())
	}
}

// A key that is another by the next life encrypts all of the set, and nothing of the former sending stays; so does one
// that is declared while a set is on its way as it is.
func TestASetIsEncryptedToOneKey(t *testing.T) {
	identity, recipient := newKey(t)
	for _, former := range []string{"", func() string { _, r := newKey(t); return r }()} {
		g := NewWithT(t)
		server, l := bucket.Start(t), newLarge(t)
		between := server.Between(t)
		_, err := l.send(t, between, former, 2)
		g.Expect(err).To(HaveOccurred())
		if former == "" { // its file came whole, and its description did not
			g.Expect(os.MkdirAll(filepath.Dir(server.File(l.own.KeyOf("1.bak"))), 0o750)).To(Succeed())
			g.Expect(os.WriteFile(server.File(l.own.KeyOf("1.bak")), l.content, 0o600)).To(Succeed())
		}
		_, err = l.send(t, between, recipient, 0)
		g.Expect(err).NotTo(HaveOccurred())
		sent, err := l.live(t, between, recipient).stores["bucket"].describe(t.Context(), l.own.Folder())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sent.Encryption.Recipient).To(Equal(recipient))
		g.Expect(bytes.Equal(opened(t, server, sent, sent.Files[0], identity), l.content)).To(BeTrue())
		_, err = os.Stat(server.File(l.own.KeyOf("1.bak")))
		g.Expect(os.IsNotExist(err)).To(BeTrue(), "nothing stays as the engine wrote it")
		uploads, err := l.live(t, between, recipient).stores["bucket"].store.Uploads(t.Context(), "", time.Time{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(uploads).To(BeEmpty(), "nor a part of it")
	}
}

// A set whose file changes on the backup volume, before or within its sending, is put aside, and never described.
func TestNothingIsSentOfASetThatIsNotAsItWasTaken(t *testing.T) {
	for _, until := range []int{0, 1} {
		g := NewWithT(t)
		_, recipient := newKey(t)
		server, l := bucket.Start(t), newLarge(t)
		between := server.Between(t)
		if until > 0 {
			_, err := l.send(t, between, recipient, until)
			g.Expect(err).To(HaveOccurred())
		}
		file := filepath.Join(l.dir, setsDir, l.own.Folder(), "1.bak")
		l.content[30<<20] ^= 1
		g.Expect(os.WriteFile(file, l.content, 0o600)).To(Succeed())
		_, err := l.send(t, between, recipient, 0)
		g.Expect(err).To(MatchError(errNotAsTaken))
		g.Expect(err.Error()).To(ContainSubstring(asidePrefix))
		_, err = os.Stat(server.File(l.own.Key()))
		g.Expect(os.IsNotExist(err)).To(BeTrue())
	}
}

// What makes the encryption the same each time is its owner's alone, and goes with the set.
func TestSealsAreSecretAndGoWithTheSet(t *testing.T) {
	g := NewWithT(t)
	_, recipient := newKey(t)
	server, l := bucket.Start(t), newLarge(t)
	_, err := l.send(t, server.Between(t), recipient, 0)
	g.Expect(err).NotTo(HaveOccurred())
	folder := filepath.Join(l.dir, setsDir, l.own.Folder())
	entries, err := os.ReadDir(folder)
	g.Expect(err).NotTo(HaveOccurred())
	seals := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), sealExtension) || strings.HasSuffix(e.Name(), sumsExtension) {
			seals++
			info, err := e.Info()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), e.Name())
		}
	}
	g.Expect(seals).To(Equal(2))
	sets := l.live(t, server.Between(t), recipient).sets
	g.Expect(sets.forget(sets.all(l.own.Namespace, l.own.Target)[0])).To(Succeed())
	_, err = os.Stat(folder)
	g.Expect(os.IsNotExist(err)).To(BeTrue())
}

// A set that is sent again to another key has another description: who has read the former one reads the new one, and
// takes nothing for damaged by it.
func TestADescriptionThatWasReplacedIsReadAgain(t *testing.T) {
	g := NewWithT(t)
	_, former := newKey(t)
	_, recipient := newKey(t)
	s := newShipping(t, encryptedTo(former))
	was := s.current().Sets[0]
	time.Sleep(time.Until(was.Described.Add(1100 * time.Millisecond))) // the store's times are of seconds
	s.planner.order.Stores[0].Encryption.Recipient = recipient
	own := s.sets.all(s.own.Namespace, s.own.Target)[0]
	g.Expect(s.sendOne(t.Context(), s.catalog, "send", Send{Own: own, Store: "bucket"})).To(Succeed())
	g.Expect(s.check(t.Context(), s.catalog, Check{was, "bucket"})).To(MatchError(ContainSubstring("sent again")))
	g.Expect(s.list(t.Context())).To(Succeed())
	g.Expect(s.current().Sets[0].Encryption.Recipient).To(Equal(recipient))
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.current().Sets[0].Verified).To(BeTrue())
}
