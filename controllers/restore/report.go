// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// maxChain is how many sets status takes, maxMessage how many bytes of a message.
	maxChain   = 64
	maxMessage = 4096
)

func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	before, status := d.Restore.Status, reported(d, o, p, metav1.NewTime(r.now()))
	if reconcile.IsSuspended(failed) {
		// Nothing was begun with.
		status = *before.DeepCopy()
	}
	changes := conditions.Set(&status.StatusBase, d.Restore.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Restore, &before, &status, changes)
}

// reported is the status of what was observed. One that is over is a record and changes no more.
func reported(d Desired, o Observed, p reconcile.Plan, now metav1.Time) v1alpha1.RestoreStatus {
	s := *d.Restore.Status.DeepCopy()
	if d.over() {
		return s
	}
	if s.Phase == "" {
		s.Phase = v1alpha1.RestorePending
	}
	s.Server = serverOf(d.Restore)
	says, silent := o.Says.Get()
	told, unread := o.Order.Get()
	switch {
	case s.Outcome != "":
	case silent == nil && says != nil:
		say(&s, says)
		if d.replaces() {
			s.Database = string(d.Restore.Spec.Replace)
		}
	case unread == nil && len(told) > 0:
		s.Phase = v1alpha1.RestoreRunning
	}
	switch note := p.Note.(type) {
	case end:
		s.Phase, s.Outcome, s.Reason = v1alpha1.RestoreFinishing, note.outcome, note.reason
		s.Message = strings.ToValidUTF8(note.message[:min(len(note.message), maxMessage)], "")
		if s.Finished == nil {
			s.Finished = &now
		}
	case pin:
		s.Server = note.server
	case v1alpha1.RestorePhase:
		s.Phase = note
	default:
		reportReplaced(&s, note, now)
	}
	return s
}

// say takes over what the agent says.
func say(s *v1alpha1.RestoreStatus, says *restores.Status) {
	s.Phase = v1alpha1.RestoreRunning
	s.Database, s.Store = says.Database, v1alpha1.ObjectName(says.Store)
	s.Sets, s.Bytes = reconcile.Count(says.Sets), says.Bytes
	s.DownloadedBytes, s.RestoredSets = says.Downloaded, reconcile.Count(says.Restored)
	s.Started, s.Checked = reconcile.Moment(says.Started), says.Checked
	s.Chain = nil
	for _, set := range says.Chain[:min(len(says.Chain), maxChain)] {
		s.Chain = append(s.Chain, v1alpha1.RestoredSet{ID: set.ID, Type: string(set.Kind), FirstLSN: set.FirstLSN,
			LastLSN: set.LastLSN, Finished: metav1.NewTime(set.Finished), Bytes: set.Bytes,
			Files: set.Files, Position: reconcile.Count(set.Position)})
	}
	s.Unused, s.UnusedSets = nil, reconcile.Count(says.UnusedSets)
	for _, u := range says.Unused[:min(len(says.Unused), maxChain)] {
		s.Unused = append(s.Unused, v1alpha1.UnusedSet{File: u.Key, Position: reconcile.Count(u.Position),
			Type: string(u.Kind), Database: u.Database, Why: u.Why})
	}
	s.RestoredTo = nil
	if says.Sets > 0 {
		s.RestoredTo = &v1alpha1.RestoredTo{LSN: says.ToLSN}
		if !says.ToTime.IsZero() {
			at := metav1.NewMicroTime(says.ToTime.Truncate(time.Microsecond))
			s.RestoredTo.Time = &at
		}
	}
	if says.Result != nil {
		s.Finished = reconcile.Moment(says.Result.Finished)
	}
}
