// SPDX-License-Identifier: Apache-2.0

// Package election says who may write: the votes that a primary holds at an odd number of API servers, and what its
// agent does with them.
//
// The holder of a group's votes renews them every Timings.Renew at all voters in parallel. With a majority it renews
// the engine's write lease; without one it lets the lease run out, takes the group OFFLINE and in the end kills the
// engine. After a restart the last holder claims a new term and fails over to itself. Promotion of another replica is
// not part of this package; Record and Ballot are made so that it can be.
package election
