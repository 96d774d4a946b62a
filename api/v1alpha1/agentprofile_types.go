// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReplicationAgent is the agent that a profile is for.
// +kubebuilder:validation:Enum=Distribution;LogReader;Snapshot
type ReplicationAgent string

const (
	// AgentDistribution delivers (distrib).
	AgentDistribution ReplicationAgent = "Distribution"
	// AgentLogReader reads the log (logread).
	AgentLogReader ReplicationAgent = "LogReader"
	// AgentSnapshot makes snapshots (snapshot).
	AgentSnapshot ReplicationAgent = "Snapshot"
)

// AgentProfileSpec has parameters of a replication agent with their documented ranges
// (docs/relational-databases/replication/agents/replication-{distribution,log-reader,snapshot}-agent.md).
// A parameter left out keeps the agent's default.
//
// +kubebuilder:validation:XValidation:rule="self.agent == oldSelf.agent",message="agent is immutable: declare another profile"
// +kubebuilder:validation:XValidation:rule="self.agent == 'Distribution' || !(has(self.commitBatchSize) || has(self.commitBatchThreshold) || has(self.subscriptionStreams) || has(self.oledbStreamThreshold) || has(self.keepAliveMessageInterval) || has(self.skipErrors) || has(self.transactionsPerHistory))",message="commitBatchSize, commitBatchThreshold, subscriptionStreams, oledbStreamThreshold, keepAliveMessageInterval, skipErrors and transactionsPerHistory are for the Distribution agent"
// +kubebuilder:validation:XValidation:rule="self.agent == 'LogReader' || !(has(self.readBatchSize) || has(self.maxCmdsInTran) || has(self.logScanThreshold))",message="readBatchSize, maxCmdsInTran and logScanThreshold are for the LogReader agent"
// +kubebuilder:validation:XValidation:rule="self.agent != 'LogReader' || !(has(self.bcpBatchSize) || has(self.maxBcpThreads))",message="bcpBatchSize is for the Distribution agent, maxBcpThreads for the Snapshot agent"
// +kubebuilder:validation:XValidation:rule="self.agent != 'Distribution' || !has(self.maxBcpThreads) || oldSelf.hasValue() && has(oldSelf.value().maxBcpThreads)",optionalOldSelf=true,message="maxBcpThreads has no effect for the Distribution agent: publications make concurrent snapshots, of which one thread applies each; leave it out, or give it to a profile for the Snapshot agent",fieldPath=".maxBcpThreads"
// +kubebuilder:validation:XValidation:rule="self.agent != 'Snapshot' || !has(self.bcpBatchSize) || oldSelf.hasValue() && has(oldSelf.value().bcpBatchSize)",optionalOldSelf=true,message="bcpBatchSize has no effect for the Snapshot agent, which writes rows in batches of 1000 whatever it says; leave it out, or give it to a profile for the Distribution agent",fieldPath=".bcpBatchSize"
// +kubebuilder:validation:XValidation:rule="!has(self.packetSize) || self.packetSize <= 16383 || oldSelf.hasValue() && has(oldSelf.value().packetSize) && oldSelf.value().packetSize == self.packetSize",optionalOldSelf=true,message="packetSize is 512 to 16383: agents connect with TLS, whatever encryptionLevel says, and an encrypted connection has no larger packets",fieldPath=".packetSize"
// +kubebuilder:validation:XValidation:rule="self.agent != 'LogReader' || !has(self.historyVerboseLevel) || self.historyVerboseLevel <= 2 || oldSelf.hasValue() && has(oldSelf.value().historyVerboseLevel) && oldSelf.value().historyVerboseLevel == self.historyVerboseLevel",optionalOldSelf=true,message="historyVerboseLevel is 0 to 2 for the LogReader agent: 3 is for the Distribution and Snapshot agents",fieldPath=".historyVerboseLevel"
// +kubebuilder:validation:XValidation:rule="self.agent != 'Snapshot' || !has(self.pollingInterval)",message="pollingInterval is for the Distribution and LogReader agents"
type AgentProfileSpec struct {
	// agent is Distribution, LogReader or Snapshot.
	Agent ReplicationAgent `json:"agent"`
	// commitBatchSize is transactions per commit, 1 to 10000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	CommitBatchSize *int32 `json:"commitBatchSize,omitempty"`
	// commitBatchThreshold is commands per commit, 1 to 10000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	CommitBatchThreshold *int32 `json:"commitBatchThreshold,omitempty"`
	// subscriptionStreams is parallel connections to the subscriber, 1 to 64.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	SubscriptionStreams *int32 `json:"subscriptionStreams,omitempty"`
	// oledbStreamThreshold is the size in bytes above which binary data are streamed, 400 to 1048576.
	// +optional
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=1048576
	OledbStreamThreshold *int32 `json:"oledbStreamThreshold,omitempty"`
	// keepAliveMessageInterval in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	KeepAliveMessageInterval *int32 `json:"keepAliveMessageInterval,omitempty"`
	// skipErrors are error numbers that the agent skips.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	SkipErrors []int32 `json:"skipErrors,omitempty"`
	// transactionsPerHistory is transactions per history row, 0 to 10000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	TransactionsPerHistory *int32 `json:"transactionsPerHistory,omitempty"`
	// readBatchSize is transactions read from the log at once, 1 to 10000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	ReadBatchSize *int32 `json:"readBatchSize,omitempty"`
	// maxCmdsInTran splits larger transactions.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxCmdsInTran *int32 `json:"maxCmdsInTran,omitempty"`
	// logScanThreshold is log records scanned before progress is reported.
	// +optional
	// +kubebuilder:validation:Minimum=1
	LogScanThreshold *int32 `json:"logScanThreshold,omitempty"`
	// pollingInterval in seconds, 1 to 3600; 5 is the agent's default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	PollingInterval *int32 `json:"pollingInterval,omitempty"`
	// packetSize in bytes, 512 to 16383: the servers take encrypted connections alone, whatever encryptionLevel says, and
	// those have no larger packets. A larger one that was stored before stays as it is.
	// +optional
	// +kubebuilder:validation:Minimum=512
	PacketSize *int32 `json:"packetSize,omitempty"`
	// bcpBatchSize is how many rows of a snapshot the Distribution agent writes in one transaction. It is refused for the
	// Snapshot agent, which writes rows in batches of 1000 whatever it says.
	// +optional
	// +kubebuilder:validation:Minimum=1
	BcpBatchSize *int32 `json:"bcpBatchSize,omitempty"`
	// maxBcpThreads is how many tables the Snapshot agent copies at a time, 1 to 8. It is refused for the Distribution
	// agent, which applies a concurrent snapshot, as publications make them, with one thread whatever it says.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	MaxBcpThreads *int32 `json:"maxBcpThreads,omitempty"`
	// historyVerboseLevel 0 to 3, for the LogReader agent 0 to 2. A 3 that was stored before stays as it is.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3
	HistoryVerboseLevel *int32 `json:"historyVerboseLevel,omitempty"`
	// encryptionLevel of the agent's connections: 0 leaves it to the servers, which demand encryption; 1 demands it and
	// takes any certificate; 2 wants one that the container of the agent's server trusts by itself. 1 unless given.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2
	EncryptionLevel *int32 `json:"encryptionLevel,omitempty"`
	// loginTimeout in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	LoginTimeout *int32 `json:"loginTimeout,omitempty"`
	// queryTimeout in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	QueryTimeout *int32 `json:"queryTimeout,omitempty"`
}

// AgentProfile has parameters for replication agents.
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=gprof,categories=geosql
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.spec.agent`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AgentProfileSpec `json:"spec"`
}

// AgentProfileList is a list of AgentProfiles.
// +kubebuilder:object:root=true
type AgentProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentProfile `json:"items"`
}

func init() { SchemeBuilder.Register(&AgentProfile{}, &AgentProfileList{}) }
