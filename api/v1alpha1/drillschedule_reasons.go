// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a DrillSchedule.
const (
	// ReasonScheduled: drills are made when their time comes.
	ReasonScheduled = "Scheduled"
	// ReasonScheduleSuspended: the schedule's spec.suspend is true.
	ReasonScheduleSuspended = "ScheduleSuspended"
	// ReasonRepeating: drills are made one after another.
	ReasonRepeating = "Repeating"
	// ReasonRepeated: as many drills as were asked for are over.
	ReasonRepeated = "Repeated"
	// ReasonRepeatStopped: a drill ended so that no further one is made; spec.repeat.stopAfter says after which.
	ReasonRepeatStopped = "RepeatStopped"
	// ReasonScheduleInvalid: the schedule or its timeZone cannot be read.
	ReasonScheduleInvalid = "ScheduleInvalid"
)
