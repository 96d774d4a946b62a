// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objectives are what a group promises.
type Objectives struct {
	// rpo is how much acknowledged work may be lost, as time; 0s means none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="rpo is a duration, written like 500ms, 90s or 1h30m"
	RPO *metav1.Duration `json:"rpo,omitempty"`
	// rto is how long writes may be refused.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="rto is a duration, written like 500ms, 90s or 1h30m"
	RTO *metav1.Duration `json:"rto,omitempty"`
	// redoCatchUp is how long redo may need to drain its queue.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="redoCatchUp is a duration, written like 500ms, 90s or 1h30m"
	RedoCatchUp *metav1.Duration `json:"redoCatchUp,omitempty"`
	// backupRPO is how old the newest moment may be to which every database can be restored when the primary's site is
	// lost with all servers. The condition BackupObjectiveMet and status.restorable say how it is.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('2m') && duration(self) <= duration('8760h')",message="backupRPO must be between 2m and 8760h; a duration is written like 15m, 12h or 1h30m"
	BackupRPO *metav1.Duration `json:"backupRPO,omitempty"`
}

// GroupTimings are how soon the votes of a group expire, and what follows from that. Shorter ones find out sooner that
// a primary is gone, and take a shorter stutter of a network for its end. A group that declares none but failover and
// offline has voteExpiry 14s and overrun 5s; one that was made by an earlier release keeps 10s and 1s (status.timings).
// What a group leaves out that declares any has its default. They are refused unless acknowledge + writeLease +
// overrun + 500ms is at most 99 % of voteExpiry, renewInterval + acknowledge + agentRestart less than writeLease, and
// apiTimeout less than acknowledge: docs/failover.md, Timings.
type GroupTimings struct {
	// voteExpiry (D) is how long a vote counts after its renewal: 10s unless given beside other timings, at most 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="voteExpiry is a duration, written like 500ms, 90s or 1h30m"
	VoteExpiry *metav1.Duration `json:"voteExpiry,omitempty"`
	// renewInterval (R) is the interval at which votes and write lease are renewed: 1s unless given, at least 250ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="renewInterval is a duration, written like 500ms, 90s or 1h30m"
	RenewInterval *metav1.Duration `json:"renewInterval,omitempty"`
	// apiTimeout bounds one call to a voter: 1s unless given, at least 250ms. A voter that takes longer gives no vote.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="apiTimeout is a duration, written like 500ms, 90s or 1h30m"
	APITimeout *metav1.Duration `json:"apiTimeout,omitempty"`
	// acknowledge (X) is how long after the start of a round the engine may still acknowledge its lease: 1500ms unless
	// given.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="acknowledge is a duration, written like 500ms, 90s or 1h30m"
	Acknowledge *metav1.Duration `json:"acknowledge,omitempty"`
	// agentRestart is how long an agent may be away without the primary noticing: 2s unless given, at least 250ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="agentRestart is a duration, written like 500ms, 90s or 1h30m"
	AgentRestart *metav1.Duration `json:"agentRestart,omitempty"`
	// writeLease (W) is WRITE_LEASE_VALIDITY, in whole seconds: 6s unless given.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="writeLease is a duration, written like 500ms, 90s or 1h30m"
	WriteLease *metav1.Duration `json:"writeLease,omitempty"`
	// overrun (G) is how late an engine may act on the end of its write lease: 1s unless given beside other timings, at
	// most 1m. Nobody has measured it on SQL Server; Microsoft's agent waits for 5s, with which voteExpiry must be at
	// least 13.2s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="overrun is a duration, written like 500ms, 90s or 1h30m"
	Overrun *metav1.Duration `json:"overrun,omitempty"`
	// failover is how long FAILOVER may take until the role is PRIMARY, before the term is given up: 15s unless given, at
	// most 5m. It never ends before voteExpiry.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="failover is a duration, written like 500ms, 90s or 1h30m"
	Failover *metav1.Duration `json:"failover,omitempty"`
	// offline is how long OFFLINE may take on another replica than the new primary, until the role is RESOLVING: 15s
	// unless given, at most 5m. A primary that has lost its votes has until they expire: its process is ended then.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="offline is a duration, written like 500ms, 90s or 1h30m"
	Offline *metav1.Duration `json:"offline,omitempty"`
}
