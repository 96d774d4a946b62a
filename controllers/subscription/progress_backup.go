// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// progressBackup is how far the copy of a subscriber is that begins with a backup.
func progressBackup(d Desired, o Observed) *v1alpha1.SubscriptionCopy {
	have := d.Subscription.Status.Copy
	phase := backupPhase(d, o, have)
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	if len(o.registrations(d)) > 0 && phase == v1alpha1.CopyDone {
		have = withoutBackup(d, o, have)
	}
	if phase == "" || phase == v1alpha1.CopyDone && !underWay(have) {
		return have
	}
	s := have.DeepCopy()
	if !underWay(have) {
		s = &v1alpha1.SubscriptionCopy{Phase: phase, Again: d.registeredBefore(), Started: &now, PhaseStarted: &now}
	}
	if stamp := o.attempt(d); stamp != "" {
		s.Backup = stamp
	}
	s.Brought = nil
	enter(s, phase, now)
	return paced(have, figuresOf(o.Backup.Mirror, generation(s.Backup), s, now), o.Now)
}

// backupPhase is how far it is, empty while that is not known, or nothing has begun.
func backupPhase(d Desired, o Observed, have *v1alpha1.SubscriptionCopy) v1alpha1.CopyPhase {
	if at := phase(d, o); at == phaseUnknown || at == phaseFailed || o.Backup.Err != nil {
		return ""
	}
	if len(o.registrations(d)) > 0 {
		switch {
		case o.applied(d):
			return v1alpha1.CopyDone
		case underWay(have):
			return v1alpha1.CopyApply
		}
		return ""
	}
	stamp := o.attempt(d)
	taken, err := o.Backup.Taken.Get()
	switch {
	case stamp == "" || (err != nil || o.Backup.From.Err() != nil) && underWay(have):
		return ""
	case o.proved(d):
		return v1alpha1.CopyApply
	case o.Backup.arrived(stamp):
		return v1alpha1.CopyRestore
	case taken.whole(d):
		return v1alpha1.CopyTransfer
	}
	return v1alpha1.CopyBackup
}

// withoutBackup forgets a backup of which nothing is left: no order, and so no file at either end, nor a database that
// is being restored, or that takes no writes since.
func withoutBackup(d Desired, o Observed, have *v1alpha1.SubscriptionCopy) *v1alpha1.SubscriptionCopy {
	if have == nil || have.Backup == "" || !o.Backup.Looked || o.Backup.ordered() {
		return have
	}
	unknown := o.Backup.Places.Err() != nil
	if len(o.registrations(d)) == 0 && (unknown || o.halfRestored(d)) ||
		o.readOnly(d) && (unknown || o.restoredOf(d, "")) {
		return have
	}
	s := have.DeepCopy()
	s.Backup = ""
	return s
}
