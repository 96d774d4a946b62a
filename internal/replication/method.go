// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
)

// Snapshots tells whether a Publication makes snapshots, with the Subscriptions that are declared of it: it does where
// one of them gets copies.
func Snapshots(p *v1alpha1.Publication, subscriptions []v1alpha1.Subscription) bool {
	return p.Copies(nil) ||
		slices.ContainsFunc(subscriptions, func(s v1alpha1.Subscription) bool { return p.Copies(&s) })
}

// NoCopies names the object that declares that a Subscription gets no copies.
func NoCopies(p *v1alpha1.Publication, s *v1alpha1.Subscription) string {
	if s.Spec.Initialization != nil && s.Spec.Initialization.Method != "" {
		return "Subscription " + s.Name
	}
	return "Publication " + p.Name
}

// BackupBrought tells that a Subscription was registered with a backup, as far as its status knows.
func BackupBrought(s *v1alpha1.Subscription) bool {
	i := s.Status.Initialization
	return i != nil && i.Method == v1alpha1.InitializeBackup
}

// HandBrought tells that a Subscription was registered without a copy and without a comparison, as far as its status
// knows: a person has brought what it has.
func HandBrought(s *v1alpha1.Subscription) bool {
	i := s.Status.Initialization
	return i != nil && i.Method == v1alpha1.InitializeReplicationSupportOnly && !i.Compared
}

// Compares tells whether a Subscription keeps tables that are equal to the publisher's: by its method, or since its
// publication is made anew so. What is copied by a schedule keeps none.
func Compares(p *v1alpha1.Publication, s *v1alpha1.Subscription) bool {
	return !p.Spec.Scheduled() &&
		(p.InitializationOf(s) == v1alpha1.InitializeCompare || p.Copies(s) && rebuiltByComparison(p))
}

// AgreesItself tells that a comparison is declared of this Subscription, not of all of its Publication, or of a
// publication that is made anew: tables of it that differ may be replaced.
func AgreesItself(p *v1alpha1.Publication, s *v1alpha1.Subscription) bool {
	own := s.Spec.Initialization
	return Compares(p, s) && (own != nil && own.Method == v1alpha1.InitializeCompare ||
		s.Annotations[v1alpha1.InitializationAnnotation] == v1alpha1.InitializeCompare || rebuiltByComparison(p))
}

// Agrees tells that tables of a Subscription which a comparison finds different may be replaced. Of one that begins
// Compare says so, whoever declares it. Of one that was registered with what a person has brought, or with a backup,
// its Publication's word is none, since that was changed for all: the Subscription says so itself, or consent to a new
// copy is given.
func Agrees(p *v1alpha1.Publication, s *v1alpha1.Subscription) bool {
	return Compares(p, s) && (!HandBrought(s) && !BackupBrought(s) || AgreesItself(p, s) || Consents(p, s))
}

func rebuiltByComparison(p *v1alpha1.Publication) bool {
	return p.Annotations[v1alpha1.RebuildAnnotation] == v1alpha1.RebuildCompare
}
