// SPDX-License-Identifier: Apache-2.0

// Package election has no code of its own. Its folders say who may write: the votes that a primary holds at an odd
// number of API servers, and what its agent does with them.
//
// The holder of a group's votes renews them every ballot.Timings.Renew at all voters in parallel. With a majority it
// renews the engine's write lease; without one it lets the lease run out, takes the group OFFLINE and in the end kills
// the engine. After a restart the last holder claims a new term and fails over to itself. Once a holder's votes have
// expired or were released, another synchronous replica may claim the next term: it has the others promise and report,
// yields to one that has more, and is made primary by FAILOVER; by force only where a person allows data loss, with
// the cost on record first. All others follow.
//
// What is written on a Lease is in votes, what people ask of an election in requests, how the votes and the reports of
// replicas decide in ballot, and one server's part in keeper. keeper imports ballot and votes, ballot and requests
// import votes, and votes imports none of them.
package election
