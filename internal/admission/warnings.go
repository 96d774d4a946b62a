// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/topology"
)

// warnServer tells of what a SQLServer declares and no document says of SQL Server on Linux.
func warnServer(s *v1alpha1.SQLServer) admission.Warnings {
	return append(unproved(field.NewPath("spec"), &s.Spec), shaped(field.NewPath("spec"), &s.Spec)...)
}

// warnTopology is warnServer for each server that a Topology declares.
func warnTopology(t *v1alpha1.Topology) admission.Warnings {
	objects, err := topology.Expand(t)
	if err != nil {
		return nil // it is refused
	}
	var all admission.Warnings
	for i, g := range objects.Groups {
		all = append(all, costs(field.NewPath("spec", "availabilityGroups").Index(i), g)...)
	}
	for i, s := range objects.Servers {
		path := field.NewPath("spec", "servers").Index(i)
		all = append(all, unproved(path, &s.Spec)...)
		all = append(all, shaped(path, &s.Spec)...)
	}
	return all
}

// warnGroup tells what the timings of a group's votes cost.
func warnGroup(g *v1alpha1.AvailabilityGroup) admission.Warnings {
	return costs(field.NewPath("spec"), g)
}

const (
	// lateLease is how late an engine may act on the end of its write lease, as Microsoft's agent has it.
	lateLease = 5 * time.Second
	// afterExpiry is what a promotion takes after the votes of a lost primary have expired.
	afterExpiry = 3 * time.Second
)

// costs are what a group's timings cost: the time after which a lost primary is replaced, where the objective leaves
// less, and the engines with which two could write, where the votes expire sooner than Microsoft's agent would wait.
func costs(at *field.Path, g *v1alpha1.AvailabilityGroup) (all admission.Warnings) {
	if g.Spec.ClusterType == v1alpha1.ClusterNone {
		return nil
	}
	t := voteTimings(g)
	way := fmt.Sprintf("takes a voteExpiry of %s", patientExpiry(t))
	if made(g) {
		t = orders.Timings(g.Status.Timings, ballot.DefaultTimings())
		way = "only a group that is made anew can have: this one keeps the timings that its agents count by"
	}
	if late := t.Tolerates(); late < lateLease {
		all = append(all, fmt.Sprintf("%s: two servers may write at a time where an engine acts on the end of its write "+
			"lease more than %s late. Nobody has measured that on SQL Server; Microsoft's agent waits for %s, which %s",
			at.Child("timings"), late.Truncate(100*time.Millisecond), lateLease, way))
	}
	if o := g.Spec.Objectives; o != nil && o.RTO != nil && o.RTO.Duration < t.SuspectAfter()+afterExpiry {
		all = append(all, fmt.Sprintf("%s: the votes of a primary whose end nobody can prove, as of a site that is cut off, "+
			"count for %s, and writes are refused until about %s after that: an rto of %s is not met then",
			at.Child("objectives", "rto"), t.Expiry, afterExpiry, o.RTO.Duration))
	}
	return all
}

// made tells whether a group is there already: then its agents count by the timings that were recorded or, where a
// release before recorded none, by that release's.
func made(g *v1alpha1.AvailabilityGroup) bool {
	return g.Status.Timings != nil || g.Status.GroupID != ""
}

// patientExpiry is the least voteExpiry with which an engine may act on the end of its lease late by lateLease.
func patientExpiry(t ballot.Timings) time.Duration {
	t.Overrun = lateLease
	return t.LeastExpiry()
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

// shaped are what a pod is let be and may cost: an agent that is throttled, volumes that nobody can read.
func shaped(at *field.Path, spec *v1alpha1.SQLServerSpec) (all admission.Warnings) {
	if limit, limited := spec.AgentResources().Limits[corev1.ResourceCPU]; limited {
		all = append(all, fmt.Sprintf("%s: an agent that is throttled at %s misses the lease of its group, and the group "+
			"fails over or stops taking writes: leave the CPU limit out",
			at.Child("agent", "resources", "limits", "cpu"), limit.String()))
	}
	if spec.Pod != nil && spec.Pod.SecurityContext != nil && spec.Pod.SecurityContext.FSGroup == nil {
		all = append(all, fmt.Sprintf("%s: without it the engine can read its volumes and keys only where the site gives "+
			"the pod one, as OpenShift does from the namespace's range", at.Child("pod", "securityContext", "fsGroup")))
	}
	return all
}
