// SPDX-License-Identifier: Apache-2.0

package sqlerr

// agentFormats are the messages of SQL Server Agent's procedures.
var agentFormats = map[int32]string{
	14226: "%v history entries purged.",
	14243: "Job '%v' started successfully.",
	14254: "Job '%v' stopped successfully.",
	14256: "Cannot start job '%v' (ID %v) because it does not have any job server(s) defined. Add one with " +
		"sp_add_jobserver.",
	14266: "The specified '%v' is invalid (valid values are: %v).",
	14269: "Job '%v' is already targeted at server '%v'.",
	14276: "'%v' is a permanent %v category and cannot be deleted.",
	14278: "The schedule for this job is invalid (reason: %v).",
	14280: "Supply either a job, by its name or id, or one or more filters of jobs.",
	14282: "Supply a date (created or last modified) together with a comparator, or neither of them.",
	14284: "Cannot specify a job ID for a new job. An ID will be assigned by the procedure.",
	14287: "The value of '%v' has an invalid %v.",
	14288: "%v cannot be before %v.",
	14372: "The schedule was not deleted because it is being used by one or more jobs.",
	14373: "Supply either %v or %v to identify the schedule.",
	14374: "Schedule '%v' is not attached to job '%v'.",
	22022: "SQLServerAgent Error: %v",
}
