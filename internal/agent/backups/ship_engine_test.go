// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/test/support/bucket"
)

// What is left of a set whose server was lost goes once nothing has come to it for a day: files, and the upload of one
// that was cut off, also where there is nothing else. What is on its way stays, however old the backup is.
func TestWhatIsLeftOfSetsGoes(t *testing.T) {
	g := NewWithT(t)
	server := bucket.Start(t)
	s, err := store.Open(server.Bucket)
	g.Expect(err).NotTo(HaveOccurred())
	defer s.Close()
	const folder = "web/group/content/Content/20260201T000000Z-full-"
	large := filepath.Join(t.TempDir(), "1.bak")
	g.Expect(os.WriteFile(large, nil, 0o600)).To(Succeed())
	g.Expect(os.Truncate(large, 40<<20)).To(Succeed())
	g.Expect(s.Put(t.Context(), folder+"a/1.bak", []byte("one"))).To(Succeed())
	for _, key := range []string{folder + "a/2.bak", folder + "b/1.bak"} {
		ctx, cut := context.WithCancel(t.Context())
		g.Expect(s.Upload(ctx, key, large, func(int64) { cut() })).NotTo(Succeed())
	}
	now := time.Now()
	c := &catalog{name: "bucket", folder: "web/group/content", store: s, now: func() time.Time { return now }}
	listed := func() (folders []string) {
		g.Expect(c.list(t.Context())).To(Succeed())
		for _, left := range c.current().Leftovers {
			g.Expect(left.Touched).To(BeTemporally("~", time.Now(), time.Minute))
			folders = append(folders, strings.TrimPrefix(left.Folder, folder))
		}
		return folders
	}
	g.Expect(listed()).To(Equal([]string{"a", "b"}))
	for _, name := range []string{"a", "b"} {
		g.Expect(remove(t.Context(), s, Remove{Leftover: folder + name}, now.Add(23*time.Hour))).To(Succeed())
	}
	g.Expect(listed()).To(Equal([]string{"a", "b"}), "something came to them since they were listed")
	for _, name := range []string{"a", "b"} {
		g.Expect(remove(t.Context(), s, Remove{Leftover: folder + name}, now.Add(25*time.Hour))).To(Succeed())
	}
	now = now.Add(25 * time.Hour)
	g.Expect(listed()).To(BeEmpty())
	g.Expect(s.Uploads(t.Context(), "web/", time.Time{})).To(BeEmpty())
}

// anybody may send.
func anybody(context.Context) error { return nil }

// Files that somebody removed while the set was sent make no set of it.
func TestASetWhoseFilesAreGoneIsNotSent(t *testing.T) {
	g := NewWithT(t)
	server := bucket.Start(t)
	s, err := store.Open(server.Bucket)
	g.Expect(err).NotTo(HaveOccurred())
	defer s.Close()
	l := &local{dir: filepath.Join(t.TempDir(), setsDir)}
	dir := filepath.Join(l.dir, newPrefix+"one")
	g.Expect(os.MkdirAll(dir, 0o750)).To(Succeed())
	d := taken("one", backup.Full, time.Hour, "10", "20")
	d.Files = []backup.File{{Name: "1.bak", Bytes: 3, SHA256: "00"}, {Name: "2.bak", Bytes: 3, SHA256: "00"}}
	for _, f := range d.Files {
		g.Expect(os.WriteFile(filepath.Join(dir, f.Name), []byte("abc"), 0o600)).To(Succeed())
	}
	g.Expect(l.add(dir, d)).To(Succeed())
	own := parcel{Description: d, own: Own{Description: d}}
	g.Expect(send(t.Context(), s, l, own, anybody, func(bytes int64) {
		if bytes > 3 {
			g.Expect(s.Remove(t.Context(), d.KeyOf("1.bak"))).To(Succeed())
		}
	})).To(MatchError(errGone))
	_, err = s.Read(t.Context(), d.Key(), describedMost)
	g.Expect(err).To(MatchError(store.ErrNotFound))
	g.Expect(send(t.Context(), s, l, own, anybody, func(int64) {})).To(Succeed())
	objects, err := s.List(t.Context(), d.Folder()+"/")
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, o := range objects {
		names = append(names, path.Base(o.Key))
	}
	g.Expect(names).To(ConsistOf("1.bak", "2.bak", backup.DescriptionName))
}

// A mark beside files that are sent again is of those that were there before: these were not read back.
func TestMarksOfFormerFilesGoWhenASetIsSent(t *testing.T) {
	g := NewWithT(t)
	s := shippingTo(t, bucket.Start(t), "full", nil)
	for _, mark := range []string{verifiedName, damagedName} {
		g.Expect(s.catalog.store.Put(t.Context(), path.Join(s.own.Folder(), mark), []byte("{}"))).To(Succeed())
	}
	s.sendAll(t.Context(), s.catalog, false)
	objects, err := s.catalog.store.List(t.Context(), s.own.Folder()+"/")
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, o := range objects {
		names = append(names, path.Base(o.Key))
	}
	g.Expect(names).To(ConsistOf("1.bak", "2.bak", backup.DescriptionName))
}
