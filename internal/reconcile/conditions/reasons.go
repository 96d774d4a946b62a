// SPDX-License-Identifier: Apache-2.0

package conditions

// Condition types beside Ready, Reconciling and Stalled.
const (
	// TypeNamesReady is True on a SQLServer or AvailabilityGroup when its name resolves to its address at every site that
	// answers. It is written by the controller of names with a field manager of its own.
	TypeNamesReady = "NamesReady"
	// TypeTokenRenewed is False on a Site whose token the manager cannot renew, though it is time.
	TypeTokenRenewed = "TokenRenewed"
	// TypeCredentials is False on a Site whose credentials end soon or have ended.
	TypeCredentials = "CredentialsValid"
)

// Reasons that several kinds have.
const (
	// ReasonSiteUnreachable (Unknown): the site has not answered; what is there is not known.
	ReasonSiteUnreachable = "SiteUnreachable"
	// ReasonUnknownSite: spec names a Site that does not exist (yet).
	ReasonUnknownSite = "UnknownSite"
	// ReasonSiteLost: a person declared the site lost.
	ReasonSiteLost = "SiteLost"
	// ReasonNamespaceNotAllowed: the object's namespace is not among the Site's allowedNamespaces.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	// ReasonNamespaceMissing: an allowed namespace does not exist at the site, or the credentials have no rights there.
	ReasonNamespaceMissing = "NamespaceMissing"
	// ReasonReferenceMissing: spec names an object that does not exist (yet).
	ReasonReferenceMissing = "ReferenceMissing"
	// ReasonDeleting: the object is being deleted and its finalizer waits for something.
	ReasonDeleting = "Deleting"
	// ReasonLeftBehind (event only): the object is gone, and something of it stays: on servers that nobody expects back,
	// where nobody can look for it, or made by somebody else.
	ReasonLeftBehind = "LeftBehind"
	// ReasonApplyFailed: a step failed; it is tried again.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonStepWithoutEffect: a step was carried out several times, and nothing that is observed has changed; it is tried
	// again, at least every minute.
	ReasonStepWithoutEffect = "StepWithoutEffect"
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
	// ReasonDuplicateCluster: another, older Site is the same cluster.
	ReasonDuplicateCluster = "DuplicateCluster"
)

// Reasons of NamesReady.
const (
	// ReasonNamesPublished: the name is right at every site that answers.
	ReasonNamesPublished = "Published"
	// ReasonNamesConflict: a Service of that name that is not the operator's exists at a site; it is left alone.
	ReasonNamesConflict = "NamesConflict"
	// ReasonNamesPartial (Unknown): some sites do not answer.
	ReasonNamesPartial = "SitesUnknown"
	// ReasonNoAddress: the pod has no address (yet).
	ReasonNoAddress = "NoAddress"
)
