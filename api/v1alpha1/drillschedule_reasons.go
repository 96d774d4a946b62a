// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a DrillSchedule.
const (
	// ReasonScheduled: drills are made when their time comes.
	ReasonScheduled = "Scheduled"
	// ReasonScheduleSuspended: the schedule's spec.suspend is true.
	ReasonScheduleSuspended = "ScheduleSuspended"
	// ReasonScheduleInvalid: the schedule or its timeZone cannot be read.
	ReasonScheduleInvalid = "ScheduleInvalid"
)
