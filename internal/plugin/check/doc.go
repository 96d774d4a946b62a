// SPDX-License-Identifier: Apache-2.0

// Package check has the command that looks at clusters before and after they are joined: what stands in the way of
// servers there, and what to change. What is observed (observe.go, rights.go) is judged by functions that ask nobody
// (judge.go, storage.go, network.go, declared.go).
package check
