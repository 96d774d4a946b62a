// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/test/support/bucket"
)

// shipping is a runner with a bucket and without an engine, whose steps a test takes one by one.
type shipping struct {
	*runner
	*catalog
	bucket *bucket.Server
	own    backup.Description
}

// newShipping has one set of two files on the backup volume, which the bucket got.
func newShipping(t *testing.T, edit func(*orders.Backup)) *shipping {
	t.Helper()
	s := shippingTo(t, bucket.Start(t), "full", edit)
	s.sendAll(t.Context(), s.catalog, false)
	NewWithT(t).Expect(s.list(t.Context())).To(Succeed())
	return s
}

// shippingTo has one set of two files on the backup volume, and nothing sent.
func shippingTo(t *testing.T, to *bucket.Server, id string, edit func(*orders.Backup)) *shipping {
	t.Helper()
	g := NewWithT(t)
	s := &shipping{bucket: to}
	b := s.bucket.Bucket
	p := NewPart(nil, "tukpub-0", t.TempDir(), Engine{}, slog.New(slog.DiscardHandler))
	r, err := newRunner(order(func(o *orders.Backup) {
		o.Verify = true
		o.Stores = []orders.BackupStore{{Name: "bucket", Endpoint: b.Endpoint, Bucket: b.Name, Prefix: b.Prefix,
			AccessKey: b.AccessKey, SecretKey: b.SecretKey, CA: b.CA}}
		if edit != nil {
			edit(o)
		}
	}), p)
	g.Expect(err).NotTo(HaveOccurred())
	s.runner, s.catalog = r, r.stores["bucket"]
	t.Cleanup(s.catalog.store.Close)
	taking := filepath.Join(p.sets.dir, newPrefix+"1")
	g.Expect(os.MkdirAll(taking, 0o750)).To(Succeed())
	s.own = taken(id, backup.Full, time.Hour, "10", "20")
	s.own.Files = nil
	for name, content := range map[string]string{"1.bak": "one", "2.bak": "two"} {
		g.Expect(os.WriteFile(filepath.Join(taking, name), []byte(content), 0o640)).To(Succeed())
		sum := sha256.Sum256([]byte(content))
		s.own.Files = append(s.own.Files, backup.File{Name: name, Bytes: 3, SHA256: hex.EncodeToString(sum[:])})
	}
	g.Expect(p.sets.add(taking, s.own)).To(Succeed())
	return s
}

// The server's own set makes good what the store has damaged, and stays until that is known to be whole.
func TestASetIsSentAgainWhenItIsReadBackDamaged(t *testing.T) {
	g := NewWithT(t)
	s := newShipping(t, nil)
	g.Expect(os.WriteFile(s.bucket.File(s.own.KeyOf("2.bak")), []byte("twa"), 0o600)).To(Succeed())
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.current().Sets[0].Damaged).To(BeTrue())
	g.Expect(s.list(t.Context())).To(Succeed())
	g.Expect(s.current().Sets[0].Damaged).To(BeTrue(), "whoever looks knows")
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.planForget(s.observed())).To(BeEmpty())

	s.sendAll(t.Context(), s.catalog, false)
	g.Expect(s.list(t.Context())).To(Succeed())
	g.Expect(s.current().Sets).To(HaveLen(1))
	g.Expect(s.current().Sets[0].Damaged).To(BeFalse(), "its mark is not that of the new files")
	g.Expect(s.planForget(s.observed())).To(BeEmpty(), "it was not read back yet")
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.current().Sets[0].Verified).To(BeTrue())
	g.Expect(s.planForget(s.observed())).To(HaveLen(1))
}

// A sidecar that ends after it took the damaged set out of the store sends the set when it begins again.
func TestASidecarThatEndsWhileASetIsSentAgainLosesNothing(t *testing.T) {
	g := NewWithT(t)
	s := newShipping(t, nil)
	g.Expect(os.WriteFile(s.bucket.File(s.own.KeyOf("2.bak")), []byte("twa"), 0o600)).To(Succeed())
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.clear(t.Context(), s.catalog, s.planSends(s.observed())[0])).To(Succeed())
	g.Expect(s.sets.load()).To(Succeed())
	g.Expect(s.list(t.Context())).To(Succeed())
	g.Expect(s.current().Sets).To(BeEmpty())
	s.sendAll(t.Context(), s.catalog, false)
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.list(t.Context())).To(Succeed())
	s.checkAll(t.Context(), s.catalog)
	g.Expect(s.current().Sets).To(HaveLen(1))
	g.Expect(s.current().Sets[0].Verified).To(BeTrue())
}

// A set whose file is gone from the bucket restores nothing, though it was read back once.
func TestASetWhoseFilesAreGoneIsDamaged(t *testing.T) {
	for _, row := range []struct {
		why  string
		lose func(file string) error
	}{
		{"a file is gone", os.Remove},
		{"a file has another size", func(file string) error { return os.Truncate(file, 2) }},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			s := newShipping(t, nil)
			g.Expect(s.check(t.Context(), s.catalog, s.planChecks(s.observed(), "tukpub-0")[0])).To(Succeed())
			g.Expect(s.list(t.Context())).To(Succeed())
			g.Expect(s.current().Sets[0].Verified).To(BeTrue())
			g.Expect(row.lose(s.bucket.File(s.own.KeyOf("1.bak")))).To(Succeed())
			g.Expect(s.list(t.Context())).To(Succeed())
			g.Expect(s.current().Sets).To(HaveLen(1))
			g.Expect(s.current().Sets[0].Damaged).To(BeTrue())
			g.Expect(s.current().Sets[0].Verified).To(BeFalse())
			g.Expect(s.planForget(s.observed())).To(BeEmpty())
			s.sendAll(t.Context(), s.catalog, false)
			g.Expect(s.list(t.Context())).To(Succeed())
			g.Expect(s.current().Sets[0].Damaged).To(BeFalse())
		})
	}
}

// A set that was damaged when its sending was planned, and is whole by its turn, is neither taken out of the store nor
// sent.
func TestASetThatIsWholeAgainIsNotSent(t *testing.T) {
	g := NewWithT(t)
	s := newShipping(t, nil)
	file := s.bucket.File(s.own.KeyOf("2.bak"))
	g.Expect(os.WriteFile(file, []byte("twa"), 0o600)).To(Succeed())
	s.checkAll(t.Context(), s.catalog)
	sends := s.planSends(s.observed())
	g.Expect(sends).To(HaveLen(1))
	g.Expect(sends[0].Damaged).NotTo(BeNil())
	g.Expect(os.WriteFile(file, []byte("two"), 0o600)).To(Succeed())
	g.Expect(s.check(t.Context(), s.catalog, Check{*sends[0].Damaged, "bucket"})).To(Succeed())
	g.Expect(s.sendOne(t.Context(), s.catalog, "lane", sends[0])).To(Succeed())
	g.Expect(s.list(t.Context())).To(Succeed())
	g.Expect(s.current().Sets).To(HaveLen(1))
	g.Expect(s.current().Sets[0].Verified).To(BeTrue(), "its mark is there still")
}
