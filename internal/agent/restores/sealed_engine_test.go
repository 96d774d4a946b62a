// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/test/support/bucket"
)

// What was encrypted comes back by its private key alone, at whatever step the sidecar ends; without it a Restore says
// which key that is.
func TestAnEncryptedDatabaseComesBack(t *testing.T) {
	keys := map[string]*age.X25519Identity{}
	for _, name := range []string{"current", "other"} {
		key, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = key
	}
	recipient := keys["current"].Recipient().String()
	b := backUpTo(t, &taken{bucket: bucket.Start(t), recipient: recipient})
	b.identities = []string{keys["other"].String(), keys["current"].String()}
	s := newTarget(t)
	order := func(name string) orders.Restore {
		return orders.Restore{Name: name, UID: "uid-" + name, Stores: []orders.BackupStore{b.store()}, Folder: folder,
			Database: name}
	}
	for _, k := range b.sets {
		NewWithT(t).Expect(k.Encryption).NotTo(BeNil(), "%s", k.Set)
	}
	t.Run("with the key", func(t *testing.T) {
		g := NewWithT(t)
		o := order("tenth")
		o.Time = b.after[10]
		s.tell(o)
		status := s.ended("tenth")
		g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
		g.Expect(s.rows("tenth")).To(Equal(upTo(10)))
		g.Expect(status.Downloaded).To(Equal(status.Bytes))
	})
	for name, store := range map[string]orders.BackupStore{
		"another": b.plain().Encrypted(keys["other"].Recipient().String(), []string{keys["other"].String()}),
		"public":  b.plain().Encrypted(recipient, nil),
		"none":    b.plain(),
	} {
		t.Run("with the key "+name, func(t *testing.T) {
			g := NewWithT(t)
			o := order(name)
			o.Stores = []orders.BackupStore{store}
			s.tell(o)
			status := s.ended(name)
			g.Expect(status.Result.Outcome).To(Equal(Refused))
			g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonDecryptionKeyMissing))
			g.Expect(status.Result.Message).To(ContainSubstring(recipient))
			g.Expect(json.Marshal(status)).NotTo(ContainSubstring("AGE-SECRET-KEY"))
			g.Expect(s.exists(name)).To(BeFalse())
			s.tell()
		})
	}
	t.Run("a dry run without the key", func(t *testing.T) {
		g := NewWithT(t)
		o := order("dry")
		o.DryRun, o.Stores = true, []orders.BackupStore{b.plain()}
		s.tell(o)
		g.Expect(s.ended("dry").Result.Reason).To(Equal(v1alpha1.ReasonDecryptionKeyMissing))
		s.tell()
	})
	t.Run("ended at every step", func(t *testing.T) {
		o := order("ended")
		o.Time = b.after[28]
		endsAtEveryStep(t, s, o, 28, HavePrefix("decrypting: 1.bak.age"), HavePrefix("decrypting: 2.bak.age"),
			HavePrefix("decrypting: 1.trn.age"), HavePrefix("before: restore set 1"))
	})
	t.Run("sent again meanwhile", func(t *testing.T) {
		g := NewWithT(t)
		again := false
		s.at = func(_ context.Context, point string) {
			if point == "before: download set 1" && !again {
				again = true
				sendAgain(t, b, keys["current"])
			}
		}
		defer func() { s.at = func(context.Context, string) {} }()
		s.tell(order("again"))
		status := s.ended("again")
		g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
		g.Expect(again).To(BeTrue())
		g.Expect(s.rows("again")).To(Equal(upTo(30)))
	})
	t.Run("a flipped bit", func(t *testing.T) { flipped(t, s, b) })
}

// sendAgain has the bucket's full backup encrypted anew, as who took it does that has lost what it had begun with.
func sendAgain(t *testing.T, b *taken, key *age.X25519Identity) {
	t.Helper()
	g := NewWithT(t)
	d := b.of(backup.Full)
	d.Files = append([]backup.File(nil), d.Files...)
	for n, f := range d.Files {
		at := b.bucket.File(d.KeyOf(f.Name))
		content, err := os.ReadFile(at)
		g.Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(t.TempDir(), f.Name)
		g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
		was := seal.Content{Bytes: f.Plain.Bytes, SHA256: f.Plain.SHA256}
		g.Expect(seal.Open(t.Context(), file, was, []string{key.String()})).To(Succeed())
		plain, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		var sums bytes.Buffer
		anew, err := seal.Make(t.Context(), bytes.NewReader(plain), was.Bytes, key.Recipient().String(), &sums)
		g.Expect(err).NotTo(HaveOccurred())
		r, err := anew.Reader(bytes.NewReader(plain), bytes.NewReader(sums.Bytes()))
		g.Expect(err).NotTo(HaveOccurred())
		content, err = io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(at, content, 0o600)).To(Succeed())
		d.Files[n].SHA256 = anew.Stored.SHA256
	}
	content, err := d.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(b.bucket.File(d.Key()), content, 0o600)).To(Succeed())
}
