// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"
)

// ClassNotFoundError says that a storage class does not exist.
type ClassNotFoundError struct {
	// Class that was asked for; empty when the default class was and there is none.
	Class string
	// Roles that ask for it.
	Roles []Role
	// Existing classes, sorted.
	Existing []string
}

// Error names the class, who asks for it and which classes exist.
func (e *ClassNotFoundError) Error() string {
	existing := "the cluster has no storage classes"
	if len(e.Existing) > 0 {
		existing = "existing classes: " + strings.Join(e.Existing, ", ")
	}
	if e.Class == "" {
		return fmt.Sprintf(
			"there is no default storage class for %s: set storageClassName or the site's storageClasses; %s",
			roleList(e.Roles),
			existing,
		)
	}
	return fmt.Sprintf("storage class %s for %s does not exist; %s", e.Class, roleList(e.Roles), existing)
}

// NoNodeError says that no node can serve all volumes.
type NoNodeError struct {
	// Reason explains which class allows or excludes which nodes.
	Reason string
}

// Error is the reason.
func (e *NoNodeError) Error() string { return e.Reason }

func roleList(roles []Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}
