// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const hostname = "kubernetes.io/hostname"

func node(name string, labels map[string]string, taints ...corev1.Taint) corev1.Node {
	all := map[string]string{hostname: name}
	for k, v := range labels {
		all[k] = v
	}
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all}, Spec: corev1.NodeSpec{Taints: taints}}
}

func controlPlane() corev1.Node {
	return node(
		"tukwila-control-plane",
		nil,
		corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
	)
}

func class(name string, hosts ...string) storagev1.StorageClass {
	c := storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: name},
		Provisioner:       "rancher.io/local-path",
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	if len(hosts) > 0 {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{
			{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: hostname, Values: hosts}}},
		}
	}
	return c
}

func volumeOn(name, className string, hosts ...string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: className,
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			NodeAffinity: &corev1.VolumeNodeAffinity{
				Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: hostname, Operator: corev1.NodeSelectorOpIn, Values: hosts},
					},
				}}},
			},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
}

// volumes of a server: data, log and tempdb of one class, backup of another.
func volumes(fast, backup string) []Volume {
	size := resource.MustParse("5Gi")
	return []Volume{
		{Role: RoleData, Class: fast, Size: size}, {Role: RoleLog, Class: fast, Size: size},
		{Role: RoleTempDB, Class: fast, Size: size}, {Role: RoleBackup, Class: backup, Size: size},
	}
}

func tukwila() Cluster {
	return Cluster{
		Nodes: []corev1.Node{controlPlane(), node("tukwila-worker", nil), node("tukwila-worker2", nil)},
		Classes: []storagev1.StorageClass{
			class(
				"fast",
				"tukwila-worker",
			), class("capacity", "tukwila-worker", "tukwila-worker2"), class("archive", "tukwila-worker2"),
		},
	}
}

func in(key string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}},
	}
}

func TestDecide(t *testing.T) {
	zoned := func(name string, zones ...string) storagev1.StorageClass {
		c := class(name)
		c.AllowedTopologies = []corev1.TopologySelectorTerm{
			{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: zones}}},
		}
		return c
	}
	tests := []struct {
		name       string
		request    Request
		cluster    func(*Cluster)
		candidates []string
		terms      []corev1.NodeSelectorTerm
		reason     string
		noNode     bool
	}{
		{
			name:       "classes of different width meet on the narrower",
			request:    Request{Volumes: volumes("fast", "capacity")},
			candidates: []string{"tukwila-worker"},
			terms:      []corev1.NodeSelectorTerm{in(hostname, "tukwila-worker")},
			reason: "class fast allows tukwila-worker; class capacity allows tukwila-worker, tukwila-worker2; " +
				"node tukwila-control-plane has the taint node-role.kubernetes.io/control-plane:NoSchedule; candidates: " +
				"tukwila-worker",
		},
		{
			name:    "classes that exclude each other",
			request: Request{Volumes: volumes("fast", "archive")},
			noNode:  true,
			reason: "class fast allows tukwila-worker; class archive allows tukwila-worker2; " +
				"node tukwila-control-plane has the taint node-role.kubernetes.io/control-plane:NoSchedule; " +
				"no node can serve data, log, tempdb (fast) and backup (archive)",
		},
		{
			name: "a bound volume pins the pod, and the terms stay as they were",
			request: Request{
				Volumes: append(
					volumes("capacity", "capacity")[:3],
					Volume{Role: RoleBackup, Class: "capacity", Bound: volumeOn("pvc-1", "capacity", "tukwila-worker2")},
				),
			},
			candidates: []string{"tukwila-worker2"},
			terms:      []corev1.NodeSelectorTerm{in(hostname, "tukwila-worker", "tukwila-worker2")},
		},
		{
			name: "a bound volume where another class can't follow",
			request: Request{
				Volumes: append(
					volumes("fast", "")[:3],
					Volume{Role: RoleBackup, Class: "archive", Bound: volumeOn("pvc-1", "archive", "tukwila-worker2")},
				),
			},
			noNode: true,
		},
		{
			name: "tolerations open a tainted node",
			request: Request{
				Volumes:     volumes("everywhere", "everywhere"),
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			},
			cluster:    func(c *Cluster) { c.Classes = append(c.Classes, class("everywhere")) },
			candidates: []string{"tukwila-control-plane", "tukwila-worker", "tukwila-worker2"},
			reason:     "class everywhere allows every node; candidates: tukwila-control-plane, tukwila-worker, tukwila-worker2",
		},
		{
			name:    "the user's selector narrows",
			request: Request{Volumes: volumes("capacity", "capacity"), NodeSelector: map[string]string{"disk": "nvme"}},
			cluster: func(c *Cluster) { c.Nodes[2].Labels["disk"] = "nvme" },
			terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"nvme"}},
				{Key: hostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"tukwila-worker", "tukwila-worker2"}},
			}}},
			candidates: []string{"tukwila-worker2"},
		},
		{
			name:       "a cordoned node is no candidate now and stays in the terms",
			request:    Request{Volumes: volumes("capacity", "capacity")},
			cluster:    func(c *Cluster) { c.Nodes[1].Spec.Unschedulable = true },
			candidates: []string{"tukwila-worker2"},
			terms:      []corev1.NodeSelectorTerm{in(hostname, "tukwila-worker", "tukwila-worker2")},
		},
		{
			name:    "zones and hosts multiply",
			request: Request{Volumes: volumes("zonal", "capacity")},
			cluster: func(c *Cluster) {
				c.Classes = append(c.Classes, zoned("zonal", "b", "a"))
				c.Nodes[1].Labels["zone"], c.Nodes[2].Labels["zone"] = "a", "c"
			},
			candidates: []string{"tukwila-worker"},
			terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: hostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"tukwila-worker", "tukwila-worker2"}},
				{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
			}}},
		},
		{
			name:    "a driver that runs on some nodes",
			request: Request{Volumes: volumes("csi", "csi")},
			cluster: func(c *Cluster) {
				csi := class("csi")
				csi.Provisioner = "disk.example.com"
				c.Classes = append(c.Classes, csi)
				c.CSINodes = []storagev1.CSINode{
					{
						ObjectMeta: metav1.ObjectMeta{Name: "tukwila-worker2"},
						Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "disk.example.com"}}},
					},
				}
			},
			candidates: []string{"tukwila-worker2"},
		},
		{
			name:    "published capacity counts for the sum of the volumes",
			request: Request{Volumes: volumes("csi", "csi")},
			cluster: func(c *Cluster) {
				csi := class("csi")
				csi.Provisioner = "disk.example.com"
				c.Classes = append(c.Classes, csi)
				for host, free := range map[string]string{"tukwila-worker": "19Gi", "tukwila-worker2": "20Gi"} {
					c.Capacities = append(c.Capacities, storagev1.CSIStorageCapacity{
						StorageClassName: "csi", Capacity: ptr.To(resource.MustParse(free)),
						NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{hostname: host}},
					})
				}
			},
			candidates: []string{"tukwila-worker2"},
			reason: "class csi allows tukwila-worker2 (tukwila-control-plane: no capacity is published there, " +
				"tukwila-worker: 19Gi free, 20Gi asked for); " +
				"node tukwila-control-plane has the taint node-role.kubernetes.io/control-plane:NoSchedule; candidates: " +
				"tukwila-worker2",
		},
		{
			name:    "local volumes without a provisioner, one for each",
			request: Request{Volumes: volumes("local", "local")},
			cluster: func(c *Cluster) {
				local := class("local")
				local.Provisioner = noProvisioner
				c.Classes = append(c.Classes, local)
				for _, v := range []*corev1.PersistentVolume{
					volumeOn("a1", "local", "tukwila-worker"), volumeOn("a2", "local", "tukwila-worker"),
					volumeOn("a3", "local", "tukwila-worker"),
					volumeOn("b1", "local", "tukwila-worker2"), volumeOn("b2", "local", "tukwila-worker2"),
					volumeOn("b3", "local", "tukwila-worker2"), volumeOn("b4", "local", "tukwila-worker2"),
				} {
					c.Volumes = append(c.Volumes, *v)
				}
			},
			candidates: []string{"tukwila-worker2"},
		},
		{
			name:    "the youngest default class is the default",
			request: Request{Volumes: volumes("", "")},
			cluster: func(c *Cluster) {
				for i := range c.Classes[:2] {
					c.Classes[i].Annotations = map[string]string{defaultClassAnnotation: "true"}
				}
				c.Classes[0].CreationTimestamp = metav1.Unix(2000, 0)
				c.Classes[1].CreationTimestamp = metav1.Unix(1000, 0)
			},
			candidates: []string{"tukwila-worker"},
		},
		{
			name:    "a site without nodes",
			request: Request{Volumes: volumes("fast", "fast")},
			cluster: func(c *Cluster) { c.Nodes = nil },
			noNode:  true,
			reason:  "class fast allows no node; the site has no nodes",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := tukwila()
			if tc.cluster != nil {
				tc.cluster(&cluster)
			}
			decision, err := Decide(tc.request, cluster)
			if tc.noNode {
				var no *NoNodeError
				g.Expect(errors.As(err, &no)).To(BeTrue(), "error %v", err)
				g.Expect(no.Error()).To(Equal(decision.Reason))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(decision.Candidates).To(Equal(tc.candidates))
			if tc.terms != nil {
				g.Expect(decision.Terms).To(Equal(tc.terms))
			}
			if tc.reason != "" {
				g.Expect(decision.Reason).To(Equal(tc.reason))
			}
		})
	}
}

func TestDecideNamesExistingClasses(t *testing.T) {
	g := NewWithT(t)
	_, err := Decide(Request{Volumes: volumes("quick", "fast")}, tukwila())
	g.Expect(err).
		To(MatchError("storage class quick for data, log, tempdb does not exist; existing classes: archive, capacity, fast"))
	_, err = Decide(Request{Volumes: volumes("fast", "")}, tukwila())
	g.Expect(err).
		To(MatchError(ContainSubstring("there is no default storage class for backup: set storageClassName or the site's " +
			"storageClasses")))
	_, err = Decide(Request{Volumes: volumes("fast", "fast")}, Cluster{})
	g.Expect(err).To(MatchError(ContainSubstring("the cluster has no storage classes")))
}

func TestDecideResolvesClasses(t *testing.T) {
	g := NewWithT(t)
	cluster := tukwila()
	cluster.Classes[0].Annotations = map[string]string{defaultClassAnnotation: "true"}
	decision, err := Decide(Request{Volumes: volumes("", "capacity")}, cluster)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decision.Claims).
		To(Equal(map[Role]string{RoleData: "fast", RoleLog: "fast", RoleTempDB: "fast", RoleBackup: "capacity"}))
}
