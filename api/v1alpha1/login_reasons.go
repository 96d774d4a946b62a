// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a Login. LoginConflict, which SQLServers have too, says that a login of the name is somebody else's.
const (
	// ReasonLoginReady: login, users and connection Secret are as declared.
	ReasonLoginReady = "LoginReady"
	// ReasonLoginChanging: they are being brought to what is declared.
	ReasonLoginChanging = "LoginChanging"
	// ReasonLoginOwns: a Login with reclaimPolicy Delete is deleted, and it, or a user of it, owns something, has granted
	// something, or is whom a module runs as. It is disabled.
	ReasonLoginOwns = "LoginOwns"
	// ReasonLoginUnknown (Unknown): a server, database or site does not answer, or is not there yet.
	ReasonLoginUnknown = "LoginUnknown"
)
