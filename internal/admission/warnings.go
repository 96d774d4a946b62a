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

var top = field.NewPath("spec")

// warnServer tells of what a SQLServer declares that is a risk, waits for its site, or is documented by nobody for SQL
// Server on Linux.
func warnServer(w *World, s *v1alpha1.SQLServer) admission.Warnings {
	all := append(w.awaitsSite(top.Child("site"), s.Spec.Site, s.Namespace), serverRisks(top, &s.Spec)...)
	all = append(all, windowRisks(top, s.Spec.MaintenanceWindows, time.Now())...)
	return append(append(all, unproved(top, &s.Spec)...), shaped(top, &s.Spec)...)
}

// warnTopology is warnServer and warnGroup for each that a Topology declares.
func warnTopology(w *World, t *v1alpha1.Topology) admission.Warnings {
	objects, err := topology.Expand(t)
	if err != nil || len(objects.Servers) == 0 {
		return nil // it is refused
	}
	next := w.with(t, objects)
	var all admission.Warnings
	for i, g := range objects.Groups {
		at := top.Child("availabilityGroups").Index(i)
		all = append(append(all, next.awaitsVoters(at, g)...), costs(at, g)...)
		all = append(all, next.groupRisks(at, g)...)
		all = append(all, next.meetRisks(at, g, time.Now())...)
	}
	for i, s := range objects.Servers {
		at := top.Child("servers").Index(i)
		all = append(append(all, next.awaitsSite(at.Child("site"), s.Spec.Site, s.Namespace)...), unproved(at, &s.Spec)...)
		all = append(all, shaped(at, &s.Spec)...)
		all = append(all, windowRisks(at, s.Spec.MaintenanceWindows, time.Now())...)
	}
	for i, p := range objects.Publications {
		all = append(all, next.keepsCopies(top.Child("publications").Index(i), w, p)...)
	}
	for i, s := range objects.Subscriptions {
		all = append(all, next.keepsCopy(top.Child("subscriptions").Index(i), w, s)...)
	}
	return append(append(all, next.topologyBackupRisks(top, objects)...), sharedRisks(top, objects.Servers)...)
}

// warnGroup tells what a group waits for, what its timings cost, and what its declaration risks.
func warnGroup(w *World, g *v1alpha1.AvailabilityGroup) admission.Warnings {
	all := append(awaits(w.ofGroup(top, g)...), w.awaitsVoters(top, g)...)
	all = append(append(all, costs(top, g)...), w.groupRisks(top, g)...)
	return append(all, w.meetRisks(top, g, time.Now())...)
}

// awaitsVoters warns of voters that are not there, or do not let the group's namespace in.
func (w *World) awaitsVoters(at *field.Path, g *v1alpha1.AvailabilityGroup) (all admission.Warnings) {
	for i, voter := range g.Spec.Voters {
		all = append(all, w.awaitsSite(at.Child("voters").Index(i), voter, g.Namespace)...)
	}
	return all
}

func warnDistributor(w *World, d *v1alpha1.Distributor) admission.Warnings {
	return awaits(w.ofDistributor(top, d)...)
}

func warnPublication(w *World, p *v1alpha1.Publication) admission.Warnings {
	return append(append(awaits(w.ofPublication(top, p)...), w.keepsCopies(top, w, p)...), w.fixedBatches(p)...)
}

func warnSubscription(w *World, s *v1alpha1.Subscription) admission.Warnings {
	return append(append(awaits(w.ofSubscription(top, s)...), w.keepsCopy(top, w, s)...), w.oneThread(s)...)
}

func warnLogin(w *World, l *v1alpha1.Login) admission.Warnings {
	return awaits(w.either(top.Child("target"), l.Spec.Target)...)
}

// warnFailover tells of a group that is not there; one that is recorded was.
func warnFailover(w *World, f *v1alpha1.Failover) admission.Warnings {
	if f.Spec.RecordedTerm != nil {
		return nil
	}
	return awaits(to(top.Child("group"), "AvailabilityGroup", string(f.Spec.Group), w.Groups))
}

func warnDrill(w *World, d *v1alpha1.Drill) admission.Warnings {
	return w.drillRisks(top.Child("target"), d.Spec.Target)
}

func warnDrillSchedule(w *World, s *v1alpha1.DrillSchedule) admission.Warnings {
	return w.drillRisks(top.Child("template", "spec", "target"), s.Spec.Template.Spec.Target)
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
