// SPDX-License-Identifier: Apache-2.0

// Package ballot decides who wins: it asks the voters of a group in rounds (Ballot), judges whether the next term may
// be claimed (Judge), and which of the fenced replicas that have reported is the best (Decide), by the Timings that all
// agents of a group share.
//
// It knows no Kubernetes client, no file and no engine: a voter is an interface, and what replicas have comes as
// Reports. What a vote looks like on a Lease is in package votes; what a server does with what was decided here, in
// package keeper.
package ballot
