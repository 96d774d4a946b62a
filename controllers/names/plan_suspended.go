// SPDX-License-Identifier: Apache-2.0

package names

import (
	"maps"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
)

// planSuspended is plan for an object that is suspended: names that it has declared before are not taken away. A
// listener's lead where its names of now do, for it would lead into a former primary otherwise.
func planSuspended(
	site v1alpha1.SiteName,
	desired []name,
	labels map[string]string,
	has map[string]published,
) ([]step, []conflict) {
	declared := slices.Clone(desired)
	wanted := map[string]published{}
	for _, n := range desired {
		wanted[n.service] = has[n.service]
	}
	for _, service := range slices.Sorted(maps.Keys(has)) {
		at := has[service]
		if _, is := wanted[service]; is || labels[v1alpha1.LabelGroup] == "" || at.service == nil ||
			!owned(at.service, labels) {
			continue
		}
		like := func(n name) bool {
			return strings.HasSuffix(n.service, readOnlySuffix) == strings.HasSuffix(service, readOnlySuffix)
		}
		if i := slices.IndexFunc(desired, like); i >= 0 {
			former := desired[i]
			former.service = service
			declared, wanted[service] = append(declared, former), at
		}
	}
	return plan(site, declared, labels, wanted)
}

// planOf is the plan for the names of an object, which may be suspended.
func planOf(
	suspended bool,
	site v1alpha1.SiteName,
	desired []name,
	labels map[string]string,
	has map[string]published,
) ([]step, []conflict) {
	if suspended {
		return planSuspended(site, desired, labels, has)
	}
	return plan(site, desired, labels, has)
}
