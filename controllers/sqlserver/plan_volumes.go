// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// planVolumes writes the claims: those that are missing, and, beside all else, those that should grow: a quota that
// forbids that is no reason for the pod to wait. While the pod is scheduled,
// nothing that placement finds now is held against it.
func planVolumes(d Desired, o Observed, decision placement.Decision, placementErr error, p *reconcile.Plan) bool {
	for _, role := range roles() {
		if c := o.Claims[role]; c != nil && !owned(d, c.Labels) {
			return p.Settle(foreign("PersistentVolumeClaim", c.Name, d))
		}
	}
	var missing *placement.ClassNotFoundError
	switch {
	case errors.As(placementErr, &missing):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonStorageClassNotFound, missing.Error()))
	case placementErr != nil && (o.Pod == nil || o.Pod.Spec.NodeName == ""):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNoNodeForVolumes, placementErr.Error()))
	}
	for _, v := range d.volumes() {
		planVolume(d, o, v, decision.Claims[v.role], p)
	}
	if v := d.agentClaim; v != nil {
		planVolume(d, o, *v, v.class, p)
	}
	if len(p.Steps) > 0 {
		return p.Settle(inProgress("the volumes are being claimed"))
	}
	return true
}

func planVolume(d Desired, o Observed, v volume, class string, p *reconcile.Plan) {
	have := o.Claims[v.role]
	if have == nil {
		p.Add(ApplyObject{Object: stamp(claim(d, v, class)), Reason: "it does not exist"})
		return
	}
	want := keptClaim(d, o, v, class, have.Annotations[annotationWrittenBy])
	why := drift(want, have)
	if why == "" {
		return
	}
	reason := v1alpha1.ReasonApplyFailed
	size := have.Spec.Resources.Requests[corev1.ResourceStorage]
	grown := want.Spec.Resources.Requests[corev1.ResourceStorage]
	if grown.Cmp(size) > 0 {
		why, reason = fmt.Sprintf("it grows from %s to %s", size.String(), grown.String()),
			v1alpha1.ReasonVolumeCannotGrow
	}
	p.Beside(ApplyObject{Object: want, Reason: why}, reason)
}

// keptClaim is what the claim that there is should be. wrote is the version of the engine that it says wrote the data.
func keptClaim(d Desired, o Observed, v volume, class, wrote string) *corev1.PersistentVolumeClaim {
	have := o.Claims[v.role]
	if have.Spec.StorageClassName != nil {
		class = *have.Spec.StorageClassName
	}
	size := have.Spec.Resources.Requests[corev1.ResourceStorage]
	if v.spec.Size.Cmp(size) < 0 && !setBack(v, have) || !expandable(class, o.Cluster.Classes) {
		// A volume never shrinks, and one that cannot grow is no reason to leave anything else (planGrowth says so).
		v.spec.Size = size
	}
	c := claim(d, v, class)
	if wrote != "" {
		c.Annotations = with(c.Annotations, map[string]string{annotationWrittenBy: wrote})
	}
	return stamp(c)
}

// planWrittenBy notes at the data's claim which engine writes them: what is of a lower major version can't open them,
// and the claim outlives the server's object and the hub.
func planWrittenBy(d Desired, o Observed, p *reconcile.Plan) bool {
	have, wrote := o.Claims[placement.RoleData], writtenBy(d, o)
	if have == nil || wrote == "" || have.Annotations[annotationWrittenBy] == wrote {
		return true
	}
	for _, v := range d.volumes() {
		if v.role == placement.RoleData {
			p.Beside(ApplyObject{Object: keptClaim(d, o, v, v.class, wrote), Reason: "it says which engine writes the data"},
				v1alpha1.ReasonApplyFailed)
		}
	}
	return true
}

// planGrowth says which volume cannot be as large as it is declared.
func planGrowth(d Desired, o Observed, p *reconcile.Plan) bool {
	for _, v := range d.volumes() {
		have := o.Claims[v.role]
		if have == nil || have.Spec.StorageClassName == nil {
			continue
		}
		size, class := have.Spec.Resources.Requests[corev1.ResourceStorage], *have.Spec.StorageClassName
		if words := refusal(have); words != "" && v.spec.Size.Cmp(have.Status.Capacity[corev1.ResourceStorage]) > 0 {
			has := have.Status.Capacity[corev1.ResourceStorage]
			return p.Settle(conditions.Stalled(v1alpha1.ReasonVolumeCannotGrow, fmt.Sprintf(
				"volume %s can't grow from %s to %s: %s. Set the size back to %s, or to what the storage can give. Everything "+
					"else is as declared", v.role, has.String(), v.spec.Size.String(), words, has.String())))
		}
		if v.spec.Size.Cmp(size) > 0 && !expandable(class, o.Cluster.Classes) {
			return p.Settle(conditions.Stalled(v1alpha1.ReasonVolumeCannotGrow, fmt.Sprintf(
				"volume %s can't grow from %s to %s: storage class %s does not allow it (allowVolumeExpansion); set the size "+
					"back. Everything else is as declared", v.role, size.String(), v.spec.Size.String(), class)))
		}
	}
	return true
}

func expandable(class string, classes []storagev1.StorageClass) bool {
	for _, c := range classes {
		if c.Name == class {
			return c.AllowVolumeExpansion != nil && *c.AllowVolumeExpansion
		}
	}
	return false
}
