// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a Topology.
const (
	// ReasonMembersReady: every object of the topology is as declared and ready.
	ReasonMembersReady = "MembersReady"
	// ReasonMembersNotReady: objects of the topology are being worked on; each says why in its own conditions.
	ReasonMembersNotReady = "MembersNotReady"
	// ReasonMembersUnknown (Unknown): of some objects it cannot be told whether they are ready.
	ReasonMembersUnknown = "MembersUnknown"
	// ReasonMemberStalled: an object of the topology needs a person; the message is that object's.
	ReasonMemberStalled = "MemberStalled"
	// ReasonMemberConflict: an object of a declared name belongs to another Topology, or to nobody and is not adopted.
	ReasonMemberConflict = "MemberConflict"
	// ReasonMemberRefused: the API server refuses an object as it is declared, such as a change of an immutable field.
	ReasonMemberRefused = "MemberRefused"
	// ReasonMembersLeaving: objects that left the manifest are still being deleted.
	ReasonMembersLeaving = "MembersLeaving"
	// ReasonManifestInvalid: the manifest cannot be expanded.
	ReasonManifestInvalid = "ManifestInvalid"
)

// Reasons of an object in a Topology's status that has no condition of its own.
const (
	// ReasonDeclared: the object is as declared and has no state of its own (an AgentProfile).
	ReasonDeclared = "Declared"
	// ReasonNotObserved: the object's controller has not looked at its newest spec yet.
	ReasonNotObserved = "NotObserved"
	// ReasonLeaving: the object left the manifest, or was deleted, and its finalizers wait for something.
	ReasonLeaving = "Leaving"
)
