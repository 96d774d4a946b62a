// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DrillFaultKind is what is done.
// +kubebuilder:validation:Enum=Network;Partition;PodKill;PodFailure;ContainerKill;Freeze;CPUStress;MemoryStress;DiskDelay;ClockOffset;Switchover;Failover;ChaosMesh
type DrillFaultKind string

const (
	// FaultNetwork makes a link worse: latency, jitter, loss, bandwidth, duplicates, corruption.
	FaultNetwork DrillFaultKind = "Network"
	// FaultPartition drops everything between two places, or between one and everything else.
	FaultPartition DrillFaultKind = "Partition"
	// FaultPodKill deletes the pod without giving it time.
	FaultPodKill DrillFaultKind = "PodKill"
	// FaultPodFailure keeps the pod from running for as long as it lasts.
	FaultPodFailure DrillFaultKind = "PodFailure"
	// FaultContainerKill kills the engine's container.
	FaultContainerKill DrillFaultKind = "ContainerKill"
	// FaultFreeze stops the engine's process, and lets it go on afterwards.
	FaultFreeze DrillFaultKind = "Freeze"
	// FaultCPUStress takes processor time away.
	FaultCPUStress DrillFaultKind = "CPUStress"
	// FaultMemoryStress takes memory away.
	FaultMemoryStress DrillFaultKind = "MemoryStress"
	// FaultDiskDelay makes the files of a volume slower.
	FaultDiskDelay DrillFaultKind = "DiskDelay"
	// FaultClockOffset shifts the clock that the engine sees.
	FaultClockOffset DrillFaultKind = "ClockOffset"
	// FaultSwitchover is a planned switchover.
	FaultSwitchover DrillFaultKind = "Switchover"
	// FaultFailover is a failover that a person asks for.
	FaultFailover DrillFaultKind = "Failover"
	// FaultChaosMesh is any object of Chaos Mesh, given literally.
	FaultChaosMesh DrillFaultKind = "ChaosMesh"
)

// FaultRole is a part that a server plays, found out when the fault's time comes.
// +kubebuilder:validation:Enum=Primary;Secondary;Publisher;Distributor;Subscriber
type FaultRole string

const (
	// RolePrimary is the group's primary at that moment.
	RolePrimary FaultRole = "Primary"
	// RoleSecondary is the group's first synchronous secondary at that moment, in the order of its replicas.
	RoleSecondary FaultRole = "Secondary"
	// RolePublisher is the server that publishes at that moment.
	RolePublisher FaultRole = "Publisher"
	// RoleDistributor is the distributor's server.
	RoleDistributor FaultRole = "Distributor"
	// RoleSubscriber is the subscriber.
	RoleSubscriber FaultRole = "Subscriber"
)

// FaultPlace is one end of a link, or where a fault strikes.
// +kubebuilder:validation:XValidation:rule="[has(self.server), has(self.site), has(self.role)].filter(x, x).size() == 1",message="name exactly one of server, site and role"
type FaultPlace struct {
	// server is the name of a SQLServer of the target.
	// +optional
	Server ServerName `json:"server,omitempty"`
	// site means every server of the target there, and for the network the site's API server, too: a site whose API server
	// still answers has not been lost.
	// +optional
	Site SiteName `json:"site,omitempty"`
	// role is Primary, Secondary, Publisher, Distributor or Subscriber at the moment of the fault.
	// +optional
	Role FaultRole `json:"role,omitempty"`
}

// FaultDirection says which packets a network fault concerns.
// +kubebuilder:validation:Enum=Both;To;From
type FaultDirection string

const (
	// DirectionBoth concerns what is sent and what is received; the default.
	DirectionBoth FaultDirection = "Both"
	// DirectionTo concerns what the place sends.
	DirectionTo FaultDirection = "To"
	// DirectionFrom concerns what it receives.
	DirectionFrom FaultDirection = "From"
)

// DrillFault is one thing that is done.
//
// +kubebuilder:validation:XValidation:rule="has(self.where) || self.kind in ['Switchover', 'Failover', 'ChaosMesh']",message="where is needed: the server, site or role that is struck"
// +kubebuilder:validation:XValidation:rule="!has(self.where) || !(self.kind in ['Switchover', 'Failover', 'ChaosMesh'])",message="Switchover and Failover concern the group and ChaosMesh selects by itself: leave where out"
// +kubebuilder:validation:XValidation:rule="self.kind in ['PodKill', 'ContainerKill', 'Switchover', 'Failover', 'ChaosMesh'] || has(self.duration)",message="duration is needed: how long the fault lasts"
// +kubebuilder:validation:XValidation:rule="!(self.kind in ['PodKill', 'ContainerKill', 'Switchover', 'Failover']) || !has(self.duration)",message="this kind of fault is done at once: leave duration out"
// +kubebuilder:validation:XValidation:rule="!has(self.peer) || self.kind in ['Network', 'Partition']",message="peer goes with Network and Partition alone"
// +kubebuilder:validation:XValidation:rule="!has(self.direction) || self.kind in ['Network', 'Partition']",message="direction goes with Network and Partition alone"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Network' ? has(self.network) : !has(self.network)",message="network goes with kind Network, and is needed there"
// +kubebuilder:validation:XValidation:rule="self.kind == 'CPUStress' || !has(self.cpu)",message="cpu goes with kind CPUStress"
// +kubebuilder:validation:XValidation:rule="self.kind == 'MemoryStress' ? has(self.memory) : !has(self.memory)",message="memory goes with kind MemoryStress, and is needed there"
// +kubebuilder:validation:XValidation:rule="self.kind == 'DiskDelay' ? has(self.disk) : !has(self.disk)",message="disk goes with kind DiskDelay, and is needed there"
// +kubebuilder:validation:XValidation:rule="self.kind == 'ClockOffset' ? has(self.clockOffset) : !has(self.clockOffset)",message="clockOffset goes with kind ClockOffset, and is needed there"
// +kubebuilder:validation:XValidation:rule="self.kind == 'ChaosMesh' ? has(self.chaosMesh) : !has(self.chaosMesh)",message="chaosMesh goes with kind ChaosMesh, and is needed there"
// +kubebuilder:validation:XValidation:rule="self.kind in ['Switchover', 'Failover'] || !has(self.to)",message="to goes with Switchover and Failover alone"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Failover' || !has(self.allowDataLoss) || !self.allowDataLoss",message="allowDataLoss goes with kind Failover alone"
type DrillFault struct {
	// name of the fault in the timeline.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a fault's name has lower-case letters, digits and hyphens alone, and begins and ends with no hyphen, such as cut-dublin"
	Name string `json:"name"`
	// kind of the fault.
	Kind DrillFaultKind `json:"kind"`
	// at is when it begins, counted from the end of the baseline; at once unless given.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="at must be between 0s and 168h; a duration is written like 90s, 12h or 1h30m"
	At *metav1.Duration `json:"at,omitempty"`
	// duration is how long it lasts.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="duration must be between 1s and 24h; a duration is written like 90s, 12h or 1h30m"
	Duration *metav1.Duration `json:"duration,omitempty"`
	// every repeats the fault after that time, counted from its beginning; times says how often.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="every must be between 1s and 24h; a duration is written like 90s, 12h or 1h30m"
	Every *metav1.Duration `json:"every,omitempty"`
	// times is how often the fault is done, 1 unless given.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Times int32 `json:"times,omitempty"`
	// where it strikes.
	// +optional
	Where *FaultPlace `json:"where,omitempty"`
	// peer is the other end of the link; everything else unless given.
	// +optional
	Peer *FaultPlace `json:"peer,omitempty"`
	// direction is Both (default), To or From, as seen from the place named by where.
	// +optional
	Direction FaultDirection `json:"direction,omitempty"`
	// network says what becomes of the link.
	// +optional
	Network *NetworkFault `json:"network,omitempty"`
	// cpu load.
	// +optional
	CPU *CPUFault `json:"cpu,omitempty"`
	// memory load.
	// +optional
	Memory *MemoryFault `json:"memory,omitempty"`
	// disk that becomes slower.
	// +optional
	Disk *DiskFault `json:"disk,omitempty"`
	// clockOffset is by how much the clock is wrong; it may be negative.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^-?(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="clockOffset is a duration, written like 90s, -5m or 1h30m"
	ClockOffset *metav1.Duration `json:"clockOffset,omitempty"`
	// to is the server that becomes primary: of a Switchover the first synchronous secondary unless given, of a Failover
	// the one that has the most.
	// +optional
	To ServerName `json:"to,omitempty"`
	// allowDataLoss lets a Failover promote a replica that may lack acknowledged writes.
	// +optional
	AllowDataLoss bool `json:"allowDataLoss,omitempty"`
	// chaosMesh is an object of Chaos Mesh given literally.
	// +optional
	ChaosMesh *LiteralChaos `json:"chaosMesh,omitempty"`
}

// NetworkFault says what becomes of a link. What is named is added to what the link does anyway.
// +kubebuilder:validation:XValidation:rule="has(self.latency) || has(self.loss) || has(self.rate) || has(self.duplicate) || has(self.corrupt)",message="name at least one of latency, loss, rate, duplicate and corrupt"
// +kubebuilder:validation:XValidation:rule="!has(self.jitter) || has(self.latency)",message="jitter goes with latency"
type NetworkFault struct {
	// latency that is added to each packet in each direction that the fault concerns.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1ms') && duration(self) <= duration('1m')",message="latency must be between 1ms and 1m; a duration is written like 90s, 12h or 1h30m"
	Latency *metav1.Duration `json:"latency,omitempty"`
	// jitter by which the latency differs from packet to packet.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('0s') && duration(self) <= duration('1m')",message="jitter must be between 0s and 1m; a duration is written like 90s, 12h or 1h30m"
	Jitter *metav1.Duration `json:"jitter,omitempty"`
	// loss in percent of the packets.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Loss int32 `json:"loss,omitempty"`
	// duplicate in percent of the packets.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Duplicate int32 `json:"duplicate,omitempty"`
	// corrupt in percent of the packets.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Corrupt int32 `json:"corrupt,omitempty"`
	// rate bounds the bandwidth, as Chaos Mesh and tc write it: bps are bytes, so "512kbps" is 512 kilobytes per second.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,8}(bit|kbit|mbit|gbit|bps|kbps|mbps|gbps)$')",message="rate is a whole number with bit, kbit, mbit, gbit, bps, kbps, mbps or gbps, such as 512kbps"
	Rate string `json:"rate,omitempty"`
}

// CPUFault is load on processors.
type CPUFault struct {
	// workers that burn time, 1 unless given.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Workers int32 `json:"workers,omitempty"`
	// load of each in percent, 100 unless given.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Load int32 `json:"load,omitempty"`
}

// MemoryFault is memory that is taken.
type MemoryFault struct {
	// size that is taken, such as 512MB, or 40% of all.
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,8}(B|KB|MB|GB|%)$')",message="size is a whole number with B, KB, MB, GB or %, such as 512MB or 40%"
	Size string `json:"size"`
}

// DiskFault makes a volume slower.
type DiskFault struct {
	// volume is data, log, tempdb or backup.
	// +kubebuilder:validation:Enum=data;log;tempdb;backup
	Volume string `json:"volume"`
	// delay of each read and write.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1ms') && duration(self) <= duration('1m')",message="delay must be between 1ms and 1m; a duration is written like 90s, 12h or 1h30m"
	Delay metav1.Duration `json:"delay"`
	// percent of the operations that it concerns, 100 unless given.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent,omitempty"`
}

// LiteralChaos is an object of Chaos Mesh given literally. Its name and namespace are the drill's to give; its selector
// may name pods of the drill's namespace alone.
type LiteralChaos struct {
	// site at which it is created.
	Site SiteName `json:"site"`
	// kind of the object, such as DNSChaos, of the API group chaos-mesh.org/v1alpha1.
	// +kubebuilder:validation:Enum=DNSChaos;HTTPChaos;IOChaos;JVMChaos;NetworkChaos;PodChaos;StressChaos;TimeChaos
	Kind string `json:"kind"`
	// spec of the object. It needs a duration, unless its action is done at once. Fields by which it could damage files,
	// run what it is given or reach beyond the target's servers are refused.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec runtime.RawExtension `json:"spec"`
}
