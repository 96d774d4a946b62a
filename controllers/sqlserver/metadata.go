// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// pod is how the server's pod is shaped, never nil.
func (d Desired) pod() *v1alpha1.ServerPod {
	if p := d.Server.Spec.Pod; p != nil {
		return p
	}
	return &v1alpha1.ServerPod{}
}

// agentPullPolicy is that of the operator's image.
func (d Desired) agentPullPolicy() corev1.PullPolicy {
	if a := d.Server.Spec.Agent; a != nil {
		return cmp.Or(a.ImagePullPolicy, corev1.PullIfNotPresent)
	}
	return corev1.PullIfNotPresent
}

// ownLabels are the operator's labels of everything that belongs to the server: it finds its objects by them.
func (d Desired) ownLabels() map[string]string {
	own := map[string]string{
		v1alpha1.LabelManagedBy:    v1alpha1.ManagedBy,
		v1alpha1.LabelServer:       d.Server.Name,
		v1alpha1.LabelNamespace:    d.Server.Namespace,
		v1alpha1.LabelSite:         string(d.Server.Spec.Site),
		v1alpha1.LabelApp:          v1alpha1.App,
		v1alpha1.LabelAppInstance:  d.Server.Name,
		v1alpha1.LabelAppComponent: v1alpha1.ComponentServer,
	}
	if topology := d.topology(); topology != "" {
		own[v1alpha1.LabelTopology] = topology
	}
	return own
}

// labels of everything that belongs to the server, at its site and in the hub: those that are declared, and over them
// the operator's.
func (d Desired) labels() map[string]string {
	return with(d.partOf(), d.inherited().Labels, d.ownLabels())
}

// topology that declares the server; empty when none does.
func (d Desired) topology() string { return d.Server.Labels[v1alpha1.LabelTopology] }

// partOf is what the server is a part of unless a label says otherwise.
func (d Desired) partOf() map[string]string {
	if d.topology() == "" {
		return nil
	}
	return map[string]string{v1alpha1.LabelAppPartOf: d.topology()}
}

// annotations of everything that belongs to the server; nil when none are declared.
func (d Desired) annotations() map[string]string { return with(nil, d.inherited().Annotations) }

// inherited is what every object gets.
func (d Desired) inherited() v1alpha1.ExtraMetadata {
	if m := d.Server.Spec.InheritedMetadata; m != nil {
		return *m
	}
	return v1alpha1.ExtraMetadata{}
}

// with are several maps in one, the later before the earlier; nil when all are empty.
func with(all ...map[string]string) map[string]string {
	var merged map[string]string
	for _, one := range all {
		for key, value := range one {
			if merged == nil {
				merged = map[string]string{}
			}
			merged[key] = value
		}
	}
	return merged
}

// podMeta is the metadata of the pod's template. What the server declares of it is told from what others have added to
// the running pod by annotationMetadata.
func podMeta(d Desired) metav1.ObjectMeta {
	var own v1alpha1.ExtraMetadata
	if m := d.pod().Metadata; m != nil {
		own = *m
	}
	inherited := d.inherited()
	m := metav1.ObjectMeta{
		Labels:      with(d.partOf(), inherited.Labels, own.Labels, d.ownLabels()),
		Annotations: map[string]string{},
	}
	maps.Copy(m.Annotations, with(inherited.Annotations, own.Annotations))
	declared := declaredKeys{
		Labels:      slices.Sorted(maps.Keys(with(inherited.Labels, own.Labels))),
		Annotations: slices.Sorted(maps.Keys(m.Annotations)),
	}
	if len(declared.Labels)+len(declared.Annotations) > 0 {
		text, err := json.Marshal(declared)
		if err != nil {
			panic(fmt.Sprintf("encode keys: %v", err)) // they are plain text
		}
		m.Annotations[annotationMetadata] = string(text)
	}
	return m
}

// declaredKeys are the keys of what a server declares of its pod's metadata.
type declaredKeys struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

func keysOf(pod *corev1.Pod) declaredKeys {
	var k declaredKeys
	if err := json.Unmarshal([]byte(pod.Annotations[annotationMetadata]), &k); err != nil {
		return declaredKeys{} // nothing was declared when the pod was made
	}
	return k
}

// LabelPod gives the running pod the labels and annotations of its template.
type LabelPod struct {
	Pod string
	// UID of the pod that was observed: another one is not changed.
	UID types.UID
	// Labels and Annotations to set; nil takes one away.
	Labels, Annotations map[string]*string
}

// Describe names what is written.
func (s LabelPod) Describe() string {
	return fmt.Sprintf("write labels %v and annotations %v of pod %s; the engine goes on",
		slices.Sorted(maps.Keys(s.Labels)), slices.Sorted(maps.Keys(s.Annotations)), s.Pod)
}

// planPodMetadata writes changed labels and annotations to the running pod, beside all else: no pod is restarted for
// them.
func planPodMetadata(d Desired, o Observed, p *reconcile.Plan) bool {
	pod := o.Pod
	if pod == nil || pod.DeletionTimestamp != nil || o.StatefulSet == nil || d.keptTemplate != nil {
		return true
	}
	want, former := podMeta(d), keysOf(pod)
	s := LabelPod{
		Pod: pod.Name, UID: pod.UID,
		Labels:      changed(want.Labels, pod.Labels, former.Labels),
		Annotations: changed(want.Annotations, pod.Annotations, former.Annotations),
	}
	if _, marked := pod.Annotations[annotationMetadata]; marked && want.Annotations[annotationMetadata] == "" {
		s.Annotations[annotationMetadata] = nil
	}
	if len(s.Labels)+len(s.Annotations) > 0 {
		p.Beside(s, "")
	}
	return true
}

// changed are the keys of want that have lacks or has otherwise, and those of former that are wanted no more.
func changed(want, have map[string]string, former []string) map[string]*string {
	changes := map[string]*string{}
	for key, value := range want {
		if is, there := have[key]; !there || is != value {
			changes[key] = &value
		}
	}
	for _, key := range former {
		_, wanted := want[key]
		if _, there := have[key]; there && !wanted {
			changes[key] = nil
		}
	}
	return changes
}

func (r *Reconciler) labelPod(ctx context.Context, d Desired, s LabelPod) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": s.UID, "labels": s.Labels, "annotations": s.Annotations}})
	if err != nil {
		return fmt.Errorf("encode labels of a pod: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: s.Pod}}
	err = d.member.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), sites.FieldOwner)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// It is gone, or another one is there already.
		return nil
	}
	return err
}
