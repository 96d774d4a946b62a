// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"math"
	"path"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// figuresFor is how long the figures of a copy stay in status while nothing else of it changes: they move all the time.
const figuresFor = 10 * time.Second

// progress is how far the subscriber's copy is, for status: nil where it never got one. What is not known now leaves it
// as it was.
func progress(d Desired, o Observed) *v1alpha1.SubscriptionCopy {
	return withUnwritten(d, o, figured(d, o))
}

func figured(d Desired, o Observed) *v1alpha1.SubscriptionCopy {
	have := d.Subscription.Status.Copy
	if d.fromBackup() {
		return progressBackup(d, o)
	}
	have = withoutBackup(d, o, have)
	if d.Publication == nil || !d.snapshots() || o.keeps(d) {
		return have
	}
	phase := copyPhase(d, o, have)
	if phase == "" || phase == v1alpha1.CopyDone && !underWay(have) {
		return have
	}
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	s := have.DeepCopy()
	if !underWay(have) || d.scheduled() && earlier(phase, have.Phase) {
		s = &v1alpha1.SubscriptionCopy{Phase: phase, Again: o.applied(d), Started: &now, PhaseStarted: &now}
		if !s.Again || o.awaitsCopy(d) || d.scheduled() {
			s.ExpectedSeconds = expected(d)
		}
	}
	enter(s, phase, now)
	s = figures(o, s, now)
	s.Brought = broughtCopy(d, o, s.Brought)
	return paced(have, s, o.Now)
}

// enter has a copy be in a phase, and notes how long the one before took.
func enter(s *v1alpha1.SubscriptionCopy, phase v1alpha1.CopyPhase, now metav1.Time) {
	if s.Phase == phase {
		return
	}
	took := whole(now.Sub(s.PhaseStarted.Time))
	switch s.Phase {
	case v1alpha1.CopySnapshot:
		s.SnapshotSeconds = &took
	case v1alpha1.CopyBackup:
		s.BackupSeconds = &took
	case v1alpha1.CopyTransfer:
		s.TransferSeconds = &took
	case v1alpha1.CopyRestore:
		s.RestoreSeconds = &took
	case v1alpha1.CopyApply:
		s.ApplySeconds = &took
	}
	s.Phase, s.PhaseStarted = phase, &now
}

// underWay tells of a copy that the subscriber does not have yet.
func underWay(have *v1alpha1.SubscriptionCopy) bool {
	return have != nil && have.Phase != v1alpha1.CopyDone
}

// copyPhase is how far the copy is, empty while that is not known, or nothing is copied.
func copyPhase(d Desired, o Observed, have *v1alpha1.SubscriptionCopy) v1alpha1.CopyPhase {
	at := phase(d, o)
	if d.scheduled() {
		return copyPhases[at]
	}
	switch {
	case at == phaseUnknown || at == phasePending || at == phaseFailed:
		return ""
	case o.registered(d, mssql.SubscriptionWaiting), at == phaseSnapshot:
		return v1alpha1.CopySnapshot
	case !underWay(have) && o.applied(d):
		return v1alpha1.CopyDone
	case o.awaitsMirror(d):
		return v1alpha1.CopyTransfer
	case !o.applied(d) || at != phaseActive || have.Again && !delivered(o, have):
		return v1alpha1.CopyApply
	}
	return v1alpha1.CopyDone
}

// copyPhases is how far a copy by a schedule is: the subscriber's database says which snapshot it has.
var copyPhases = map[string]v1alpha1.CopyPhase{
	phaseSnapshot:     v1alpha1.CopySnapshot,
	phaseMirroring:    v1alpha1.CopyTransfer,
	phaseInitializing: v1alpha1.CopyApply,
	phaseActive:       v1alpha1.CopyDone,
}

// earlier tells that one phase of a copy comes before another: what is in it then is another copy.
func earlier(one, another v1alpha1.CopyPhase) bool {
	order := []v1alpha1.CopyPhase{v1alpha1.CopySnapshot, v1alpha1.CopyTransfer, v1alpha1.CopyApply, v1alpha1.CopyDone}
	return slices.Index(order, one) < slices.Index(order, another)
}

// phaseChange is the event of a copy that has come to another phase; without a reason it has not.
func phaseChange(before, after *v1alpha1.SubscriptionCopy) (reason, note string) {
	if after == nil || before != nil && before.Phase == after.Phase {
		return "", ""
	}
	took := replication.CopyTook(after)
	if after.Phase == v1alpha1.CopyDone {
		return v1alpha1.ReasonCopied, "the subscriber has its copy: " + took
	}
	note = "the subscriber's copy is in phase " + string(after.Phase)
	if took != "" {
		note += ": " + took
	}
	return v1alpha1.ReasonCopying, note
}

// delivered tells that what came beside or in place of tables that the subscriber had is there: everything comes in
// order, so that nothing is pending, or a tracer token that was posted after the snapshot was there has arrived.
func delivered(o Observed, have *v1alpha1.SubscriptionCopy) bool {
	if have.Phase != v1alpha1.CopyApply {
		return false
	}
	return o.Pending != nil && *o.Pending == 0 || slices.ContainsFunc(o.Tokens, func(t Token) bool {
		return t.Latency.Overall != nil && t.Posted.After(have.PhaseStarted.Time)
	})
}

// expected is how long the copy is on its way at least, by what is declared; nil when that is not known, or up to a
// person.
func expected(d Desired) *int64 {
	size := d.Publication.Status.Size
	if size == nil || d.manual() != "" {
		return nil
	}
	took, known := replication.Estimate(size.Bytes, len(d.Publication.Spec.Articles), d.Route)
	if !known {
		return nil
	}
	return ptr.To(whole(took))
}

// figures takes over what the subscriber's sidecar says of the snapshot that is asked for.
func figures(o Observed, s *v1alpha1.SubscriptionCopy, now metav1.Time) *v1alpha1.SubscriptionCopy {
	if o.Mirror.StatusErr != nil {
		return s
	}
	return figuresOf(o.Mirror.Status, o.At.LastSnapshot, s, now)
}

// figuresOf takes over what a sidecar says of what it was asked for.
func figuresOf(
	m *files.Status,
	generation string,
	s *v1alpha1.SubscriptionCopy,
	now metav1.Time,
) *v1alpha1.SubscriptionCopy {
	if m == nil || m.Generation != generation || m.Total == 0 {
		return s
	}
	if s.Backup == "" {
		s.Snapshot = m.Snapshot
	}
	s.Bytes, s.PresentBytes, s.Seen = m.Total, m.Bytes, &now
	s.MovedBytes, s.ReusedBytes, s.BytesPerSecond, s.RemainingSeconds = m.MovedBytes, m.ReusedBytes, m.Rate, nil
	switch {
	case m.State == files.Verified:
		if m.Seconds > 0 {
			s.TransferSeconds = ptr.To(whole(time.Duration(m.Seconds * float64(time.Second))))
		}
	case m.RemainingSeconds > 0:
		s.RemainingSeconds = ptr.To(int64(math.Ceil(m.RemainingSeconds)))
	case m.Rate > 0 && m.Total > m.Bytes:
		s.RemainingSeconds = ptr.To((m.Total - m.Bytes + m.Rate - 1) / m.Rate)
	}
	return s
}

// broughtCopy is what a person brings, as the subscriber's sidecar says; nil where nobody does.
func broughtCopy(d Desired, o Observed, have *v1alpha1.BroughtCopy) *v1alpha1.BroughtCopy {
	m, to := o.Mirror.Status, replication.BroughtTo(d.Publication, d.Subscription)
	switch {
	case to == "":
		return nil
	case m == nil || m.Brought == nil || o.Mirror.StatusErr != nil || m.Generation != o.At.LastSnapshot:
		return have
	}
	//nolint:gosec // a snapshot has fewer files
	s := &v1alpha1.BroughtCopy{Server: d.System.Host(), Source: path.Join(conf.SnapshotDir, m.Brought.Folder), Folder: to,
		Manifest: m.Brought.Manifest, Files: int32(m.Brought.Files), LackingFiles: int32(m.Brought.LackingFiles)}
	for _, l := range m.Brought.Lacking {
		s.Lacking = append(s.Lacking, v1alpha1.LackingFile{File: conditions.Shorten(l.File, 512),
			Why: v1alpha1.LackingWhy(l.Why)})
	}
	return s
}

// paced leaves figures as they were read a moment ago, while nothing else has changed.
func paced(have, s *v1alpha1.SubscriptionCopy, now time.Time) *v1alpha1.SubscriptionCopy {
	if have != nil && s.Seen != nil {
		same := *s
		if same.Seen = have.Seen; reflect.DeepEqual(&same, have) {
			return have
		}
	}
	if have == nil || have.Seen == nil || s.Phase != have.Phase || s.Snapshot != have.Snapshot ||
		s.Backup != have.Backup || s.Bytes == s.PresentBytes || now.Sub(have.Seen.Time) >= figuresFor {
		return s
	}
	return have
}

// whole seconds of a time, and never none.
func whole(d time.Duration) int64 { return max(1, int64(math.Ceil(d.Seconds()))) }
