// SPDX-License-Identifier: Apache-2.0

// Package election says who may write: the votes that a primary holds at an odd number of API servers, and what its
// agent does with them.
//
// The holder of a group's votes renews them every Timings.Renew at all voters in parallel. With a majority it renews
// the engine's write lease; without one it lets the lease run out, takes the group OFFLINE and in the end kills the
// engine. After a restart the last holder claims a new term and fails over to itself. When the holder is gone, or a
// person asks for another primary, a candidate claims the next term, fences the other replicas, decides by what they
// report, and has the engine fail over: claim.go, fence.go, decide.go, promote.go.
//
// What is kept in files, and what is asked of engines and of other agents, comes through Memory, Engine and Peers.
package election
