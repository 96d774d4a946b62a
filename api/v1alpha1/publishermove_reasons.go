// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a PublisherMove.
const (
	// ReasonPublisherAnswers: the former publisher answers, and its database is not read-only; nothing is moved from a
	// server that may take writes.
	ReasonPublisherAnswers = "PublisherAnswers"
	// ReasonPublisherNotFenced: the former publisher is silent, and nobody has said that it takes writes no more.
	ReasonPublisherNotFenced = "PublisherNotFenced"
	// ReasonCopyDiffers: of a PublisherMove, the former publisher lives, and the new one has not all that it has; of a
	// Subscription, a copy that nobody made of a snapshot differs from the publisher's.
	ReasonCopyDiffers = "CopyDiffers"
	// ReasonPublicationReplaced: the Publication was deleted and declared anew, or moved by another PublisherMove, since
	// its move was estimated.
	ReasonPublicationReplaced = "PublicationReplaced"
	// ReasonNotSubscribed: the server does not subscribe to the publication, so it has no copy.
	ReasonNotSubscribed = "NotSubscribed"
	// ReasonDistributorUnusable: the Distributor that would distribute does not answer, or does not admit the server.
	ReasonDistributorUnusable = "DistributorUnusable"
	// ReasonAwaitingApproval: the estimate is there, and nothing is changed before spec.approved.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonDraining: subscribers are awaited that do not have yet what the distributor has.
	ReasonDraining = "Draining"
	// ReasonSwitching: the old way is ended, and what is declared is changed.
	ReasonSwitching = "Switching"
	// ReasonPublishing: the new publisher is being set up, and the other subscribers are being brought to it.
	ReasonPublishing = "Publishing"
	// ReasonMoved: the publication has moved; this is the record.
	ReasonMoved = "Moved"
)
