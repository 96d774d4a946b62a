// SPDX-License-Identifier: Apache-2.0

// Package admission refuses objects that contradict other objects: what a CEL rule in the schema cannot see. What is
// merely not there yet is allowed, since manifests are applied in any order; the controllers report it as a condition.
package admission
