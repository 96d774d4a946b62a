// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// noProvisioner is the provisioner of classes whose volumes an administrator makes
// (Kubernetes documentation, "Storage Classes", "Local").
const noProvisioner = "kubernetes.io/no-provisioner"

// nodeExcluded says why the node can't take the pod whatever its volumes; empty when it can.
func (v *view) nodeExcluded(node *corev1.Node) string {
	for key, value := range v.request.NodeSelector {
		if node.Labels[key] != value {
			return fmt.Sprintf("is not selected by %s=%s", key, value)
		}
	}
	if need := v.request.NodeAffinity; need != nil {
		match, err := nodeaffinity.NewLazyErrorNodeSelector(need).Match(node)
		switch {
		case err != nil:
			return fmt.Sprintf("can't be matched with scheduling.affinity: %v", err)
		case !match:
			return "is not one of scheduling.affinity"
		}
	}
	if server := v.request.Occupied[node.Name]; server != "" {
		return fmt.Sprintf("has %s, from which replicaAntiAffinity keeps it apart", server)
	}
	if node.Spec.Unschedulable {
		return "is cordoned"
	}
	taint, untolerated := corev1helpers.FindMatchingUntoleratedTaint(
		klog.Background(),
		node.Spec.Taints,
		v.request.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule },
		false,
	)
	if untolerated {
		return "has the taint " + taint.ToString()
	}
	return ""
}

// groupExcludes says why the volumes of the group can't live on the node; empty when they can.
func (v *view) groupExcludes(g group, node *corev1.Node) string {
	if g.bound != nil {
		return boundExcludes(g.bound, node)
	}
	if !allowed(g.class.AllowedTopologies, node) {
		return "not in allowedTopologies"
	}
	if g.class.Provisioner == noProvisioner {
		return v.staticExcludes(g, node)
	}
	if why := v.driverExcludes(g.class.Provisioner, node); why != "" {
		return why
	}
	return v.capacityExcludes(g, node)
}

func boundExcludes(volume *corev1.PersistentVolume, node *corev1.Node) string {
	if Reaches(volume, node) {
		return ""
	}
	return "the volume is elsewhere"
}

// Reaches tells whether a volume can be mounted on the node.
func Reaches(volume *corev1.PersistentVolume, node *corev1.Node) bool {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return true
	}
	match, err := nodeaffinity.NewLazyErrorNodeSelector(volume.Spec.NodeAffinity.Required).Match(node)
	return err == nil && match
}

func allowed(topologies []corev1.TopologySelectorTerm, node *corev1.Node) bool {
	if len(topologies) == 0 {
		return true
	}
	return slices.ContainsFunc(topologies, func(t corev1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(t.MatchLabelExpressions, func(e corev1.TopologySelectorLabelRequirement) bool {
			value, ok := node.Labels[e.Key]
			return !ok || !slices.Contains(e.Values, value)
		})
	})
}

// staticExcludes looks for as many large enough free volumes of the class on the node as the group needs.
func (v *view) staticExcludes(g group, node *corev1.Node) string {
	var free []resource.Quantity
	for i := range v.cluster.Volumes {
		pv := &v.cluster.Volumes[i]
		if pv.Spec.StorageClassName == g.className && pv.Spec.ClaimRef == nil && pv.Status.Phase == corev1.VolumeAvailable &&
			Reaches(pv, node) {
			free = append(free, pv.Spec.Capacity[corev1.ResourceStorage])
		}
	}
	slices.SortFunc(free, func(a, b resource.Quantity) int { return a.Cmp(b) })
	wanted := slices.Clone(g.volumes)
	slices.SortFunc(wanted, func(a, b Volume) int { return a.Size.Cmp(b.Size) })
	for _, volume := range wanted {
		// The smallest that is large enough, as Kubernetes binds them.
		i := slices.IndexFunc(free, func(q resource.Quantity) bool { return q.Cmp(volume.Size) >= 0 })
		if i < 0 {
			return "no free volume of " + volume.Size.String()
		}
		free = slices.Delete(free, i, i+1)
	}
	return ""
}

// driverExcludes asks the CSINodes whether the class's driver runs on the node. Provisioners that no CSINode knows
// are not CSI drivers, and nothing is published about them.
func (v *view) driverExcludes(provisioner string, node *corev1.Node) string {
	published := false
	for i := range v.cluster.CSINodes {
		n := &v.cluster.CSINodes[i]
		if !slices.ContainsFunc(n.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == provisioner }) {
			continue
		}
		if n.Name == node.Name {
			return ""
		}
		published = true
	}
	if published {
		return "driver " + provisioner + " does not run there"
	}
	return ""
}

// capacityExcludes compares what the driver publishes for the class in the node's topology segment with what the group
// asks for. A class for which nothing is published, or that does not wait for the pod, is not looked at.
func (v *view) capacityExcludes(g group, node *corev1.Node) string {
	waits := g.class.VolumeBindingMode != nil && *g.class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	publishes := slices.ContainsFunc(v.cluster.Capacities, func(c storagev1.CSIStorageCapacity) bool {
		return c.StorageClassName == g.className
	})
	if !waits || !publishes {
		return ""
	}
	var total, largest resource.Quantity
	for _, volume := range g.volumes {
		total.Add(volume.Size)
		if volume.Size.Cmp(largest) > 0 {
			largest = volume.Size
		}
	}
	var best *resource.Quantity
	for i := range v.cluster.Capacities {
		c := &v.cluster.Capacities[i]
		if c.StorageClassName != g.className || !segment(c.NodeTopology, node) || c.Capacity == nil {
			continue
		}
		if c.Capacity.Cmp(total) >= 0 && (c.MaximumVolumeSize == nil || c.MaximumVolumeSize.Cmp(largest) >= 0) {
			return ""
		}
		if best == nil || c.Capacity.Cmp(*best) > 0 {
			best = c.Capacity
		}
	}
	if best == nil {
		return "no capacity is published there"
	}
	return fmt.Sprintf("%s free, %s asked for", best, &total)
}

func segment(topology *metav1.LabelSelector, node *corev1.Node) bool {
	selector, err := metav1.LabelSelectorAsSelector(topology)
	return err == nil && topology != nil && selector.Matches(labels.Set(node.Labels))
}
