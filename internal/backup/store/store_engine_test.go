// SPDX-License-Identifier: Apache-2.0

//go:build integration

package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/test/support/bucket"
)

func opened(t *testing.T, b store.Bucket) *store.Store {
	t.Helper()
	s, err := store.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// written makes a file of random bytes, and tells its SHA-256.
func written(t *testing.T, bytes int) (file, sum string) {
	t.Helper()
	content := make([]byte, bytes)
	_, _ = rand.Read(content)
	file = filepath.Join(t.TempDir(), "1.bak")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(content)
	return file, hex.EncodeToString(digest[:])
}

func TestObjects(t *testing.T) {
	g := NewWithT(t)
	server := bucket.Start(t)
	s := opened(t, server.Bucket)
	g.Expect(s.Put(t.Context(), "web/a/set.json", []byte("one"))).To(Succeed())
	g.Expect(s.Put(t.Context(), "web/a/set.json", []byte("two"))).To(Succeed())
	g.Expect(s.Put(t.Context(), "web/ab/set.json", []byte("other"))).To(Succeed())
	g.Expect(s.Read(t.Context(), "web/a/set.json", 3)).To(BeEquivalentTo("two"))
	_, err := s.Read(t.Context(), "web/a/set.json", 2)
	g.Expect(err).To(MatchError(ContainSubstring("more than 2 bytes")))
	_, err = s.Read(t.Context(), "web/none", 10)
	g.Expect(err).To(MatchError(store.ErrNotFound))
	listed, err := s.List(t.Context(), "web/a/")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed).To(HaveLen(1))
	g.Expect(listed[0].Modified).To(BeTemporally("~", time.Now(), time.Minute))
	listed[0].Modified = time.Time{}
	g.Expect(listed).To(Equal([]store.Object{{Key: "web/a/set.json", Bytes: 3}}))
	g.Expect(s.Remove(t.Context(), "web/a/set.json")).To(Succeed())
	g.Expect(s.Remove(t.Context(), "web/a/set.json")).To(Succeed())
	g.Expect(s.List(t.Context(), "web/a/")).To(BeEmpty())

	wrong := server.Bucket
	wrong.SecretKey = "another-key"
	err = opened(t, wrong).Put(t.Context(), "x", nil)
	g.Expect(err).To(MatchError(ContainSubstring("/backups/sql/test")))
	g.Expect(err.Error()).NotTo(ContainSubstring("another-key"))
	untrusted := server.Bucket
	untrusted.CA = nil
	g.Expect(opened(t, untrusted).Put(t.Context(), "x", nil)).To(MatchError(ContainSubstring("certificate")))
}

// An upload that was cut off goes on with the parts that are there, and what is there of other bytes is sent again. A
// download does the same, and never ends with other bytes than were stored.
func TestLargeFilesGoOnWhereTheyWereCutOff(t *testing.T) {
	g := NewWithT(t)
	server := bucket.Start(t)
	s := opened(t, server.Bucket)
	const size = 50 << 20
	file, sum := written(t, size)
	ctx, cut := context.WithCancel(t.Context())
	err := s.Upload(ctx, "big/1.bak", file, func(bytes int64) {
		if bytes >= 32<<20 {
			cut()
		}
	})
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(s.List(t.Context(), "big/")).To(BeEmpty(), "what is not whole is not there")
	var steps []int64
	begin := time.Now()
	g.Expect(s.Upload(t.Context(), "big/1.bak", file, func(bytes int64) { steps = append(steps, bytes) })).To(Succeed())
	t.Logf("the rest was stored in %s", time.Since(begin))
	g.Expect(steps).To(Equal([]int64{16 << 20, 32 << 20, 48 << 20, size}))
	bytes, got, err := s.Sum(t.Context(), "big/1.bak", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes).To(BeEquivalentTo(size))
	g.Expect(got).To(Equal(sum))

	back := filepath.Join(t.TempDir(), "back.bak")
	ctx, cut = context.WithCancel(t.Context())
	err = s.Download(ctx, "big/1.bak", back, sum, func(bytes int64) {
		if bytes > 20<<20 {
			cut()
		}
	})
	g.Expect(err).To(MatchError(context.Canceled))
	first := int64(0)
	g.Expect(s.Download(t.Context(), "big/1.bak", back, sum, func(bytes int64) {
		if first == 0 {
			first = bytes
		}
	})).To(Succeed())
	g.Expect(first).To(BeNumerically(">", 20<<20), "it went on")
	g.Expect(same(t, file, back)).To(BeTrue())

	stored, err := os.OpenFile(server.File("big/1.bak"), os.O_RDWR, 0)
	g.Expect(err).NotTo(HaveOccurred())
	flipped := make([]byte, 1)
	_, err = stored.ReadAt(flipped, 40<<20)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = stored.WriteAt([]byte{flipped[0] ^ 1}, 40<<20)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stored.Close()).To(Succeed())
	g.Expect(os.Remove(back)).To(Succeed())
	g.Expect(s.Download(t.Context(), "big/1.bak", back, sum, nil)).To(MatchError(ContainSubstring("not what was stored")))
	g.Expect(back).NotTo(BeAnExistingFile())
}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(one, other)
}

// Uploads that nobody ends cost room that no list shows.
func TestUploadsThatWereGivenUpGo(t *testing.T) {
	g := NewWithT(t)
	server := bucket.Start(t)
	s := opened(t, server.Bucket)
	file, _ := written(t, 40<<20)
	ctx, cut := context.WithCancel(t.Context())
	g.Expect(s.Upload(ctx, "big/1.bak", file, func(int64) { cut() })).NotTo(Succeed())
	g.Expect(s.Uploads(t.Context(), "bi/", time.Time{})).To(BeEmpty(), "another folder's")
	g.Expect(s.Uploads(t.Context(), "big/1", time.Time{})).To(HaveLen(1))
	for _, quiet := range []time.Time{{}, time.Now().Add(time.Hour)} {
		uploads, err := s.Uploads(t.Context(), "big/", quiet)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(uploads).To(HaveLen(1))
		g.Expect(uploads[0].Key).To(Equal("big/1.bak"))
		g.Expect(uploads[0].Moved).To(BeTemporally("~", time.Now(), time.Minute))
		if !quiet.IsZero() {
			g.Expect(s.Abort(t.Context(), uploads[0])).To(Succeed())
			g.Expect(s.Abort(t.Context(), uploads[0])).To(Succeed())
		}
	}
	g.Expect(s.Uploads(t.Context(), "big/", time.Time{})).To(BeEmpty())
}

// A declared rate is kept over several files.
func TestUploadsKeepTheirRate(t *testing.T) {
	g := NewWithT(t)
	server := bucket.Start(t)
	server.Bucket.UploadRate = 1 << 20
	s := opened(t, server.Bucket)
	file, _ := written(t, 1<<20)
	begin := time.Now()
	for range 2 {
		g.Expect(s.Upload(t.Context(), "slow/1.bak", file, nil)).To(Succeed())
	}
	g.Expect(time.Since(begin)).To(BeNumerically(">", 1800*time.Millisecond))
}

// An object of which nothing is known but its tag is brought whole; one that is stored anew is another.
func TestObjectsOfAnyContentAreBrought(t *testing.T) {
	g := NewWithT(t)
	server := bucket.Start(t)
	s := opened(t, server.Bucket)
	file, _ := written(t, 40<<20)
	g.Expect(s.Upload(t.Context(), "in/a.bak", file, nil)).To(Succeed())
	_, err := s.Look(t.Context(), "in/none.bak")
	g.Expect(err).To(MatchError(store.ErrNotFound))
	v, err := s.Look(t.Context(), "in/a.bak")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(v.Bytes).To(BeEquivalentTo(40 << 20))
	back := filepath.Join(t.TempDir(), "back.bak")
	ctx, cut := context.WithCancel(t.Context())
	g.Expect(s.Bring(ctx, "in/a.bak", back, v, func(bytes int64) {
		if bytes > 10<<20 {
			cut()
		}
	})).To(MatchError(context.Canceled))
	first := int64(0)
	g.Expect(s.Bring(t.Context(), "in/a.bak", back, v, func(bytes int64) {
		if first == 0 {
			first = bytes
		}
	})).To(Succeed())
	g.Expect(first).To(BeNumerically(">", 10<<20), "it went on")
	g.Expect(same(t, file, back)).To(BeTrue())

	g.Expect(os.Truncate(back, 1<<20)).To(Succeed())
	other, _ := written(t, 40<<20)
	g.Expect(s.Upload(t.Context(), "in/a.bak", other, nil)).To(Succeed())
	g.Expect(s.Bring(t.Context(), "in/a.bak", back, v, nil)).To(MatchError(store.ErrChanged))
	g.Expect(s.Remove(t.Context(), "in/a.bak")).To(Succeed())
	g.Expect(s.Bring(t.Context(), "in/a.bak", back, v, nil)).To(MatchError(store.ErrNotFound))
}
