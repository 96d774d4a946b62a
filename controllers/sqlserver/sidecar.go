// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// ReplaceSidecar gives the running pod the sidecar's new image: the kubelet replaces that one container, and the engine
// goes on.
type ReplaceSidecar struct {
	Pod string
	// UID of the pod that was observed: another one is not changed.
	UID   types.UID
	Image string
	// Template is the hash of the template that the pod then is of.
	Template string
	// Version is the resourceVersion of the pod that was observed.
	Version string
	// Restarts of the container until now; -1 of one that was never started: its first start is no restart.
	Restarts int32
}

// Describe names pod and image.
func (s ReplaceSidecar) Describe() string {
	return fmt.Sprintf("replace the sidecar of pod %s by image %s; the engine goes on", s.Pod, s.Image)
}

// planSidecar is for a pod of which only the sidecar is outdated, which is not worth a restart of the engine. A new
// image is given to the running pod, in a group to one server at a time and not to the primary: without its agent it
// would lose its lease. One that can't run waits for nobody: its server has no lease, and without sidecars there is no
// primary to wait for.
func planSidecar(d Desired, o Observed, p *reconcile.Plan, why string) bool {
	pod, template := o.Pod, o.StatefulSet.Spec.Template
	if kind := template.Annotations[annotationSidecar]; kind == "" || kind != pod.Annotations[annotationSidecar] {
		pend(p, why+"; it takes effect when the pod next starts", v1alpha1.ReasonSidecarOutdated)
		return true
	}
	broken := stuck(o, ContainerAgent)
	var take []reconcile.Step
	for _, group := range hosted(d, o) {
		turn, known := o.turn(group)
		if known && turn.Declared && turn.Primary == d.name() && !broken {
			pend(p,
				fmt.Sprintf(
					"%s; it is replaced when %s is no longer the primary of group %s, or the pod next starts",
					why,
					d.name(),
					group,
				),
				v1alpha1.ReasonSidecarOutdated,
			)
			return true
		}
		if wait := wait(d, o, turn, known, group); wait != "" && !(broken && known && turn.Declared) {
			pend(p, why+"; "+wait, v1alpha1.ReasonSidecarOutdated)
			return true
		}
		if turn.Holder == "" {
			take = append(take, TakeTurn{Group: group})
		}
	}
	step := ReplaceSidecar{
		Pod:      pod.Name,
		UID:      pod.UID,
		Version:  pod.ResourceVersion,
		Template: template.Annotations[annotationTemplate],
	}
	for _, c := range template.Spec.Containers {
		if c.Name == ContainerAgent {
			step.Image = c.Image
		}
	}
	if status := sidecarStatus(pod); status != nil {
		step.Restarts = status.RestartCount
		if status.RestartCount == 0 && status.State.Waiting != nil {
			step.Restarts = -1
		}
	}
	p.Steps = append(p.Steps, take...)
	p.Add(step)
	return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, "the sidecar is replaced: "+why))
}

// sidecarComes tells whether the sidecar's new image was given to the pod and the kubelet has not replaced the
// container yet.
func sidecarComes(pod *corev1.Pod) bool {
	before, err := strconv.ParseInt(pod.Annotations[annotationReplaced], 10, 32)
	status := sidecarStatus(pod)
	return err == nil && status != nil && int64(status.RestartCount) <= before
}

func sidecarStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == ContainerAgent {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func (r *Reconciler) replaceSidecar(ctx context.Context, d Desired, s ReplaceSidecar) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.UID, "resourceVersion": s.Version, "annotations": map[string]string{
			annotationTemplate: s.Template, annotationReplaced: strconv.Itoa(int(s.Restarts))}},
		"spec": map[string]any{"containers": []map[string]string{{"name": ContainerAgent, "image": s.Image}}},
	})
	if err != nil {
		return fmt.Errorf("encode the image of the sidecar: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: s.Pod}}
	err = d.member.Client.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch), sites.FieldOwner)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// It is gone, another one is there already, or it is to be looked at again.
		return nil
	}
	return err
}
