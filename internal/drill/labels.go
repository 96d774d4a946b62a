// SPDX-License-Identifier: Apache-2.0

package drill

import "geosql.dev/operator/api/v1alpha1"

// Labels of everything that a run makes.
func Labels(namespace, drill, runID string) map[string]string {
	return map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelNamespace: namespace,
		v1alpha1.LabelDrill: drill, v1alpha1.LabelDrillRun: runID}
}
