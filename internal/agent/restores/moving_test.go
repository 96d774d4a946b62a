// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// A download of terabytes lasts for days: it is cut off where it gets no further alone.
func TestADownloadGoesOnAsLongAsItMoves(t *testing.T) {
	r := runs(t, known())
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, end := r.whileMoving(t.Context())
		defer end()
		for n := range 8 {
			time.Sleep(10 * time.Hour)
			r.progress(int64(n + 1))
		}
		g.Expect(ctx.Err()).NotTo(HaveOccurred())
		at := time.Now()
		<-ctx.Done()
		g.Expect(time.Since(at)).To(BeNumerically("~", 24*time.Hour, time.Minute))
		g.Expect(ctx.Err()).To(Equal(context.DeadlineExceeded))
	})
}
