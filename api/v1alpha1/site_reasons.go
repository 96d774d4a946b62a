// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a Site beside Ready, Reconciling and Stalled.
const (
	// ConditionTokenRenewed is False on a Site whose token the manager cannot renew, though it is time.
	ConditionTokenRenewed = "TokenRenewed"
	// ConditionCredentialsValid is False on a Site whose credentials end soon or have ended.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionLinkSlowerThanDeclared is True on a Site from which the round trip to another one is clearly longer than is
	// declared; Unknown when none of the declared links is measured any more. A Site of whose links none was ever measured
	// lacks it, and one whose links all lead to sites that are lost or not there.
	ConditionLinkSlowerThanDeclared = "LinkSlowerThanDeclared"
	// ConditionWindowTooSmall is True on a Site from which one connection does not fill a link, since the buffers at its
	// ends are too small; Unknown when none of the declared links is measured any more.
	ConditionWindowTooSmall = "WindowTooSmall"
)

// Reasons of a Site.
const (
	// ReasonSiteReady: the site answers.
	ReasonSiteReady = "Answering"
	// ReasonConnecting: the first heartbeat is awaited or the caches are being filled.
	ReasonConnecting = "Connecting"
	// ReasonKubeconfigInvalid: the kubeconfig cannot be used as it is.
	ReasonKubeconfigInvalid = "KubeconfigInvalid"
	// ReasonCredentialsDenied: the API server does not accept the credentials, or they lack rights.
	ReasonCredentialsDenied = "CredentialsDenied"
	// ReasonCredentialsExpired: the token or certificate has ended.
	ReasonCredentialsExpired = "CredentialsExpired"
	// ReasonCredentialsExpireSoon: the token or certificate ends within a week.
	ReasonCredentialsExpireSoon = "CredentialsExpireSoon"
	// ReasonTokenRenewed: the manager renews its token for the site, or there is none that ends (TokenRenewed).
	ReasonTokenRenewed = "TokenRenewed"
	// ReasonTokenNotRenewed: it is time, and the renewal is refused (TokenRenewed).
	ReasonTokenNotRenewed = "TokenNotRenewed"
	// ReasonCredentialsGood: they do not end soon.
	ReasonCredentialsGood = "CredentialsGood"
	// ReasonOtherCluster: another cluster answers than the site's; nothing is done there.
	ReasonOtherCluster = "OtherCluster"
	// ReasonOtherHub: another hub writes at the site, or another copy of this one that took it over; this one does not.
	ReasonOtherHub = "OtherHub"
	// ReasonDuplicateCluster: another, older Site is the same cluster.
	ReasonDuplicateCluster = "DuplicateCluster"
	// ReasonLinkSlower: a measured round trip is clearly over the declared one (LinkSlowerThanDeclared).
	ReasonLinkSlower = "LinkSlower"
	// ReasonLinksAsDeclared: no link that is measured is slower than declared (LinkSlowerThanDeclared).
	ReasonLinksAsDeclared = "LinksAsDeclared"
	// ReasonLinksNotMeasured: Unknown, no agent reaches another site (LinkSlowerThanDeclared, WindowTooSmall).
	ReasonLinksNotMeasured = "LinksNotMeasured"
	// ReasonBuffersTooSmall: a link takes more than a connection's buffers hold (WindowTooSmall).
	ReasonBuffersTooSmall = "BuffersTooSmall"
	// ReasonWindowsWide: one connection fills each link that is measured, or has what buffers can have (WindowTooSmall).
	ReasonWindowsWide = "WindowsWide"
)
