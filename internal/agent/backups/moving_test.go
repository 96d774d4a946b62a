// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// A backup of terabytes lasts for days: it is cut off where its files no longer grow alone, and the engine does not say
// that it gets any further.
func TestABackupGoesOnAsLongAsItMoves(t *testing.T) {
	for kind, still := range map[backup.Kind]time.Duration{backup.Full: 24 * time.Hour, backup.Log: 4 * time.Hour} {
		t.Run(string(kind), func(t *testing.T) {
			e := aTaker(t)
			dir := e.folder(t, newPrefix+"a", Take{Database: "Content", Kind: kind})
			b, err := readBegun(dir)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				ctx, end := e.whileMoving(t.Context(), dir, b)
				defer end()
				for n := range 30 {
					time.Sleep(3 * time.Hour)
					g.Expect(os.Truncate(filepath.Join(dir, b.Files[0]), int64(n+10))).To(Succeed())
				}
				g.Expect(ctx.Err()).NotTo(HaveOccurred())
				at := time.Now()
				<-ctx.Done()
				g.Expect(time.Since(at)).To(BeNumerically("~", still, time.Minute))
				g.Expect(ctx.Err()).To(Equal(context.DeadlineExceeded))
			})
		})
	}
}
