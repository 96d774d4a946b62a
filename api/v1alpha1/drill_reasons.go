// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a Drill, before its end and of its verdict.
const (
	// ReasonTargetMissing: what the drill is about, or a part of it, is not there.
	ReasonTargetMissing = "TargetMissing"
	// ReasonNotAllowed: the target lacks the label geosql.dev/drills: allowed.
	ReasonNotAllowed = "NotAllowed"
	// ReasonDrillsNotGranted: the manager lacks the rights that drills need at a site; `kubectl geosql site join SITE
	// --drills` grants them.
	ReasonDrillsNotGranted = "DrillsNotGranted"
	// ReasonTargetUnwell: the target is not Ready; a drill begins on one that is well.
	ReasonTargetUnwell = "TargetUnwell"
	// ReasonDrillWaiting: the drill waits for its turn.
	ReasonDrillWaiting = "DrillWaiting"
	// ReasonRunOver: a run of that runID is over already; another runID is needed to run again.
	ReasonRunOver = "RunOver"
	// ReasonDrillPreparing: clients are started.
	ReasonDrillPreparing = "DrillPreparing"
	// ReasonDrillBaseline: what clients see without faults is measured.
	ReasonDrillBaseline = "DrillBaseline"
	// ReasonDrillRunning: faults are injected.
	ReasonDrillRunning = "DrillRunning"
	// ReasonDrillRecovering: every fault is over, or being taken back, and the replicas catch up.
	ReasonDrillRecovering = "DrillRecovering"
	// ReasonDrillJudging: histories are gathered and judged.
	ReasonDrillJudging = "DrillJudging"
	// ReasonDrillAborted: the drill was ended before anything was done.
	ReasonDrillAborted = "DrillAborted"
	// ReasonDryRun: the plan in its status shows what the drill would create.
	ReasonDryRun = "DryRun"
	// ReasonObjectivesMet: the drill has passed.
	ReasonObjectivesMet = "ObjectivesMet"
	// ReasonObjectivesMissed: the drill has failed; status.objectives says which.
	ReasonObjectivesMissed = "ObjectivesMissed"
	// ReasonEvidenceMissing: the drill is inconclusive; status.objectives says what could not be told.
	ReasonEvidenceMissing = "EvidenceMissing"
)
