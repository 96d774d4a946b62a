// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"geosql.dev/operator/internal/metrics"
)

// cleanedFor is how long a removal is told.
const cleanedFor = time.Hour

// Staging is what mirrors take of their quota, as /status shows it.
type Staging struct {
	QuotaBytes int64 `json:"quotaBytes"`
	// HighBytes and LowBytes are the watermarks.
	HighBytes int64 `json:"highBytes"`
	LowBytes  int64 `json:"lowBytes"`
	// UsedBytes at the last look, half a minute ago at most.
	UsedBytes int64 `json:"usedBytes"`
	// WaitingBytes of them no order names any more: they may be removed when that has been so for an hour.
	WaitingBytes int64 `json:"waitingBytes,omitempty"`
	// Cleaned is the last removal, for an hour.
	Cleaned *Cleaned `json:"cleaned,omitempty"`
	// Blocked are the snapshots for which the quota is too small, by subscription.
	Blocked []Blocked `json:"blocked,omitempty"`
}

// Cleaned is what was removed at once.
type Cleaned struct {
	At    time.Time `json:"at"`
	Bytes int64     `json:"bytes"`
}

// Blocked is a snapshot for which the quota is too small, with all removed that may be.
type Blocked struct {
	Subscription string `json:"subscription"`
	Snapshot     string `json:"snapshot"`
	// Bytes of the snapshot.
	Bytes      int64 `json:"bytes"`
	QuotaBytes int64 `json:"quotaBytes"`
	// NeededBytes is the quota with which it could come now, and with it all others that are blocked; WaitingBytes what of
	// them may be removed within an hour.
	NeededBytes  int64 `json:"neededBytes"`
	WaitingBytes int64 `json:"waitingBytes,omitempty"`
}

// Words say it, and what to do.
func (b Blocked) Words() string {
	text := fmt.Sprintf("snapshot %s of %d bytes does not fit into the staging quota of %d bytes beside what is needed: "+
		"raise spec.transfers.stagingQuota of the subscriber's Site to %s at least", b.Snapshot, b.Bytes, b.QuotaBytes,
		Quota(b.NeededBytes))
	if b.WaitingBytes > 0 {
		text += fmt.Sprintf("; %d bytes of that no order names any more, and they may go within an hour", b.WaitingBytes)
	}
	return text
}

// Quota is one of so many bytes as a Site declares it, rounded up.
func Quota(n int64) string { return fmt.Sprintf("%dGi", (n+1<<30-1)>>30) }

// BlockedError says that a snapshot does not fit.
type BlockedError struct{ Blocked }

func (e *BlockedError) Error() string { return e.Words() }

// seenStaging is what a look has found.
type seenStaging struct{ used, waiting int64 }

// Staging is what the mirrors take; nil without a quota, or before they were looked at.
func (m *Mirrors) Staging() *Staging {
	m.mu.Lock()
	defer m.mu.Unlock()
	stage := m.staging
	if stage.bounds.Quota == 0 || stage.last == nil {
		return nil
	}
	s := &Staging{QuotaBytes: stage.bounds.Quota, UsedBytes: stage.last.used, WaitingBytes: stage.last.waiting}
	s.HighBytes, s.LowBytes = stage.bounds.Watermarks()
	if c := stage.cleaned; c != nil && stage.now().Sub(c.At) < cleanedFor {
		s.Cleaned = &Cleaned{At: c.At.UTC(), Bytes: c.Bytes}
	}
	for one, r := range stage.blocked {
		if m.running[r.says.Subscription] == one { // else another order has taken its place
			s.Blocked = append(s.Blocked, r.says)
		}
	}
	slices.SortFunc(s.Blocked, func(a, b Blocked) int { return cmp.Compare(a.Subscription, b.Subscription) })
	return s
}

// removedBytes are all that were since the sidecar began.
func (m *Mirrors) removedBytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.staging.removed
}

func gauge(name, help string) *metrics.Family {
	return &metrics.Family{Name: name, Help: help, Type: metrics.Gauge}
}

// Families of the mirrors' staging.
var (
	stagingQuota = gauge("geosql_agent_staging_quota_bytes",
		"Bytes that mirrors of snapshots may take (spec.transfers.stagingQuota of the Site). Without a quota it is absent, "+
			"and so are those that follow but the removed bytes.")
	stagingHigh = gauge("geosql_agent_staging_high_watermark_bytes",
		"Bytes above which what no order needs is removed from the mirrors.")
	stagingUsed = gauge("geosql_agent_staging_used_bytes",
		"Bytes that mirrors take: whole snapshots, and what is here of those that come.")
	stagingBlocked = gauge("geosql_agent_staging_blocked_transfers",
		"Transfers that wait because the quota has no room for them, with all removed that may be.")
	stagingRemoved = &metrics.Family{Name: "geosql_agent_staging_removed_bytes_total", Type: metrics.Counter,
		Help: "Bytes that were removed from the mirrors to keep the quota."}
)

// Families are all metrics of the mirrors.
func Families() []*metrics.Family {
	return []*metrics.Family{stagingQuota, stagingHigh, stagingUsed, stagingBlocked, stagingRemoved}
}

// stagingMetrics tells of the mirrors' staging.
type stagingMetrics struct{ mirrors *Mirrors }

var _ prometheus.Collector = stagingMetrics{}

// Describe implements prometheus.Collector.
func (c stagingMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range Families() {
		descs <- f.Desc()
	}
}

// Collect implements prometheus.Collector. It looks at no volume.
func (c stagingMetrics) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(stagingRemoved.Desc(), prometheus.CounterValue,
		float64(c.mirrors.removedBytes()))
	staging := c.mirrors.Staging()
	if staging == nil {
		return
	}
	s := metrics.Sink(out)
	s.Set(stagingQuota, float64(staging.QuotaBytes))
	s.Set(stagingHigh, float64(staging.HighBytes))
	s.Set(stagingUsed, float64(staging.UsedBytes))
	s.Set(stagingBlocked, float64(len(staging.Blocked)))
}
