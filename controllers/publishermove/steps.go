// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// LetCompare marks a Subscription: its copy is kept if it is equal to the new publisher's.
type LetCompare struct{ Subscription string }

// Describe names the Subscription.
func (s LetCompare) Describe() string {
	return fmt.Sprintf(
		"annotate Subscription %s with %s=%s: its tables are compared with the new publisher's, kept if they are equal, "+
			"and copied anew if not",
		s.Subscription, v1alpha1.InitializationAnnotation, v1alpha1.InitializeCompare,
	)
}

// EndCompare takes that mark away.
type EndCompare struct{ Subscription string }

// Describe names the Subscription.
func (s EndCompare) Describe() string {
	return fmt.Sprintf("take the annotation %s from Subscription %s", v1alpha1.InitializationAnnotation, s.Subscription)
}

// KeepTables sets reclaimPolicy Retain on the new publisher's Subscription, in the Topology if one declares it.
type KeepTables struct{ Subscription, Topology string }

// Describe names the Subscription.
func (s KeepTables) Describe() string {
	return fmt.Sprintf("set reclaimPolicy Retain of Subscription %s%s", s.Subscription, in(s.Topology))
}

// EndSubscription takes the new publisher's Subscription away; its tables stay.
type EndSubscription struct{ Subscription, Topology string }

// Describe names the Subscription.
func (s EndSubscription) Describe() string {
	return fmt.Sprintf("remove Subscription %s%s; its tables stay", s.Subscription, in(s.Topology))
}

// Switch points the Publication at its new publisher.
type Switch struct {
	Publication, Topology string
	Publisher             v1alpha1.ServerName
	Database              v1alpha1.DatabaseName
	Distributor           v1alpha1.ObjectName
	Move                  v1alpha1.ObjectName
}

// Describe names the publisher.
func (s Switch) Describe() string {
	return fmt.Sprintf(
		"let Publication %s%s name publisher %s, database %s, Distributor %s, movedBy %s; its controller publishes there, "+
			"and those of the other Subscriptions register them",
		s.Publication, in(s.Topology), credentials.HostName(s.Publisher), s.Database, s.Distributor, s.Move,
	)
}

func in(topology string) string {
	if topology == "" {
		return ""
	}
	return " in Topology " + topology
}
