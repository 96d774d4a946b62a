// SPDX-License-Identifier: Apache-2.0

// Package votes is what stands on a group's Leases, and the client that reads and swaps one: the vote (Record), who
// votes (Configuration), and the notes beside it: requests and answers, timelines, forks, quarantined replicas.
//
// Nothing here decides who may write, knows an engine, or keeps time: several votes are counted in package ballot next
// door. What people and the manager write on Leases goes through package requests.
package votes
