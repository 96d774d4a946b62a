// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Verb is what a step does with an object.
type Verb string

const (
	// Create makes an object that is not there.
	Create Verb = "create"
	// Change brings an object to what is declared.
	Change Verb = "change"
	// Adopt takes an object over that nobody's Topology declares.
	Adopt Verb = "adopt"
	// Remove deletes an object; its reclaim policy says what becomes of its data.
	Remove Verb = "remove"
)

// Step is one object to be written or deleted.
type Step struct {
	Verb Verb
	Key  Key
	// Object as it shall be; as it is, for Remove.
	Object client.Object
	// Existing is the object as it is, nil for Create.
	Existing client.Object
	// Reason in words.
	Reason string
}

// Describe is the step in one line.
func (s Step) Describe() string { return fmt.Sprintf("%s %s: %s", s.Verb, s.Key, s.Reason) }

// Members are the objects of a Topology, as its status has them: the note of a plan.
type Members struct {
	// All that it has, and those that are leaving it.
	All []v1alpha1.MemberStatus
	// Declared is the number of objects that the manifest has.
	Declared int
}

// plan compares the objects that are declared with those that are there. One step that fails keeps no other from being
// carried out.
func plan(d Desired, o Observed) reconcile.Plan {
	if d.Err != nil {
		return reconcile.Plan{
			Outcome: conditions.Stalled(v1alpha1.ReasonManifestInvalid, d.Err.Error()),
			Note:    Members{All: d.Topology.Status.Members},
		}
	}
	p, m := reconcile.Plan{Apart: true}, Members{Declared: len(d.Objects)}
	declared := map[Key]bool{}
	for _, obj := range d.Objects {
		key := keyOf(obj)
		declared[key] = true
		existing := o.Objects[key]
		if conflict := o.conflict(d.Topology, existing); conflict != "" {
			m.All = append(m.All, member(key, metav1.ConditionFalse, v1alpha1.ReasonMemberConflict, conflict))
			continue
		}
		if step := compare(d.Topology, key, obj, existing); step != nil {
			p.Add(*step)
		}
		m.All = append(m.All, memberStatus(key, obj, existing))
	}
	removals, leaving := planLeaving(d.Topology, o, func(k Key) bool { return !declared[k] })
	p.Steps = append(p.Steps, removals...)
	m.All = append(m.All, leaving...)
	p.Outcome, p.Note = sumUp(m.All, o, m.Declared), m
	return p
}

// compare is the step that brings an object to what is declared, or nil.
func compare(t *v1alpha1.Topology, key Key, desired, existing client.Object) *Step {
	if existing == nil {
		return &Step{Verb: Create, Key: key, Object: desired, Reason: "it is declared and does not exist"}
	}
	if existing.GetDeletionTimestamp() != nil {
		return nil
	}
	step := Step{Verb: Change, Key: key, Object: desired, Existing: existing}
	switch {
	case existing.GetLabels()[v1alpha1.LabelTopology] != t.Name:
		step.Verb, step.Reason = Adopt, fmt.Sprintf("Topology %s is annotated with %s", t.Name, v1alpha1.AdoptAnnotation)
	case !sameSpec(desired, existing):
		step.Reason = "spec." + strings.Join(differences(desired, existing), ", spec.") + " differs from the manifest"
	case len(existing.GetOwnerReferences()) > 0:
		step.Reason = "it has an owner reference, by which the garbage collector would delete it with its data"
	default:
		return nil
	}
	return &step
}

// differences are the fields of spec that differ, by name.
func differences(a, b client.Object) []string {
	x, _ := specOf(a).(map[string]any)
	y, _ := specOf(b).(map[string]any)
	var fields []string
	for _, m := range []map[string]any{x, y} {
		for k := range m {
			if !slices.Contains(fields, k) && !equal(x[k], y[k]) {
				fields = append(fields, k)
			}
		}
	}
	slices.Sort(fields)
	return fields
}

// conflict says why an object that exists may not be taken for the Topology's, or is empty.
func (o Observed) conflict(t *v1alpha1.Topology, existing client.Object) string {
	if existing == nil {
		return ""
	}
	owner := existing.GetLabels()[v1alpha1.LabelTopology]
	switch {
	case owner == t.Name:
		return ""
	case owner != "" && o.Topologies[owner]:
		return fmt.Sprintf("it belongs to Topology %s, which must let go of it first; or use another name", owner)
	case t.Annotations[v1alpha1.AdoptAnnotation] == "true":
		return ""
	}
	return fmt.Sprintf(
		"it exists and no Topology declares it: use another name, or annotate Topology %s with %s: \"true\" to take it over",
		t.Name, v1alpha1.AdoptAnnotation,
	)
}

// planLeaving removes the Topology's objects that go, those that refer to others first: the finalizer of a Publication
// may need the servers that stand behind it. What is still being deleted is waited for.
func planLeaving(t *v1alpha1.Topology, o Observed, goes func(Key) bool) ([]reconcile.Step, []v1alpha1.MemberStatus) {
	var keys []Key
	for key, obj := range o.Objects {
		if obj.GetLabels()[v1alpha1.LabelTopology] == t.Name && goes(key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		if a.Kind != b.Kind {
			return b.rank() - a.rank()
		}
		return strings.Compare(a.Name, b.Name)
	})
	var steps []reconcile.Step
	var leaving []v1alpha1.MemberStatus
	for _, key := range keys {
		obj := o.Objects[key]
		leaving = append(leaving, leavingStatus(key, obj))
		if key.Kind == keys[0].Kind && obj.GetDeletionTimestamp() == nil {
			steps = append(steps, Step{Verb: Remove, Key: key, Object: obj, Existing: obj,
				Reason: "the manifest does not have it; " + fate(key.Kind)})
		}
	}
	return steps, leaving
}

// fate says what becomes of the data of an object that is removed.
func fate(kind string) string {
	if kind == "BackupStore" || kind == "BackupPolicy" {
		return "what was backed up stays"
	}
	return "its reclaimPolicy says what becomes of data"
}

// orphanFinalizer is what `kubectl delete --cascade=orphan` leaves for the garbage collector.
const orphanFinalizer = metav1.FinalizerOrphanDependents

// planDelete takes a deleted Topology's objects away, or leaves them all where the deletion says so.
func planDelete(d Desired, o Observed) reconcile.Plan {
	if slices.Contains(d.Topology.Finalizers, orphanFinalizer) {
		return reconcile.Plan{Done: true}
	}
	steps, leaving := planLeaving(d.Topology, o, func(Key) bool { return true })
	return reconcile.Plan{Steps: steps, Apart: true, Note: Members{All: leaving}, Done: len(leaving) == 0,
		Outcome: conditions.InProgress(
			v1alpha1.ReasonDeleting,
			"waiting for "+list(leaving)+" to go; volumes and databases stay unless their reclaimPolicy is Delete, and so do "+
				"backups, whatever it is",
		)}
}

// Preview is what would be done with the Topology's objects, and those: what `kubectl geosql plan` prints. It does
// nothing.
func Preview(t *v1alpha1.Topology, o Observed) ([]Step, Members, error) {
	d := Desire(t)
	p := plan(d, o)
	steps := make([]Step, len(p.Steps))
	for i := range p.Steps {
		steps[i] = p.Steps[i].(Step)
	}
	return steps, reconcile.Noted[Members](p), d.Err
}
