// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// maxMemberMessage is the limit of a message in status.members, in bytes.
const maxMemberMessage = 1024

func member(key Key, ready metav1.ConditionStatus, reason, message string) v1alpha1.MemberStatus {
	return v1alpha1.MemberStatus{
		Kind:    key.Kind,
		Name:    key.Name,
		Ready:   string(ready),
		Reason:  reason,
		Message: conditions.Shorten(message, maxMemberMessage),
	}
}

// memberStatus is what an object says of itself, as far as it speaks of the spec that is declared.
func memberStatus(key Key, desired, existing client.Object) v1alpha1.MemberStatus {
	if existing == nil {
		return member(key, metav1.ConditionFalse, v1alpha1.ReasonNotObserved, "it is being created")
	}
	if existing.GetDeletionTimestamp() != nil {
		status := leavingStatus(key, existing)
		status.Message += "; it is made again when it is gone, since the manifest has it"
		return status
	}
	base := statusOf(existing)
	if base == nil {
		if !sameSpec(desired, existing) {
			return member(key, metav1.ConditionFalse, v1alpha1.ReasonNotObserved, "it is being changed")
		}
		return member(key, metav1.ConditionTrue, v1alpha1.ReasonDeclared, "")
	}
	ready := meta.FindStatusCondition(base.Conditions, v1alpha1.ConditionReady)
	if ready == nil || base.ObservedGeneration < existing.GetGeneration() || !sameSpec(desired, existing) {
		return member(
			key, metav1.ConditionFalse, v1alpha1.ReasonNotObserved,
			"its controller has not looked at it as it is declared now",
		)
	}
	return member(key, ready.Status, ready.Reason, ready.Message)
}

func leavingStatus(key Key, obj client.Object) v1alpha1.MemberStatus {
	message := "it is being deleted"
	if base := statusOf(obj); base != nil && obj.GetDeletionTimestamp() != nil {
		if ready := meta.FindStatusCondition(base.Conditions, v1alpha1.ConditionReady); ready != nil &&
			ready.Reason == v1alpha1.ReasonDeleting {
			message = ready.Message
		}
	}
	return member(key, metav1.ConditionFalse, v1alpha1.ReasonLeaving, message)
}

// stalled tells whether an object says that it waits for a person.
func stalled(obj client.Object) bool {
	if obj == nil {
		return false
	}
	base := statusOf(obj)
	return base != nil && meta.IsStatusConditionTrue(base.Conditions, v1alpha1.ConditionStalled)
}

// sumUp is the Topology's outcome: what a person must do comes first, then what is not ready, then what is not known.
func sumUp(members []v1alpha1.MemberStatus, o Observed, total int) conditions.Outcome {
	var blocked, waiting, unknown, leaving []v1alpha1.MemberStatus
	reason := v1alpha1.ReasonMemberStalled
	for _, m := range members {
		key := Key{m.Kind, m.Name}
		switch {
		case m.Reason == v1alpha1.ReasonMemberConflict || m.Reason == v1alpha1.ReasonMemberRefused:
			if len(blocked) == 0 {
				reason = m.Reason
			}
			blocked = append(blocked, m)
		case m.Ready == string(metav1.ConditionTrue):
		case m.Reason == v1alpha1.ReasonLeaving:
			leaving = append(leaving, m)
		case m.Reason != v1alpha1.ReasonNotObserved && stalled(o.Objects[key]):
			blocked = append(blocked, m)
		case m.Ready == string(metav1.ConditionUnknown):
			unknown = append(unknown, m)
		default:
			waiting = append(waiting, m)
		}
	}
	notYet := fmt.Sprintf("%s. ", summary(members, total))
	switch {
	case len(blocked) > 0:
		return conditions.Stalled(reason, notYet+explain(blocked))
	case len(waiting) > 0:
		return conditions.InProgress(v1alpha1.ReasonMembersNotReady, notYet+explain(waiting))
	case len(unknown) > 0:
		return conditions.Unknown(v1alpha1.ReasonMembersUnknown, notYet+explain(unknown))
	case len(leaving) > 0:
		return conditions.InProgress(v1alpha1.ReasonMembersLeaving, notYet+"Leaving: "+explain(leaving))
	}
	return conditions.Ready(v1alpha1.ReasonMembersReady, summary(members, total))
}

// summary is such as "11 of 12 ready"; objects that are leaving do not count.
func summary(members []v1alpha1.MemberStatus, total int) string {
	ready := 0
	for _, m := range members {
		if m.Ready == string(metav1.ConditionTrue) {
			ready++
		}
	}
	return fmt.Sprintf("%d of %d ready", ready, total)
}

// shown is how many objects a message explains.
const shown = 3

// explain says the first few's reasons and names the number of the others.
func explain(members []v1alpha1.MemberStatus) string {
	var parts []string
	for i, m := range members {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more", len(members)-shown))
			break
		}
		text := fmt.Sprintf("%s %s: %s", m.Kind, m.Name, m.Reason)
		if m.Message != "" {
			text += " (" + m.Message + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// list names objects.
func list(members []v1alpha1.MemberStatus) string {
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Kind+" "+m.Name)
	}
	return strings.Join(names, ", ")
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
