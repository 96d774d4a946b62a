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
