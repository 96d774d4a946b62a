// SPDX-License-Identifier: Apache-2.0

// Package keeper is one server's part in its group's election, for one run of its engine: step by step it renews the
// votes and the engine's write lease, claims and is made primary, carries out what people ask for, or follows; and it
// serves no longer than its votes count.
//
// It knows no Kubernetes client, no file and no engine: it reaches its Engine, the other agents (Peers) and its Memory
// by interfaces alone, which internal/agent/holder has. Who wins is decided in package ballot; what stands on the
// Leases is in package votes.
package keeper
