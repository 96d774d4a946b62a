// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// InitializationOf is how a Subscription gets its first copy: as it says itself, else as the Publication does; of a
// snapshot or a backup InitializationAnnotation makes Compare. A subscription that nobody declares (nil) has its
// publication's word. One to a Publication that is copied by a schedule gets snapshots, whatever it says.
func (p *Publication) InitializationOf(s *Subscription) InitializationMethod {
	method := p.Spec.InitializationMethod()
	if s == nil || p.Spec.Scheduled() {
		return method
	}
	if i := s.Spec.Initialization; i != nil && i.Method != "" {
		method = i.Method
	}
	copied := method == InitializeSnapshot || method == InitializeBackup
	if copied && s.Annotations[InitializationAnnotation] == InitializeCompare {
		return InitializeCompare
	}
	return method
}

// Copies tells whether a Subscription gets copies by snapshots: a first one where it needs it, a new one where a person
// agrees. One that begins with a backup gets none.
func (p *Publication) Copies(s *Subscription) bool {
	method := p.InitializationOf(s)
	return method != InitializeReplicationSupportOnly && method != InitializeBackup
}
