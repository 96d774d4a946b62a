// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PublicationType is how a publication's tables reach subscribers.
// +kubebuilder:validation:Enum=Transactional;Snapshot
type PublicationType string

const (
	// PublicationTransactional copies the tables once and then delivers each change.
	PublicationTransactional PublicationType = "Transactional"
	// PublicationSnapshot copies the tables whole, again and again by a schedule, and delivers nothing between.
	PublicationSnapshot PublicationType = "Snapshot"
)

// Scheduled tells that the publication is copied by a schedule and not streamed: it has no log reader.
func (s *PublicationSpec) Scheduled() bool { return s.Type == PublicationSnapshot }

// PublicationSchedule says when the tables of a Publication of type Snapshot are copied.
type PublicationSchedule struct {
	// asks is the schedule, with its time zone, that has been looked at since the time beside: one that is declared later
	// asks for nothing before that.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Asks string `json:"asks,omitempty"`
	// since is when it was first looked at.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// last is when the newest snapshot that is whole was begun; absent before the first.
	// +optional
	Last *metav1.Time `json:"last,omitempty"`
	// next is when the schedule asks for another one. It is in the past while that is being made, or waits; absent while
	// nobody subscribes.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
}

// AppliedSnapshot is the snapshot that a subscriber has of a Publication of type Snapshot.
type AppliedSnapshot struct {
	// transaction by which the distributor knows the snapshot (xact_seqno, varbinary(16)) in hexadecimal.
	// +kubebuilder:validation:MaxLength=34
	Transaction string `json:"transaction"`
	// made is when the distributor had it whole: its rows are the publisher's of a moment before. Absent when the
	// distributor did not say that any more.
	// +optional
	Made *metav1.Time `json:"made,omitempty"`
	// applied is when it was first seen at the subscriber.
	// +optional
	Applied *metav1.Time `json:"applied,omitempty"`
}
