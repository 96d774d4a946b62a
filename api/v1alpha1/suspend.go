// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsSuspended says that a person has suspended the Topology, and with it every object that it has.
func (t *Topology) IsSuspended() bool { return t.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (s *SQLServer) IsSuspended() bool { return s.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (g *AvailabilityGroup) IsSuspended() bool { return g.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (d *Distributor) IsSuspended() bool { return d.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (p *Publication) IsSuspended() bool { return p.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (s *Subscription) IsSuspended() bool { return s.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (l *Login) IsSuspended() bool { return l.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (s *BackupStore) IsSuspended() bool { return s.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (p *BackupPolicy) IsSuspended() bool { return p.Spec.Suspend }

// ReadyAsSeen is the condition Ready of an object, nil when it has none. That of a suspended object has the reason that
// it would have if nobody had suspended it, which Reconciling keeps: whoever goes by reasons does so by this one.
func ReadyAsSeen(list []metav1.Condition) *metav1.Condition {
	ready := meta.FindStatusCondition(list, ConditionReady)
	if ready == nil || ready.Reason != ReasonSuspended {
		return ready
	}
	seen := ready.DeepCopy()
	if kept := meta.FindStatusCondition(list, ConditionReconciling); kept != nil {
		seen.Reason = kept.Reason
	}
	return seen
}
