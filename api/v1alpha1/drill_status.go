// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DrillPhase says how far a drill is.
type DrillPhase string

const (
	// DrillPending waits: for its target to be well, or for another drill on it to end; reason says for what.
	DrillPending DrillPhase = "Pending"
	// DrillPreparing starts the clients.
	DrillPreparing DrillPhase = "Preparing"
	// DrillBaseline measures what clients see before anything is broken.
	DrillBaseline DrillPhase = "Baseline"
	// DrillRunning injects the faults.
	DrillRunning DrillPhase = "Running"
	// DrillRecovering has taken back every fault and waits until all is well again.
	DrillRecovering DrillPhase = "Recovering"
	// DrillJudging gathers the histories and judges them.
	DrillJudging DrillPhase = "Judging"
	// DrillCompleted is over: verdict says how it ended.
	DrillCompleted DrillPhase = "Completed"
)

// DrillVerdict is what a drill has shown.
type DrillVerdict string

const (
	// VerdictPassed: enough was seen, and every objective was met.
	VerdictPassed DrillVerdict = "Passed"
	// VerdictFailed: an objective was missed, or something was seen that must never be.
	VerdictFailed DrillVerdict = "Failed"
	// VerdictInconclusive: not enough was seen to say that all objectives were met. Never a pass.
	VerdictInconclusive DrillVerdict = "Inconclusive"
)

// ObjectiveResult is one objective with what was measured.
type ObjectiveResult struct {
	// name as in spec.objectives. Every drill has three besides: evidence (enough rows, every history, every readable
	// replica), effect (every fault was seen to take effect and to be over) and consistency (no row twice, none that
	// nobody wrote, equal copies, no two servers that acknowledged at a time, registers linearizable as far as that can be
	// told).
	Name string `json:"name"`
	// verdict on this objective.
	Verdict DrillVerdict `json:"verdict"`
	// goal with its unit.
	Goal string `json:"goal"`
	// measured value with its unit; empty when nothing could be measured.
	// +optional
	Measured string `json:"measured,omitempty"`
	// bound is by how much the measured time may be wrong, by clocks that differ and since nobody looks all the time;
	// empty where it is exact or no time. A goal within it is neither met nor missed.
	// +optional
	Bound *metav1.Duration `json:"bound,omitempty"`
	// evidence says where the value comes from: which fault, client, replica, row, of how many.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Evidence string `json:"evidence,omitempty"`
}

// ControlResult says what became of a planted error.
// +kubebuilder:validation:Enum=Found;NotFound;NothingToPlantIn
type ControlResult string

const (
	// ControlFound: the code that gives the verdict found it.
	ControlFound ControlResult = "Found"
	// ControlNotFound: it did not, so that the same error of the run may have been overlooked.
	ControlNotFound ControlResult = "NotFound"
	// ControlNothing: the run did nothing that it could be planted in. That it would be found was not shown.
	ControlNothing ControlResult = "NothingToPlantIn"
)

// DrillControl is an error that was planted in a copy of the run's evidence, to show that it would be found.
type DrillControl struct {
	// planted is the error.
	// +kubebuilder:validation:MaxLength=128
	Planted string `json:"planted"`
	// result is Found, NotFound or NothingToPlantIn.
	Result ControlResult `json:"result"`
	// evidence says how it was seen, or why there was nothing to plant it in.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Evidence string `json:"evidence,omitempty"`
}

// DrillEvent is a moment of the timeline.
type DrillEvent struct {
	// time by the clock of the operator, or of the agent that noted it.
	Time metav1.MicroTime `json:"time"`
	// event: Started, BaselineMeasured, Injected, EffectSeen, EffectEnded, DaemonGone, DaemonBack, EngineRuns, Removed,
	// Suspected, Claimed, Fenced, Promoted, FirstWrite, AllSynchronized, Synchronized, Aborted, TimeLimit,
	// ServedAgain, Recovered, NotRecovered, Judged.
	Event string `json:"event"`
	// fault that it belongs to, as in status.faults.
	// +optional
	Fault string `json:"fault,omitempty"`
	// site that it was seen at; of DaemonGone and DaemonBack.
	// +optional
	Site string `json:"site,omitempty"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// DrillCounts are rows.
type DrillCounts struct {
	// attempted rows were sent.
	Attempted int64 `json:"attempted"`
	// acknowledged rows were confirmed to their client.
	Acknowledged int64 `json:"acknowledged"`
	// failed rows were refused.
	Failed int64 `json:"failed"`
	// unknown rows were sent and no answer came: neither lost nor acknowledged.
	Unknown int64 `json:"unknown"`
	// unknownPresent are those of unknown outcome that are there.
	UnknownPresent int64 `json:"unknownPresent"`
	// lost rows were acknowledged and are missing from a replica.
	Lost int64 `json:"lost"`
	// failedPresent rows are there although their client was told that they failed.
	FailedPresent int64 `json:"failedPresent"`
	// duplicated rows are there more than once.
	Duplicated int64 `json:"duplicated"`
	// phantom rows are there and nobody wrote them.
	Phantom int64 `json:"phantom"`
	// diverging rows are in some replicas and not in others.
	Diverging int64 `json:"diverging"`
	// altered rows do not have in a copy what was written, or not what another copy has.
	// +optional
	Altered int64 `json:"altered,omitempty"`
	// torn rows are parts of a transaction of which another part is not there.
	// +optional
	Torn int64 `json:"torn,omitempty"`
}

// DrillClient is the clients of one site.
type DrillClient struct {
	// site at which they run.
	Site string `json:"site"`
	// pod in which they run.
	Pod string `json:"pod"`
	// ready says that they have been acknowledged something.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// lastAcknowledged is when the newest acknowledged operation that is known was sent, by the operator's clock.
	// +optional
	LastAcknowledged *metav1.MicroTime `json:"lastAcknowledged,omitempty"`
	// clock is how the clock of their machine was first compared with the operator's.
	// +optional
	Clock *DrillClock `json:"clock,omitempty"`
	// clockBound is by how much, by all comparisons, an instant of theirs may lie beside what it is taken for.
	// +optional
	ClockBound *metav1.Duration `json:"clockBound,omitempty"`
	// clockStrayed is by how much at least their machine's clock and the operator's moved against each other in the run:
	// one of them drifted, or was set. Empty where a constant difference explains every comparison.
	// +optional
	ClockStrayed *metav1.Duration `json:"clockStrayed,omitempty"`
	// fetched says that their histories are in the drill's archive.
	// +optional
	Fetched bool `json:"fetched,omitempty"`
	// message of what went wrong.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// DrillClock is what the clock of a machine showed between two moments of the operator's.
type DrillClock struct {
	// boot of the machine, as its kernel names it.
	// +kubebuilder:validation:MaxLength=64
	Boot string `json:"boot"`
	// monotonic is what its clock showed that counts from its start, in nanoseconds (CLOCK_BOOTTIME).
	Monotonic int64 `json:"monotonic"`
	// sent is when it was asked, by the operator's clock.
	Sent metav1.MicroTime `json:"sent"`
	// received is when the answer was there, by the operator's clock.
	Received metav1.MicroTime `json:"received"`
}

// DrillArrival is how the drill's rows came to one place.
type DrillArrival struct {
	// server at which they were looked for.
	Server string `json:"server"`
	// kind of the place: Secondary or Subscriber.
	Kind string `json:"kind"`
	// acknowledged rows that had to come there.
	Acknowledged int64 `json:"acknowledged"`
	// seen is how many of them were seen to come, as they came.
	Seen int64 `json:"seen"`
	// p50 is the time from writing to arrival within which half of all came that had to come; empty when too few were
	// seen.
	// +optional
	P50 *metav1.Duration `json:"p50,omitempty"`
	// p99 is the time within which 99 of 100 came; empty when too few were seen.
	// +optional
	P99 *metav1.Duration `json:"p99,omitempty"`
	// uncertainty by which the two clocks may differ, as it was measured; empty when it could not be.
	// +optional
	Uncertainty *metav1.Duration `json:"uncertainty,omitempty"`
	// delivered rows are there at the end; of a Subscriber alone.
	// +optional
	Delivered int64 `json:"delivered,omitempty"`
	// undelivered rows were acknowledged and are not there, with none behind them that is.
	// +optional
	Undelivered int64 `json:"undelivered,omitempty"`
	// lost rows were acknowledged and are not there, though later ones of the same user are.
	// +optional
	Lost int64 `json:"lost,omitempty"`
	// phantom rows are there, and the publisher does not have them.
	// +optional
	Phantom int64 `json:"phantom,omitempty"`
	// message when nobody could look.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// DrillVersion is what ran.
type DrillVersion struct {
	// component: geosql, kubernetes, clients, the name of a server, or chaos-mesh and its part.
	Component string `json:"component"`
	// site where it ran; empty for the hub.
	// +optional
	Site string `json:"site,omitempty"`
	// version as it says itself.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Version string `json:"version,omitempty"`
	// image that was asked for.
	// +optional
	Image string `json:"image,omitempty"`
	// digest of the image that ran, as the kubelet reports it.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// DrillArchive says where histories and samples are kept. The report is made of them.
type DrillArchive struct {
	// name of the ConfigMap that lists the others, in the drill's namespace of the hub.
	Name string `json:"name"`
	// chunks is the number of the others.
	Chunks int32 `json:"chunks"`
	// bytes of all chunks, compressed.
	Bytes int64 `json:"bytes"`
	// sha256 of the whole, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// PlannedObject is an object that a dry run would create.
type PlannedObject struct {
	// fault that it belongs to; empty for what belongs to the drill, such as clients.
	// +optional
	Fault string `json:"fault,omitempty"`
	// site at which it would be created; empty for the hub.
	// +optional
	Site string `json:"site,omitempty"`
	// at is when, counted from the end of the baseline.
	// +optional
	At *metav1.Duration `json:"at,omitempty"`
	// manifest of the object, as YAML.
	// +kubebuilder:validation:MaxLength=16384
	Manifest string `json:"manifest"`
}

// DrillRunSummary is a run that is over.
type DrillRunSummary struct {
	// runID of the run.
	RunID string `json:"runID"`
	// verdict of the run.
	Verdict DrillVerdict `json:"verdict"`
	// reason of the verdict.
	// +optional
	Reason string `json:"reason,omitempty"`
	// completed is when it ended.
	// +optional
	Completed *metav1.MicroTime `json:"completed,omitempty"`
}

// DrillStatus is the observed state of a drill, and its result.
type DrillStatus struct {
	StatusBase `json:",inline"`
	// runID of the run that this status speaks of.
	// +optional
	RunID string `json:"runID,omitempty"`
	// phase of the run.
	// +optional
	Phase DrillPhase `json:"phase,omitempty"`
	// verdict is Passed, Failed or Inconclusive, once the run is Completed; empty before, and after a dry run.
	// +optional
	Verdict DrillVerdict `json:"verdict,omitempty"`
	// reason of phase or verdict, in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message for people: what is so, and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// group that is drilled, as the target was resolved.
	// +optional
	Group string `json:"group,omitempty"`
	// subscription that is drilled, as the target was resolved.
	// +optional
	Subscription string `json:"subscription,omitempty"`
	// database that clients write to.
	// +optional
	Database string `json:"database,omitempty"`
	// recordedAfter is the greatest Id of dbo.Recorded from before the clients began: what lies above belongs to the run.
	// +optional
	RecordedAfter *int64 `json:"recordedAfter,omitempty"`
	// soldBefore is how many of each book of the workload's store had been sold before the clients began, as BOOK:SOLD
	// apart by blanks, without those of which none was; absent where the workload has no store.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	SoldBefore *string `json:"soldBefore,omitempty"`
	// accepted is when the run was begun; the time limit counts from it.
	// +optional
	Accepted *metav1.MicroTime `json:"accepted,omitempty"`
	// baseline is when clients of every site were first acknowledged: the baseline begins.
	// +optional
	Baseline *metav1.MicroTime `json:"baseline,omitempty"`
	// started is when the baseline had been measured; the times of the faults count from it.
	// +optional
	Started *metav1.MicroTime `json:"started,omitempty"`
	// ended is when the last fault was over, or the drill was aborted.
	// +optional
	Ended *metav1.MicroTime `json:"ended,omitempty"`
	// completed is when the verdict was reached.
	// +optional
	Completed *metav1.MicroTime `json:"completed,omitempty"`
	// abortReason is why the drill was ended early.
	// +optional
	AbortReason string `json:"abortReason,omitempty"`
	// objectives with what was measured.
	// +optional
	// +kubebuilder:validation:MaxItems=24
	// +listType=map
	// +listMapKey=name
	Objectives []ObjectiveResult `json:"objectives,omitempty"`
	// controls are errors that were planted in copies of the evidence, and what became of them. One that was not found
	// makes the verdict Inconclusive.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=planted
	Controls []DrillControl `json:"controls,omitempty"`
	// counts of rows.
	// +optional
	Counts *DrillCounts `json:"counts,omitempty"`
	// figures of each fault and client.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Figures []FaultClientFigures `json:"figures,omitempty"`
	// undisturbed is what the clients of each site saw of the baseline, in which nothing was done to the target: what the
	// figures of faults are to be seen against.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=client
	Undisturbed []UndisturbedFigures `json:"undisturbed,omitempty"`
	// faults as they were done.
	// +optional
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=name
	Faults []FaultStatus `json:"faults,omitempty"`
	// timeline of the run.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	Timeline []DrillEvent `json:"timeline,omitempty"`
	// clients of the run.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=site
	Clients []DrillClient `json:"clients,omitempty"`
	// arrivals of the rows at the subscriber and at readable secondaries, when they were looked for.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=server
	Arrivals []DrillArrival `json:"arrivals,omitempty"`
	// versions of what ran.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Versions []DrillVersion `json:"versions,omitempty"`
	// archive of histories and samples.
	// +optional
	Archive *DrillArchive `json:"archive,omitempty"`
	// plan of a dry run: every object that it would create, as far as there is room; message says how many there are.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Plan []PlannedObject `json:"plan,omitempty"`
	// former runs of this drill, newest first.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	History []DrillRunSummary `json:"history,omitempty"`
}
