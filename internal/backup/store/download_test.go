// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup/store"
)

// What a file has of a download that was cut off is read first, which takes minutes for a large one: it ends with the
// context.
func TestADownloadEndsWhileItReadsWhatIsThere(t *testing.T) {
	g := NewWithT(t)
	s, err := store.Open(store.Bucket{Endpoint: "https://localhost:1", Name: "backups", AccessKey: "who", SecretKey: "secret"})
	g.Expect(err).NotTo(HaveOccurred())
	defer s.Close()
	file := filepath.Join(t.TempDir(), "1.bak")
	g.Expect(os.WriteFile(file, []byte("begun"), 0o600)).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = s.Download(ctx, "1.bak", file, "00", nil)
	g.Expect(err).To(And(MatchError(context.Canceled), MatchError(ContainSubstring("read what is there"))))
}
