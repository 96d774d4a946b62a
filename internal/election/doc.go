// SPDX-License-Identifier: Apache-2.0

// Package election says who may write: the votes that a primary holds at an odd number of API servers, and what its
// agent does with them.
//
// The holder of a group's votes renews them every Timings.Renew at all voters in parallel. With a majority it renews
// the engine's write lease; without one it lets the lease run out, takes the group OFFLINE and in the end kills the
// engine. After a restart the last holder claims a new term and fails over to itself. Once a holder's votes have
// expired or were released, another synchronous replica may claim the next term: it has the others promise and report,
// yields to one that has more, and is made primary by FAILOVER; by force only where a person allows data loss, with
// the cost on record first. All others follow.
//
// Record, Configuration and Lease are what is written, and know no engine; a Ballot asks the voters; a Keeper is one
// server's part. It reaches engines, other agents and disks by interfaces alone.
package election
