// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
)

// An order that changes while a backup goes on is carried out at once: the backup may take hours, and logs wait for
// nothing. The backup goes on, and is not begun a second time.
func TestAnOrderThatChangesWaitsForNoBackup(t *testing.T) {
	g := NewWithT(t)
	const patience = 30 * time.Second
	ends := make(chan struct{})
	p := NewPart(nil, "tukpub-0", t.TempDir(), func(ctx context.Context) (*mssql.DB, error) {
		select {
		case <-ends:
			return nil, errors.New("the engine is away")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, slog.New(slog.DiscardHandler))
	life, end := context.WithCancel(t.Context())
	defer end()
	told := func(stripes int) {
		p.set(life, []orders.Backup{order(func(o *orders.Backup) { o.Stores, o.Stripes = nil, stripes })})
		r := p.running["nightly"].runner
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen, r.read = []mssql.BackupSource{source(preferred)}, time.Now()
	}
	told(1)
	g.Eventually(p.engine.goingOn, patience).Should(HaveLen(1))
	begun := p.engine.goingOn()
	changed := make(chan struct{})
	go func() { defer close(changed); told(2) }()
	g.Eventually(changed, patience).Should(BeClosed())
	g.Expect(p.engine.goingOn()).To(Equal(begun))
	g.Expect(p.Status()).To(HaveLen(1))
	close(ends)
	g.Eventually(p.engine.goingOn, patience).Should(BeEmpty())
	end()
	p.set(life, nil)
	p.takes.Wait()
}
