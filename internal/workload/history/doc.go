// SPDX-License-Identifier: Apache-2.0

// Package history records what clients of a database did, one operation at a time, and judges it afterwards against
// what the replicas have: which acknowledged rows are lost, which unacknowledged ones are there, which are there twice
// and which nobody wrote; whether two servers acknowledged in overlapping terms; how long clients went without an
// acknowledgement.
//
// A history is only evidence if nothing was done that is not in it: an operation is in the file before it is sent.
// An operation whose end is not in the file has an unknown outcome, never a failed one.
package history
