// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// littleRoom is the part of a volume that is free when it fills; soonFull in how many hours it must be full.
	littleRoom = 10
	soonFull   = 4
	// roomAgain, in percent of those, is how much more it must be for the condition to go: a volume at the border would
	// else have its condition written again and again.
	roomAgain = 120
	// longestWords is what a condition's message in the status takes of the storage's words.
	longestWords = 1024
)

// describeVolumes is the state of the volumes that are claimed. How full one is stays as it was said before while it
// has changed by little, or while nothing is known of it.
func describeVolumes(before []v1alpha1.VolumeStatus, o Observed) []v1alpha1.VolumeStatus {
	var all []v1alpha1.VolumeStatus
	for _, role := range roles() {
		claim := o.Claims[role]
		if claim == nil {
			continue
		}
		s := v1alpha1.VolumeStatus{Role: string(role), Conditions: claimConditions(claim)}
		if capacity, known := claim.Status.Capacity[corev1.ResourceStorage]; known {
			s.Capacity = ptr.To(capacity)
		}
		for _, b := range before {
			if b.Role == s.Role {
				s.Used, s.Free = b.Used, b.Free
			}
		}
		if room, known := o.Rooms[s.Role]; known {
			used := room.CapacityBytes - room.FreeBytes
			if s.Used == nil || s.Free == nil || reconcile.WorthWriting(*s.Used, used, room.CapacityBytes) ||
				reconcile.WorthWriting(*s.Free, room.FreeBytes, room.CapacityBytes) {
				s.Used, s.Free = ptr.To(used), ptr.To(room.FreeBytes)
			}
		}
		all = append(all, s)
	}
	return all
}

// claimConditions are those that are True, in the order of Kubernetes' own list.
func claimConditions(claim *corev1.PersistentVolumeClaim) []v1alpha1.ClaimCondition {
	var all []v1alpha1.ClaimCondition
	for _, c := range claim.Status.Conditions {
		if c.Status == corev1.ConditionTrue && len(all) < 8 {
			all = append(all, v1alpha1.ClaimCondition{Type: string(c.Type),
				Message: conditions.Shorten(cmp.Or(c.Message, c.Reason), longestWords)})
		}
	}
	return all
}

// refusal is why the storage does not let the claim's volume grow, in its own words; empty when it does not say so.
func refusal(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == corev1.PersistentVolumeClaimControllerResizeError ||
			c.Type == corev1.PersistentVolumeClaimNodeResizeError) {
			return cmp.Or(c.Message, c.Reason, string(c.Type))
		}
	}
	switch s := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; s {
	case corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		return string(s)
	}
	return ""
}

// setBack tells that a volume is declared smaller than its claim asks for because the storage has refused that: a claim
// takes anything above what its volume has (kubernetes.io/docs/concepts/storage/persistent-volumes, "Recovering from
// Failure when Expanding Volumes").
func setBack(v volume, have *corev1.PersistentVolumeClaim) bool {
	return refusal(have) != "" && v.spec.Size.Cmp(have.Status.Capacity[corev1.ResourceStorage]) > 0
}

// resizingCondition says which file systems do not have yet what is declared; nil while nothing is claimed.
func resizingCondition(d Desired, o Observed) *metav1.Condition {
	if len(o.Claims) == 0 {
		return nil
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionVolumesResizing, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonVolumesGrown, Message: "each file system has what its claim asks for"}
	var texts []string
	for _, v := range d.volumes() {
		claim := o.Claims[v.role]
		if claim == nil {
			continue
		}
		asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		has, bound := claim.Status.Capacity[corev1.ResourceStorage]
		if !bound || asked.Cmp(has) <= 0 || v.spec.Size.Cmp(has) <= 0 {
			continue
		}
		c.Status = metav1.ConditionTrue
		text := fmt.Sprintf("%s from %s to %s", v.role, has.String(), asked.String())
		if words := refusal(claim); words != "" {
			c.Reason = v1alpha1.ReasonVolumesNotGrown
			text += " (refused: " + words + ")"
		} else if pending := claimConditions(claim); len(pending) > 0 {
			text += " (" + pending[0].Type + ")"
		}
		texts = append(texts, text)
	}
	if len(texts) > 0 {
		c.Message = "volumes grow: " + strings.Join(texts, "; ")
		if c.Reason == v1alpha1.ReasonVolumesGrown {
			c.Reason = v1alpha1.ReasonVolumesGrowing
		}
	}
	return c
}

// fillingCondition says which volumes are about to be full; nil while nothing is known of any. What fills already has
// to have more room to be well again.
func fillingCondition(d Desired, o Observed) *metav1.Condition {
	if len(o.Rooms) == 0 {
		return nil
	}
	border := int64(100)
	if apimeta.IsStatusConditionTrue(d.Server.Status.Conditions, v1alpha1.ConditionVolumesFilling) {
		border = roomAgain
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionVolumesFilling, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonEnoughRoom, Message: "the volumes have room"}
	var texts []string
	for _, role := range roles() {
		room := o.Rooms[string(role)]
		why := fills(room, border)
		if why == "" {
			continue
		}
		text := fmt.Sprintf("%s has %d %% of %.1f GiB free", role, room.FreeBytes*100/room.CapacityBytes,
			float64(room.CapacityBytes)/(1<<30))
		if why == v1alpha1.ReasonFullSoon {
			text += fmt.Sprintf(", and none in %d h at the rate of the last hour", 1+room.FreeBytes/room.GrowthBytesPerHour)
		}
		texts = append(texts, text)
		if c.Reason != v1alpha1.ReasonLittleRoom {
			c.Reason = why
		}
	}
	if len(texts) > 0 {
		c.Status = metav1.ConditionTrue
		c.Message = strings.Join(texts, "; ") + ". Give it room in spec.storage, or take away what fills it"
	}
	return c
}

// fills is the reason for which a volume fills, by borders in percent of the usual ones; empty when it does not.
func fills(room agent.VolumeRoom, border int64) string {
	switch {
	case room.CapacityBytes == 0:
		return ""
	case room.FreeBytes*littleRoom < room.CapacityBytes/100*border:
		return v1alpha1.ReasonLittleRoom
	case room.GrowthBytesPerHour > 0 && room.FreeBytes < room.GrowthBytesPerHour/100*soonFull*border:
		return v1alpha1.ReasonFullSoon
	}
	return ""
}
