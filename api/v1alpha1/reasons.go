// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
	// ReasonSuspended: a person has suspended the object, or the Topology that it is of. Nothing is carried out; the
	// condition's status is what is seen, and its message says how many steps wait.
	ReasonSuspended = "Suspended"
	// ReasonDatabaseConflict: a database of a declared name exists and was made by somebody else, or is a group's.
	ReasonDatabaseConflict = "DatabaseConflict"
	// ReasonDatabaseDiffers: a database that exists has another property than is declared, which is not changed (Stalled),
	// or which the engine does not change; the message says which. Everything else is done.
	ReasonDatabaseDiffers = "DatabaseDiffers"
	// ReasonDatabaseInUse: a property of a database is changed once nobody else is in it; the message says which.
	// Everything else is done.
	ReasonDatabaseInUse = "DatabaseInUse"
	// ReasonApplyFailed: a step failed; it is tried again.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonStepWithoutEffect: a step was carried out several times, and nothing that is observed has changed; it is tried
	// again, at least every minute.
	ReasonStepWithoutEffect = "StepWithoutEffect"
)

// ConditionNamesReady is True on a SQLServer or AvailabilityGroup when its name resolves to its address at every site
// that answers. It is written by the controller of names with a field manager of its own.
const ConditionNamesReady = "NamesReady"

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
	// ReasonLoadBalancerPending: the server's Service of type LoadBalancer has no address yet, or its hostname is not
	// resolved; the message says which Service waits, and since when. Other sites lead nowhere new until it has one. Or
	// sites that the message names are led to the server by its former way yet, since they have not found that the load
	// balancer forwards. Or the server is deleted, and the Service that opened it has not gone yet.
	ReasonLoadBalancerPending = "LoadBalancerPending"
)
