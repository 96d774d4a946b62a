// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/schedule"
)

// restoreTested says whether the newest test that is over has passed. While another goes on it stays as it was, until
// that one goes on when the next is due.
func restoreTested(d Desired, o Observed, s *v1alpha1.RestoreTestStatus) metav1.Condition {
	says := func(status metav1.ConditionStatus, reason, format string, with ...any) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionRestoreTested, Status: status, Reason: reason,
			Message: fmt.Sprintf(format, with...)}
	}
	was := meta.FindStatusCondition(d.Policy.Status.Conditions, v1alpha1.ConditionRestoreTested)
	switch {
	case underWay(s) && late(d, o, s):
		return says(metav1.ConditionFalse, v1alpha1.ReasonRestoreTestLate, "the test of %s goes on still, and the next was "+
			"due: %s", shown(s.Due), waitsFor(s))
	case underWay(s) && was != nil:
		return *was
	case underWay(s):
		return says(metav1.ConditionUnknown, v1alpha1.ReasonRestoreTestPending, "the first test goes on")
	case s == nil || s.Due == nil:
		var next *metav1.Time
		if s != nil {
			next = s.Next
		}
		return says(metav1.ConditionUnknown, v1alpha1.ReasonRestoreTestPending, "the first test is due: %s", shown(next))
	case s.Outcome == v1alpha1.RestoreTestPassed:
		return says(metav1.ConditionTrue, v1alpha1.ReasonRestoreTestPassed, "the test of %s has restored %d databases, and "+
			"DBCC CHECKDB found nothing", shown(s.Due), len(s.Databases))
	}
	var failed []string
	for _, t := range s.Databases {
		if t.Outcome == v1alpha1.RestoreTestFailed {
			failed = append(failed, fmt.Sprintf("%s: %s: %s", t.Name, t.Reason, t.Message))
		}
	}
	return says(metav1.ConditionFalse, v1alpha1.ReasonRestoreTestFailed, "the test of %s: %s", shown(s.Due),
		strings.Join(failed, "; "))
}

// late says that a test goes on when the one after it is due.
func late(d Desired, o Observed, s *v1alpha1.RestoreTestStatus) bool {
	times, err := schedule.Parse(d.Policy.Spec.RestoreTest.Schedule, d.Policy.Spec.RestoreTest.TimeZone)
	if err != nil || s.Started == nil {
		return false
	}
	next := times.Next(s.Started.Time)
	return !next.IsZero() && !next.After(o.Now)
}

// waitsFor is the part of a test that is not over.
func waitsFor(s *v1alpha1.RestoreTestStatus) string {
	for _, t := range s.Databases {
		if t.Outcome == "" {
			return fmt.Sprintf("see Restore %s of database %s", t.Restore, t.Name)
		}
	}
	return ""
}

func shown(at *metav1.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}
