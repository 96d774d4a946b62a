// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/topology"
)

// warnServer tells of what a SQLServer declares and no document says of SQL Server on Linux.
func warnServer(s *v1alpha1.SQLServer) admission.Warnings {
	return unproved(field.NewPath("spec"), &s.Spec)
}

// warnTopology is warnServer for each server that a Topology declares.
func warnTopology(t *v1alpha1.Topology) admission.Warnings {
	objects, err := topology.Expand(t)
	if err != nil {
		return nil // it is refused
	}
	var all admission.Warnings
	for i, s := range objects.Servers {
		all = append(all, unproved(field.NewPath("spec", "servers").Index(i), &s.Spec)...)
	}
	return all
}

// unproved are the settings of which it is not known that the engine takes them on Linux.
func unproved(at *field.Path, spec *v1alpha1.SQLServerSpec) admission.Warnings {
	if spec.Startup == nil || spec.Startup.CheckpointThrottleMBps == nil {
		return nil
	}
	return admission.Warnings{fmt.Sprintf(
		"%s becomes the startup option -k%d, which is documented for SQL Server on Windows: whether the engine on Linux "+
			"takes it shows the line of its error log with the startup parameters; where the engine does not start, take it out",
		at.Child("startup", "checkpointThrottleMBps"), *spec.Startup.CheckpointThrottleMBps)}
}
