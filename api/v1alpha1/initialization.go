// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// InitializationOf is how a Subscription gets its first copy: as it says itself, else as the Publication does; of a
// snapshot, however its files come, and of a backup InitializationAnnotation makes Compare. A subscription that nobody
// declares (nil) has its publication's word. One to a Publication that is copied by a schedule gets snapshots, whatever
// it says.
func (p *Publication) InitializationOf(s *Subscription) InitializationMethod {
	method := p.Spec.InitializationMethod()
	if s == nil || p.Spec.Scheduled() {
		return method
	}
	if i := s.Spec.Initialization; i != nil && i.Method != "" {
		method = i.Method
	}
	copied := method != InitializeReplicationSupportOnly
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

// Brought is the folder into which a person brings the files of a Subscription's snapshots, as it is declared; empty
// where they are fetched. A subscription that nobody declares (nil) has its publication's word.
func (p *Publication) Brought(s *Subscription) string {
	i := p.initialization(s)
	if p.Spec.Scheduled() || i == nil || i.Method != InitializeManual || i.Manual == nil {
		return ""
	}
	return i.Manual.Folder
}

// Packs tells whether the snapshots of a Subscription are packed once for all who ask, also those of a Publication that
// is copied by a schedule.
func (p *Publication) Packs(s *Subscription) bool {
	i := p.initialization(s)
	return i != nil && i.Method == InitializeCompressedSnapshot
}

// initialization that is declared of a Subscription: its own, else its publication's; nil where neither says anything.
func (p *Publication) initialization(s *Subscription) *Initialization {
	if s != nil && s.Spec.Initialization != nil && s.Spec.Initialization.Method != "" {
		return s.Spec.Initialization
	}
	return p.Spec.Initialization
}
