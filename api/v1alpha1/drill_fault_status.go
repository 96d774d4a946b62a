// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FaultState says how far a fault is.
type FaultState string

const (
	// FaultWaiting for its time.
	FaultWaiting FaultState = "Waiting"
	// FaultInjecting has been resolved to objects, which are being created.
	FaultInjecting FaultState = "Injecting"
	// FaultActive has been injected and lasts.
	FaultActive FaultState = "Active"
	// FaultRemoving is over; its objects are being taken away.
	FaultRemoving FaultState = "Removing"
	// FaultRemoved leaves nothing behind.
	FaultRemoved FaultState = "Removed"
	// FaultSkipped was never injected, because the drill ended before its time or it could not be resolved.
	FaultSkipped FaultState = "Skipped"
)

// FaultObject names an object that a fault consists of.
type FaultObject struct {
	// site at which it is; empty for the hub.
	// +optional
	Site string `json:"site,omitempty"`
	// apiVersion of the object.
	APIVersion string `json:"apiVersion"`
	// kind of the object.
	Kind string `json:"kind"`
	// namespace of the object.
	Namespace string `json:"namespace"`
	// name of the object.
	Name string `json:"name"`
	// injected says that its controller has reported it as injected everywhere.
	// +optional
	Injected bool `json:"injected,omitempty"`
	// gone says that it was seen to be away.
	// +optional
	Gone bool `json:"gone,omitempty"`
	// message when it could not be created, injected or taken away.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// ProbeFigures are what probes between pods saw, through the names that engines use.
type ProbeFigures struct {
	// from is the server in whose pod the probe ran, to the address as the engines write it.
	From string `json:"from"`
	// to is the name that was connected to.
	To string `json:"to"`
	// attempts to open a TCP connection.
	Attempts int32 `json:"attempts"`
	// failures of them, time-outs included.
	Failures int32 `json:"failures"`
	// connect is the median time of those that succeeded: one round trip.
	// +optional
	Connect *metav1.Duration `json:"connect,omitempty"`
	// slowest of those that succeeded; a lost packet of the handshake shows as a second or more.
	// +optional
	Slowest *metav1.Duration `json:"slowest,omitempty"`
	// transfer over one of the connections; only where loss, duplicates, corruption or bandwidth were asked for.
	// +optional
	Transfer *TransferFigures `json:"transfer,omitempty"`
}

// TransferFigures are what the sender's kernel tells of data that was sent for a second or two.
type TransferFigures struct {
	// segments with data that were sent.
	Segments int64 `json:"segments"`
	// resent segments among them: lost, or thrown away for their checksum.
	Resent int64 `json:"resent"`
	// duplicates that the receiver reported.
	Duplicates int64 `json:"duplicates"`
	// kilobitsPerSecond that were acknowledged.
	KilobitsPerSecond int64 `json:"kilobitsPerSecond"`
}

// EffectMeasure is what an EffectFigure measures.
// +kubebuilder:validation:Enum=StressProcessorsMilli;StressMemoryKB;ClockOffsetMS
type EffectMeasure string

const (
	// MeasureProcessors is the processor time, in thousandths of a processor, of processes in the server's pod that are
	// neither the engine's nor the agent's.
	MeasureProcessors EffectMeasure = "StressProcessorsMilli"
	// MeasureMemory is the memory, in KB, that those processes hold.
	MeasureMemory EffectMeasure = "StressMemoryKB"
	// MeasureClock is by how many milliseconds the engine's clock is ahead of the operator's.
	MeasureClock EffectMeasure = "ClockOffsetMS"
)

// EffectFigure is what was measured at one server.
type EffectFigure struct {
	// server in whose pod it was measured.
	Server string `json:"server"`
	// measure and its unit: StressProcessorsMilli, StressMemoryKB or ClockOffsetMS.
	Measure EffectMeasure `json:"measure"`
	// before is the value from before the fault; empty when it could not be measured.
	// +optional
	Before *int64 `json:"before,omitempty"`
	// during is the value while the fault lasted; empty when it could not be measured.
	// +optional
	During *int64 `json:"during,omitempty"`
	// after is the value when the fault was over; empty when it could not be measured.
	// +optional
	After *int64 `json:"after,omitempty"`
}

// FaultEffect is what was asked for and what was seen of it.
type FaultEffect struct {
	// status is True when the effect was seen, False when it was looked for and not there, Unknown when nobody could look.
	Status metav1.ConditionStatus `json:"status"`
	// asked is what the fault should do.
	// +optional
	Asked string `json:"asked,omitempty"`
	// seen is what it was seen to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Seen string `json:"seen,omitempty"`
	// operator is what the operator's own record says of a switchover or failover. It stands beside what clients saw, and
	// decides nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Operator string `json:"operator,omitempty"`
	// endedEarly is when it was first seen not to be in force any more though it should last; status stays False from
	// then on.
	// +optional
	EndedEarly *metav1.MicroTime `json:"endedEarly,omitempty"`
	// since is from when on it can have been in force: when it was looked for last without being there, or up to ten
	// seconds before it was first seen.
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// until is when it was last seen to be in force.
	// +optional
	Until *metav1.MicroTime `json:"until,omitempty"`
	// unseen is how much of the time between since and until lies more than ten seconds beside every look that saw it.
	// +optional
	Unseen *metav1.Duration `json:"unseen,omitempty"`
	// identity is what ran before the fault: of each server struck, apart by blanks, its name, its pod's UID, the
	// engine's container, how often that was started, and whether it was ready. It ends after the UID while the
	// kubelet has not reported the container; none stands for a pod that was not there, unknown for one at a site that
	// did not answer.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Identity []string `json:"identity,omitempty"`
	// before has the probes' figures from before the fault.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Before []ProbeFigures `json:"before,omitempty"`
	// during has those from while it lasted.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	During []ProbeFigures `json:"during,omitempty"`
	// after has those from when it was over.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	After []ProbeFigures `json:"after,omitempty"`
	// figures that were measured at servers.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Figures []EffectFigure `json:"figures,omitempty"`
}

// FaultBounds are the looks between which the moments of a fault lie. What is missing was not looked at.
type FaultBounds struct {
	// begunBy is when the first of it was there; injected is when it was asked for.
	// +optional
	BegunBy *metav1.MicroTime `json:"begunBy,omitempty"`
	// stillThere is when something of it was last seen while it was taken back.
	// +optional
	StillThere *metav1.MicroTime `json:"stillThere,omitempty"`
	// goneBy is the end of the look that found nothing of it any more, of which removed is the beginning.
	// +optional
	GoneBy *metav1.MicroTime `json:"goneBy,omitempty"`
	// stillCut is when what it did was last seen after it was removed.
	// +optional
	StillCut *metav1.MicroTime `json:"stillCut,omitempty"`
	// openBy is when all was first seen to be as before it.
	// +optional
	OpenBy *metav1.MicroTime `json:"openBy,omitempty"`
	// behind is when all replicas were asked, after it, and not all were synchronized, the last time.
	// +optional
	Behind *metav1.MicroTime `json:"behind,omitempty"`
}

// FaultStatus is one fault as it was done. A fault that is repeated has one entry for each time, NAME-1, NAME-2 and so
// on.
type FaultStatus struct {
	// name of the fault.
	Name string `json:"name"`
	// kind of the fault.
	Kind DrillFaultKind `json:"kind"`
	// state of the fault.
	State FaultState `json:"state"`
	// targets that it struck: servers or sites as they were found when its time came.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Targets []string `json:"targets,omitempty"`
	// planned is when it should begin.
	// +optional
	Planned *metav1.MicroTime `json:"planned,omitempty"`
	// injected is when the first of its objects was created.
	// +optional
	Injected *metav1.MicroTime `json:"injected,omitempty"`
	// removed is when it was taken back, or was over.
	// +optional
	Removed *metav1.MicroTime `json:"removed,omitempty"`
	// settled is when all replicas were seen synchronized again.
	// +optional
	Settled *metav1.MicroTime `json:"settled,omitempty"`
	// bounds of these moments.
	// +optional
	Bounds *FaultBounds `json:"bounds,omitempty"`
	// effect that was seen.
	// +optional
	Effect *FaultEffect `json:"effect,omitempty"`
	// isolated are sites whose clients the fault itself kept from reaching anything: that time of theirs is not judged.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Isolated []string `json:"isolated,omitempty"`
	// objects that it consists of.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Objects []FaultObject `json:"objects,omitempty"`
	// message when it was skipped or went wrong.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// FaultClientFigures are what the clients of one site saw of one fault.
type FaultClientFigures struct {
	// fault as in status.faults.
	Fault string `json:"fault"`
	// client is the site of the clients.
	Client string `json:"client"`
	// isolated says that the fault itself kept them from reaching anything.
	// +optional
	Isolated bool `json:"isolated,omitempty"`
	// rto is the longest time that a user went without service around the fault: from an acknowledgement to the next one
	// from which on service held, as spec.objectives.served says, without the time in which faults kept him from reaching
	// anything. Of every hundred users the worst one does not count.
	// +optional
	RTO *metav1.Duration `json:"rto,omitempty"`
	// bound is by how much rto may have been less: by clocks that differ, since nobody looks all the time at what cuts
	// clients off, and since nobody knows when a change would have been taken that was not tried.
	// +optional
	Bound *metav1.Duration `json:"bound,omitempty"`
	// firstServed is what rto would be if the next acknowledgement were enough; empty where it was, since histories of an
	// earlier release do not tell more.
	// +optional
	FirstServed *metav1.Duration `json:"firstServed,omitempty"`
	// firstBound is by how much firstServed may have been less.
	// +optional
	FirstBound *metav1.Duration `json:"firstBound,omitempty"`
	// usual is the median time between two acknowledgements of a user before the fault.
	// +optional
	Usual *metav1.Duration `json:"usual,omitempty"`
	// stall is how long the slowest acknowledged operation took, by the client's own clock.
	// +optional
	Stall *metav1.Duration `json:"stall,omitempty"`
}

// UndisturbedFigures are what the clients of one site saw of the baseline, from one acknowledgement to the next: that
// service holds from there on, by which rto of a fault goes, is not asked of them.
type UndisturbedFigures struct {
	// client is the site of the clients.
	Client string `json:"client"`
	// longest time between two acknowledgements of a user, to be seen against firstServed of a fault. Of every hundred
	// users the worst one does not count.
	// +optional
	Longest *metav1.Duration `json:"longest,omitempty"`
	// bound is by how much longest may have been less.
	// +optional
	Bound *metav1.Duration `json:"bound,omitempty"`
	// stall is how long the slowest acknowledged operation took, by the client's own clock.
	// +optional
	Stall *metav1.Duration `json:"stall,omitempty"`
	// message says why nothing was measured.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
