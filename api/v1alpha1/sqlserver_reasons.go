// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConditionRestartPending is True on a SQLServer whose pod was started from an older template than the one declared now
// and waits: for its turn among the servers of a group, for a switchover, or for whatever starts it next; and on one
// whose pod is about to be evicted from a cordoned node.
const ConditionRestartPending = "RestartPending"

// ConditionAdministered is True on a SQLServer whose login sa lets the operator in: certificates, logins, grants and
// new replicas are made by it. The server serves without, and what is declared later is not done.
const ConditionAdministered = "Administered"

// ConditionTempDBArranged is True on a SQLServer whose engine was told where the files of tempdb are to be, and how
// many.
// The server serves and is restarted without; False, it says what the engine answers.
const ConditionTempDBArranged = "TempDBArranged"

// ConditionNetworkRestricted is True on a SQLServer whose NetworkPolicy lets in nobody but its peers, the manager and
// its clients. Whether anything enforces NetworkPolicies is the site's network's matter. The server serves without.
const ConditionNetworkRestricted = "NetworkRestricted"

// ConditionPromisesKept is True on a SQLServer whose agent can keep what it promises in elections; the reason says on
// which volume. False, no replica is promoted that needs a promise of this server, or promises lie where databases can
// take the room.
const ConditionPromisesKept = "PromisesKept"

// ConditionVolumesResizing is True on a SQLServer while a volume is asked to grow and its file system has not, or while
// that was refused; the message has the storage's own words.
const ConditionVolumesResizing = "VolumesResizing"

// ConditionVolumesFilling is True on a SQLServer one of whose volumes has a tenth of its room left, or has none in four
// hours at the rate of the last hour, if that goes on. The server serves meanwhile.
const ConditionVolumesFilling = "VolumesFilling"

// ConditionStagingFilling is True on a SQLServer whose mirrors of snapshots take more of the staging quota
// (spec.transfers.stagingQuota of its Site) than the high watermark, with all removed that may be. Without a quota the
// server has none of the conditions of staging.
const ConditionStagingFilling = "StagingFilling"

// ConditionStagingCleaned is True on a SQLServer for an hour after its agent has removed from the mirrors what no order
// had named for an hour, to keep the staging quota.
const ConditionStagingCleaned = "StagingCleaned"

// ConditionStagingBlocked is True on a SQLServer while a snapshot or backup waits that does not fit into the staging
// quota, with all removed that may be. The message says which quota would have it; it goes on by itself.
const ConditionStagingBlocked = "StagingBlocked"

// ConditionNodeHeard is True on a SQLServer while the kubelet of its pod's node is heard. False, the message says what
// comes back elsewhere, what a person may do, and what that risks.
const ConditionNodeHeard = "NodeHeard"

// ConditionImageCurrent is True on a SQLServer whose engine runs the image that is declared and, where that is a tag,
// the one that it names as far as the site's nodes and other servers tell. False, the message says what the other one
// waits for, and how far the groups are; the server serves meanwhile.
const ConditionImageCurrent = "ImageCurrent"

// ConditionNetworkTuned is True on a SQLServer whose pod's connections have the buffers that the declared links ask
// for, with the pod's next start at the latest. False, the message says why they do not; the server serves meanwhile.
const ConditionNetworkTuned = "NetworkTuned"

// Reasons of a SQLServer.
const (
	// ReasonImageAsDeclared: the engine runs the image that is declared (ImageCurrent).
	ReasonImageAsDeclared = "AsDeclared"
	// ReasonUpdateAwaitsRequest: the image that is declared waits until a person asks for it (ImageCurrent).
	ReasonUpdateAwaitsRequest = "AwaitsRequest"
	// ReasonUpdateAwaitsWindow: the image that is declared waits for a maintenance window; the message says which comes
	// next (ImageCurrent).
	ReasonUpdateAwaitsWindow = "AwaitsWindow"
	// ReasonUpdating: the server gets the image that is declared when its turn comes (ImageCurrent).
	ReasonUpdating = "Updating"
	// ReasonUpdateStopped: a server of the group that has the image is not well; the others keep theirs. The message says
	// how to go on, and back (ImageCurrent).
	ReasonUpdateStopped = "UpdateStopped"
	// ReasonTagMoved: the tag that is declared names another image by now than the one that runs, which is kept until
	// somebody asks for an update (ImageCurrent).
	ReasonTagMoved = "TagMoved"
	// ReasonVersionLower: the image that is declared is of a lower major version than the engine that wrote the data,
	// which it can't open; the server goes on with the image that it has (ImageCurrent, Stalled). Everything else is done.
	ReasonVersionLower = "VersionLower"
	// ReasonDataNewer: no pod is made, because the image that is declared is of a lower major version than the engine that
	// wrote the data on the server's volumes.
	ReasonDataNewer = "DataNewer"
	// ReasonRunning: the engine answers and has its logins.
	ReasonRunning = "Running"
	// ReasonCreating: objects of the server are being written.
	ReasonCreating = "Creating"
	// ReasonCredentialsLost: volumes exist whose passwords neither site nor hub have.
	ReasonCredentialsLost = "CredentialsLost"
	// ReasonCertificateInvalid: the Secret that spec.tls names is missing or can't be used, or the operator's CA can't be.
	ReasonCertificateInvalid = "CertificateInvalid"
	// ReasonCertificateKept: what spec.tls names, or the operator's CA, can't be used, or nothing is issued, and the
	// server goes on with the certificate that it has; the message says why, and until when. Everything else is done.
	ReasonCertificateKept = "CertificateKept"
	// ReasonCertificateNotIssued: cert-manager has not issued the certificate that spec.tls asks it for, and the server
	// has no other one; the message has its words.
	ReasonCertificateNotIssued = "CertificateNotIssued"
	// ReasonCertManagerMissing: spec.tls names an issuer, there is no cert-manager at the site, and the server has no
	// other certificate.
	ReasonCertManagerMissing = "CertManagerMissing"
	// ReasonSecretNotTaken: a Secret of the user's, with sa's password or a product key, holds what can't be used, and the
	// server has no other value; the message names it, and never its content.
	ReasonSecretNotTaken = "SecretNotTaken"
	// ReasonSecretKept: a Secret of the user's, with sa's password or a product key, is missing or holds what can't be
	// used, and the server goes on with the value that it has. Everything else is done.
	ReasonSecretKept = "SecretKept"
	// ReasonClocksDiffer: a certificate is to be issued, the clocks of the manager and of the hub's or the site's API
	// server differ too much, and the server has no certificate that can be used.
	ReasonClocksDiffer = "ClocksDiffer"
	// ReasonStorageClassNotFound: a storage class does not exist at the site.
	ReasonStorageClassNotFound = "StorageClassNotFound"
	// ReasonNoNodeForVolumes: no node of the site can serve all volumes of the server.
	ReasonNoNodeForVolumes = "NoNodeForVolumes"
	// ReasonVolumePending: a volume is not bound yet.
	ReasonVolumePending = "VolumePending"
	// ReasonVolumeCannotGrow: a volume should grow and its class, or the site's API server, does not allow it. Everything
	// else is done.
	ReasonVolumeCannotGrow = "VolumeCannotGrow"
	// ReasonPartnerTrusted: the engine does not take away what lets a server connect to its endpoint that shares no group
	// with it any more; the message has its words. Everything else is done.
	ReasonPartnerTrusted = "PartnerTrusted"
	// ReasonObjectConflict: an object of the server's name at the site belongs to somebody else.
	ReasonObjectConflict = "ObjectConflict"
	// ReasonPodPending: the pod is not scheduled or not created yet.
	ReasonPodPending = "PodPending"
	// ReasonImagePullFailed: an image of the pod can't be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonPodNotReady: the pod runs and its engine does not serve.
	ReasonPodNotReady = "PodNotReady"
	// ReasonPodNotTaken: what the specification makes of the pod would break what the operator promises, and there is no
	// earlier pod; the message names the fields. Admission refuses it, so that webhooks were away when it was written.
	ReasonPodNotTaken = "PodNotTaken"
	// ReasonPodKept: what the specification makes of the pod would break what the operator promises, by a rule of a later
	// release or beside a server that was declared later, say; the message names the fields. The pod stays as it was made
	// before. Everything else is done.
	ReasonPodKept = "PodKept"
	// ReasonPodRefused: the site's API server refuses the pod, by a quota, a limit range or a policy, say, or a kubelet
	// does not take its sysctls; the message has the words of either.
	ReasonPodRefused = "PodRefused"
	// ReasonRestarting: the pod is being replaced.
	ReasonRestarting = "Restarting"
	// ReasonEngineNotAnswering: the engine can't be reached under its name.
	ReasonEngineNotAnswering = "EngineNotAnswering"
	// ReasonServerNameMismatch: the instance calls itself by another name than its pod's.
	ReasonServerNameMismatch = "ServerNameMismatch"
	// ReasonLoginFailed: the engine does not let the operator in, or sa, where that is needed; the message says why.
	// Logins have it, too.
	ReasonLoginFailed = "LoginFailed"
	// ReasonLoginConflict: a login of the operator's name exists with another SID.
	ReasonLoginConflict = "LoginConflict"
	// ReasonRestartNeeded: what is declared takes effect with the next start of the pod (RestartPending).
	ReasonRestartNeeded = "RestartNeeded"
	// ReasonSidecarOutdated: nothing but the sidecar is of an earlier release than the operator; the message says when it
	// is replaced (RestartPending).
	ReasonSidecarOutdated = "SidecarOutdated"
	// ReasonVolumesTerminating: claims of the server are being deleted and go with its pod, which is not restarted
	// (RestartPending).
	ReasonVolumesTerminating = "VolumesTerminating"
	// ReasonNodeCordoned: the pod's node is cordoned; the message says whether the pod may be evicted, or what that, or
	// a restart, waits for (RestartPending).
	ReasonNodeCordoned = "NodeCordoned"
	// ReasonVolumesGrowing: volumes are asked to grow (VolumesResizing).
	ReasonVolumesGrowing = "Growing"
	// ReasonVolumesNotGrown: the storage refuses to let a volume grow (VolumesResizing).
	ReasonVolumesNotGrown = "GrowthRefused"
	// ReasonVolumesGrown: each file system has what its claim asks for (VolumesResizing).
	ReasonVolumesGrown = "AsRequested"
	// ReasonLittleRoom: a tenth or less of a volume is free (VolumesFilling).
	ReasonLittleRoom = "LittleRoom"
	// ReasonFullSoon: a volume will be full in four hours (VolumesFilling).
	ReasonFullSoon = "FullSoon"
	// ReasonAboveHighWatermark: mirrors take more than the high watermark of their quota (StagingFilling).
	ReasonAboveHighWatermark = "AboveHighWatermark"
	// ReasonBelowHighWatermark: they do not (StagingFilling).
	ReasonBelowHighWatermark = "BelowHighWatermark"
	// ReasonStagingCleaned: the agent has removed from the mirrors what no order needs (StagingCleaned).
	ReasonStagingCleaned = "StagingCleaned"
	// ReasonNothingCleaned: nothing had to be removed in the last hour (StagingCleaned).
	ReasonNothingCleaned = "NothingCleaned"
	// ReasonQuotaTooSmall: a snapshot or backup does not fit into the staging quota; the message says what would
	// (StagingBlocked).
	ReasonQuotaTooSmall = "QuotaTooSmall"
	// ReasonQuotaSuffices: nothing waits for the staging quota (StagingBlocked).
	ReasonQuotaSuffices = "QuotaSuffices"
	// ReasonEnoughRoom: the volumes have room (VolumesFilling).
	ReasonEnoughRoom = "EnoughRoom"
	// ReasonNodeHeard: the kubelet of the pod's node is heard (NodeHeard).
	ReasonNodeHeard = "KubeletHeard"
	// ReasonNodeSilent: the pod's node is not heard; whether it is dead or cut off only a person can tell (NodeHeard).
	ReasonNodeSilent = "NodeSilent"
	// ReasonNodeOutOfService: a person has said that the pod's node is off; the pod goes elsewhere (NodeHeard).
	ReasonNodeOutOfService = "NodeOutOfService"
	// ReasonNodeGone: the pod's node is not of the cluster any more (NodeHeard).
	ReasonNodeGone = "NodeGone"
	// ReasonAdministratorUsable: the engine lets sa in (Administered).
	ReasonAdministratorUsable = "AdministratorUsable"
	// ReasonAdministratorShut: sa is disabled, locked out or renamed, or its password is another one; the message says
	// which, and what helps (Administered).
	ReasonAdministratorShut = "AdministratorShut"
	// ReasonTempDBArranged: the engine knows where the files of tempdb are to be (TempDBArranged).
	ReasonTempDBArranged = "TempDBArranged"
	// ReasonTempDBRefused: the engine does not take a statement about the files of tempdb; it is tried again, and keeps no
	// restart waiting (TempDBArranged).
	ReasonTempDBRefused = "TempDBRefused"
	// ReasonPeersOnly: the mirroring endpoint and the agent are open to peers and the manager alone (NetworkRestricted).
	ReasonPeersOnly = "PeersOnly"
	// ReasonPeersUnknown: ports are open to everybody, since it is not known by which addresses peers or the manager come;
	// the message says which ports, and what is missing (NetworkRestricted).
	ReasonPeersUnknown = "PeersUnknown"
	// ReasonNotManaged: the server has no NetworkPolicy of the operator's (NetworkRestricted).
	ReasonNotManaged = "NotManaged"
	// ReasonPolicyPending: the NetworkPolicy is not as it should be yet; the message says what it waits for, or why it
	// can't be written (NetworkRestricted).
	ReasonPolicyPending = "PolicyPending"
	// ReasonPromisesOnOwnVolume: the agent has a volume of its own, which takes its promises (PromisesKept).
	ReasonPromisesOnOwnVolume = "OnOwnVolume"
	// ReasonPromisesOnDataVolume: the pod was started before agents had a volume of their own, and gets it with its next
	// start; the data volume takes promises (PromisesKept).
	ReasonPromisesOnDataVolume = "OnDataVolume"
	// ReasonPromisesNotWritable: the agent cannot write where its promises lie; the message says why (PromisesKept).
	ReasonPromisesNotWritable = "NotWritable"
	// ReasonAgentVolumeNotPlaced: no node is known that could take the pod with a volume of the agent's own, so that it
	// goes on without; the message says which class is missing, where it is, or which claim is not bound (PromisesKept).
	ReasonAgentVolumeNotPlaced = "AgentVolumeNotPlaced"
	// ReasonBuffersFromLinks: the pod was started with the buffers that the declared links, or receiveWindow, ask for
	// (NetworkTuned).
	ReasonBuffersFromLinks = "BuffersFromLinks"
	// ReasonBuffersOfKernel: the kernel's own buffers are what is wanted: no link needs more, none is declared with round
	// trip and bandwidth, or tuning is None (NetworkTuned).
	ReasonBuffersOfKernel = "BuffersOfKernel"
	// ReasonBuffersDeclared: the server's own spec.pod.securityContext has the sysctls (NetworkTuned).
	ReasonBuffersDeclared = "BuffersDeclared"
	// ReasonBuffersAtNextStart: the pod was started with other buffers than it has with its next start, and is not
	// restarted for them (NetworkTuned, RestartPending).
	ReasonBuffersAtNextStart = "BuffersAtNextStart"
	// ReasonBuffersNotSafe: a node of the site runs Kubernetes before 1.32, or a kernel before 4.15, whose kubelet would
	// refuse a pod with buffers of its own; the message names it (NetworkTuned).
	ReasonBuffersNotSafe = "BuffersNotSafe"
	// ReasonBuffersRefused: the site's API server refused a pod while it was to have buffers of its own, so that it is
	// made without; the message says how they are tried again (NetworkTuned).
	ReasonBuffersRefused = "BuffersRefused"
	// ReasonBuffersNotTaken: the pod was started with buffers that its agent does not find there; the message has both
	// (NetworkTuned).
	ReasonBuffersNotTaken = "BuffersNotTaken"
	// ReasonUpToDate: the pod was started from what is declared (RestartPending is False).
	ReasonUpToDate = "UpToDate"
)
