// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// An agent whose statement is lost on a cut link gives that connection up within the bound (35 s), says so in the
// history, and delivers when the link is back. Linux by itself sends such data again for a quarter of an hour.
func TestAnAgentGivesUpASubscriberBehindACut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLink(t)
	r := newReplicationOver(t, l)
	r.distribute(t)
	r.publish(t)
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)

	l.Cut(t)
	began := time.Now()
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (3, N'Clara', 1, NULL, NULL)`)
	dist := r.dist.open(t, "distribution")
	g.Eventually(func() any {
		return scalar(
			dist,
			`SELECT TOP (1) CAST(error_text AS nvarchar(4000)) FROM dbo.MSrepl_errors WHERE CAST(error_text AS nvarchar(4000)) LIKE N'at the Subscriber%' ORDER BY time`,
		)
	}).WithTimeout(patient).WithPolling(time.Second).Should(ContainSubstring("connection timed out"))
	t.Logf("given up %.0f s after the cut", time.Since(began).Seconds())
	l.Mend(t)
	r.bothSame(t)
}
