// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/mssql"
)

// The server does not say how far a check is. One that is cut off each time is not begun again for ever, and one that
// ends with the sidecar has been no try.
func TestACheckThatIsNeverDoneEnds(t *testing.T) {
	o := known()
	o.Order.Check, o.Record.Begun, o.Record.Recovering, o.Record.Restored = true, true, true, 3
	o.Database = places("ONLINE")
	hangs := func(ctx context.Context) (*mssql.DB, error) { <-ctx.Done(); return nil, ctx.Err() }
	r := newRunner(o.Order, NewPart(nil, t.TempDir(), backups.Engine{Ask: noEngine.Ask, Data: hangs},
		slog.New(slog.DiscardHandler)))
	NewWithT(t).Expect(r.keep(o.Record)).To(Succeed())
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		stopped, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		g.Expect(r.apply(stopped, o, check{})).To(MatchError(context.Canceled))
		g.Expect(r.record.Refusals).To(BeZero())
		for range refusalsMost {
			o.Record = r.record
			g.Expect(next(o)).To(Equal(check{}))
			g.Expect(r.apply(t.Context(), o, check{})).To(MatchError(context.DeadlineExceeded))
			o.Now = o.Now.Add(stillFor)
		}
		o.Record = r.record
		g.Expect(next(o)).To(BeAssignableToTypeOf(finish{}))
		result := next(o).(finish).Result
		g.Expect(result.Reason).To(Equal(v1alpha1.ReasonCheckFailed))
		g.Expect(result.Message).To(ContainSubstring("could not be checked: check the database: it was not done within 24h"))
	})
}

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
