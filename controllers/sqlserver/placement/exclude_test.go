// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// pair is a site with the nodes n1 and n2 and classes by name.
func pair(classes ...storagev1.StorageClass) Cluster {
	return Cluster{Nodes: []corev1.Node{node("n1", nil), node("n2", nil)}, Classes: classes}
}

func wants(class string, sizes ...string) (all []Volume) {
	for i, size := range sizes {
		all = append(
			all,
			Volume{Role: []Role{RoleData, RoleLog, RoleTempDB, RoleBackup}[i], Class: class, Size: resource.MustParse(size)},
		)
	}
	return all
}

func provisioned(class storagev1.StorageClass, by string) storagev1.StorageClass {
	class.Provisioner = by
	return class
}

// Of local volumes without a provisioner those count that are free, of the class, on the node, and large enough.
func TestLocalVolumesThatCount(t *testing.T) {
	on := func(name, host, size string, change func(*corev1.PersistentVolume)) corev1.PersistentVolume {
		v := volumeOn(name, "local", host)
		v.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse(size)
		change(v)
		return *v
	}
	asIs := func(*corev1.PersistentVolume) {}
	for name, c := range map[string]struct {
		volumes []corev1.PersistentVolume
		wanted  []Volume
		serves  bool
		why     string
	}{
		"one of just the size": {volumes: []corev1.PersistentVolume{on("a", "n1", "5Gi", asIs)},
			wanted: wants("local", "5Gi"), serves: true},
		"one that is smaller": {volumes: []corev1.PersistentVolume{on("a", "n1", "4Gi", asIs)},
			wanted: wants("local", "5Gi"), why: "no free volume of 5Gi"},
		"one of another class": {volumes: []corev1.PersistentVolume{on("a", "n1", "5Gi",
			func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "other" })}, wanted: wants("local", "5Gi")},
		"one that is claimed": {volumes: []corev1.PersistentVolume{on("a", "n1", "5Gi",
			func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = &corev1.ObjectReference{} })}, wanted: wants("local", "5Gi")},
		"one that is released": {volumes: []corev1.PersistentVolume{on("a", "n1", "5Gi",
			func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased })}, wanted: wants("local", "5Gi")},
		"one elsewhere": {volumes: []corev1.PersistentVolume{on("a", "n3", "5Gi", asIs)},
			wanted: wants("local", "5Gi")},
		"one that is anywhere": {volumes: []corev1.PersistentVolume{on("a", "", "5Gi",
			func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = nil })}, wanted: wants("local", "5Gi"), serves: true},
		"one with an affinity that asks for nothing": {
			volumes: []corev1.PersistentVolume{on("a", "", "5Gi",
				func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity.Required = nil })}, wanted: wants("local", "5Gi"),
			serves: true},
		"each gets the smallest that is large enough": {
			volumes: []corev1.PersistentVolume{on("a", "n1", "9Gi", asIs), on("b", "n1", "5Gi", asIs),
				on("c", "n1", "7Gi", asIs)}, wanted: wants("local", "9Gi", "4Gi", "6Gi"), serves: true},
		"and none is given twice": {
			volumes: []corev1.PersistentVolume{on("a", "n1", "9Gi", asIs), on("b", "n1", "3Gi", asIs)},
			wanted:  wants("local", "4Gi", "4Gi"), why: "no free volume of 4Gi"},
		"the smallest of three is not enough for the last": {
			volumes: []corev1.PersistentVolume{on("a", "n1", "5Gi", asIs), on("b", "n1", "4Gi", asIs),
				on("c", "n1", "3Gi", asIs)}, wanted: wants("local", "5Gi", "4Gi", "4Gi"), why: "no free volume of 5Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := pair(provisioned(class("local"), noProvisioner))
			cluster.Nodes, cluster.Volumes = cluster.Nodes[:1], c.volumes
			decision, err := Decide(Request{Volumes: c.wanted}, cluster)
			if c.serves {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(decision.Candidates).To(Equal([]string{"n1"}))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring("n1: no free volume of")))
			g.Expect(err).To(MatchError(ContainSubstring(c.why)))
		})
	}
}

// Published capacity excludes a node only where the class waits for the pod and something is published for it.
func TestPublishedCapacity(t *testing.T) {
	here := func(class, host, free string) storagev1.CSIStorageCapacity {
		return storagev1.CSIStorageCapacity{
			StorageClassName: class,
			Capacity:         ptr.To(resource.MustParse(free)),
			NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{hostname: host}},
		}
	}
	atMost := func(c storagev1.CSIStorageCapacity, size string) storagev1.CSIStorageCapacity {
		c.MaximumVolumeSize = ptr.To(resource.MustParse(size))
		return c
	}
	nowhere := here("csi", "n1", "9Gi")
	nowhere.NodeTopology = nil
	unsaid := here("csi", "n1", "9Gi")
	unsaid.Capacity = nil
	spoilt := here("csi", "n1", "9Gi")
	spoilt.NodeTopology = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: hostname, Operator: "Near"}},
	}
	for name, c := range map[string]struct {
		published []storagev1.CSIStorageCapacity
		mode      *storagev1.VolumeBindingMode
		why       string
	}{
		"just enough": {published: []storagev1.CSIStorageCapacity{here("csi", "n1", "9Gi")}},
		"too little": {published: []storagev1.CSIStorageCapacity{here("csi", "n1", "8Gi")},
			why: "8Gi free, 9Gi asked for"},
		"the most of several": {published: []storagev1.CSIStorageCapacity{here("csi", "n1", "3Gi"),
			here("csi", "n1", "8Gi"), here("csi", "n1", "2Gi")}, why: "8Gi free, 9Gi asked for"},
		"enough in one of several": {published: []storagev1.CSIStorageCapacity{here("csi", "n1", "3Gi"),
			here("csi", "n1", "9Gi")}},
		"elsewhere": {published: []storagev1.CSIStorageCapacity{here("csi", "n2", "99Gi")},
			why: "no capacity is published there"},
		"elsewhere, and too little here": {published: []storagev1.CSIStorageCapacity{here("csi", "n2", "99Gi"),
			here("csi", "n1", "1Gi")}, why: "1Gi free, 9Gi asked for"},
		"for another class only": {published: []storagev1.CSIStorageCapacity{here("other", "n1", "1Gi")}},
		"for another class more": {published: []storagev1.CSIStorageCapacity{here("other", "n1", "99Gi"),
			here("csi", "n1", "1Gi")}, why: "1Gi free, 9Gi asked for"},
		"for no node": {published: []storagev1.CSIStorageCapacity{nowhere},
			why: "no capacity is published there"},
		"for nodes that nobody understands": {published: []storagev1.CSIStorageCapacity{spoilt},
			why: "no capacity is published there"},
		"without a size": {published: []storagev1.CSIStorageCapacity{unsaid},
			why: "no capacity is published there"},
		"each volume just as large as may be": {published: []storagev1.CSIStorageCapacity{atMost(here("csi", "n1", "9Gi"),
			"5Gi")}},
		"a volume larger than may be": {published: []storagev1.CSIStorageCapacity{atMost(here("csi", "n1", "9Gi"),
			"4Gi")}, why: "9Gi free, 9Gi asked for"},
		"small volumes allowed and little free": {published: []storagev1.CSIStorageCapacity{atMost(here("csi", "n1", "8Gi"),
			"5Gi")}, why: "8Gi free, 9Gi asked for"},
		"a class that does not wait for the pod": {published: []storagev1.CSIStorageCapacity{here("csi", "n1", "1Gi")},
			mode: ptr.To(storagev1.VolumeBindingImmediate)},
		"a class that does not say if it does so": {published: []storagev1.CSIStorageCapacity{here("csi", "n1", "1Gi")},
			mode: ptr.To(storagev1.VolumeBindingMode(""))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			csi := provisioned(class("csi"), "disk.example.com")
			if c.mode != nil {
				csi.VolumeBindingMode = c.mode
			}
			if c.mode != nil && *c.mode == "" {
				csi.VolumeBindingMode = nil
			}
			cluster := pair(csi)
			cluster.Nodes, cluster.Capacities = cluster.Nodes[:1], c.published
			_, err := Decide(Request{Volumes: wants("csi", "2Gi", "5Gi", "2Gi")}, cluster)
			if c.why == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring("class csi allows no node (n1: " + c.why + ")")))
		})
	}
}

// A driver that some CSINode knows runs where a CSINode says so; of one that none knows nothing is known.
func TestDriversRunWhereTheyArePublished(t *testing.T) {
	publishes := func(node string, drivers ...string) storagev1.CSINode {
		n := storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
		for _, d := range drivers {
			n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{Name: d})
		}
		return n
	}
	for name, c := range map[string]struct {
		nodes      []storagev1.CSINode
		candidates []string
	}{
		"nothing is published": {nil, []string{"n1", "n2"}},
		"of other drivers":     {[]storagev1.CSINode{publishes("n1", "other")}, []string{"n1", "n2"}},
		"behind a node of other drivers": {[]storagev1.CSINode{publishes("n1", "other"),
			publishes("n2", "other", "disk.example.com")}, []string{"n2"}},
		"on both": {[]storagev1.CSINode{publishes("n2", "disk.example.com"),
			publishes("n1", "disk.example.com")}, []string{"n1", "n2"}},
		"only on a node that is gone": {[]storagev1.CSINode{publishes("n3", "disk.example.com")}, nil},
		"on a node that is gone, and here": {[]storagev1.CSINode{publishes("n3", "disk.example.com"),
			publishes("n1", "disk.example.com")}, []string{"n1"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := pair(provisioned(class("csi"), "disk.example.com"))
			cluster.CSINodes = c.nodes
			decision, err := Decide(Request{Volumes: wants("csi", "1Gi")}, cluster)
			NewWithT(t).Expect(decision.Candidates).To(Equal(c.candidates))
			if c.candidates == nil {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring("n1: driver disk.example.com does not run there")))
			}
		})
	}
}

// A taint that only asks to be avoided excludes nobody.
func TestAPreferenceExcludesNobody(t *testing.T) {
	cluster := pair(class("any"))
	cluster.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}
	cluster.Nodes[1].Spec.Taints = []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectNoExecute}}
	decision, _ := Decide(Request{Volumes: wants("any", "1Gi")}, cluster)
	NewWithT(t).Expect(decision.Candidates).To(Equal([]string{"n1"}))
}

// Volumes that come after a bound one count as well, and a bound volume whose class is gone is where it is.
func TestVolumesBesideABoundOne(t *testing.T) {
	g := NewWithT(t)
	cluster := pair(class("here", "n1"), class("both", "n1", "n2"))
	bound := Volume{Role: RoleData, Class: "gone", Bound: volumeOn("pvc-1", "gone", "n1", "n2")}
	decision, err := Decide(
		Request{
			Volumes: append([]Volume{bound}, Volume{Role: RoleLog, Class: "here"}, Volume{Role: RoleBackup, Class: "both"}),
		},
		cluster,
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decision.Candidates).To(Equal([]string{"n1"}))
	g.Expect(decision.Terms).To(Equal([]corev1.NodeSelectorTerm{in(hostname, "n1")}))
	g.Expect(decision.Claims).To(Equal(map[Role]string{RoleData: "gone", RoleLog: "here", RoleBackup: "both"}))
	g.Expect(decision.Reason).
		To(Equal("data of class gone is on every node; class here allows n1; class both allows every node; candidates: n1"))

	// The class that the volume was made of counts for the terms, no other one that is asked for now.
	moved := Volume{Role: RoleData, Class: "here", Bound: volumeOn("pvc-1", "both", "n2")}
	decision, err = Decide(Request{Volumes: []Volume{moved}}, cluster)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decision.Terms).To(BeEmpty())
	g.Expect(decision.Candidates).To(Equal([]string{"n2"}))
	anywhere := Volume{Role: RoleData, Class: "here", Bound: volumeOn("pvc-1", "here")}
	anywhere.Bound.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{}
	decision, _ = Decide(Request{Volumes: []Volume{anywhere}}, cluster)
	g.Expect(decision.Candidates).To(Equal([]string{"n1", "n2"}))
	g.Expect(decision.Terms).To(Equal([]corev1.NodeSelectorTerm{in(hostname, "n1")}))
}

// Of several default classes the youngest counts, whatever their order; of two of one age the first by name.
func TestTheDefaultClass(t *testing.T) {
	for name, c := range map[string]struct {
		classes map[string]int64
		found   string
	}{
		"one":                    {map[string]int64{"a": 1}, "a"},
		"the youngest is first":  {map[string]int64{"a": 2, "b": 1}, "a"},
		"the youngest is last":   {map[string]int64{"a": 1, "b": 2}, "b"},
		"two of one age":         {map[string]int64{"b": 1, "a": 1}, "a"},
		"one older than the two": {map[string]int64{"c": 0, "b": 1, "a": 1}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range []func(int) int{func(i int) int { return i }, func(i int) int { return 3 - i }} {
				var classes []storagev1.StorageClass
				names := []string{"a", "b", "c", "none"}
				for i := range names {
					s := class(names[order(i)])
					if made, ok := c.classes[s.Name]; ok {
						s.Annotations, s.CreationTimestamp = map[string]string{defaultClassAnnotation: "true"}, metav1.Unix(made, 0)
					} else {
						s.Annotations, s.CreationTimestamp = map[string]string{defaultClassAnnotation: "false"}, metav1.Unix(9, 0)
					}
					classes = append(classes, s)
				}
				decision, err := Decide(Request{Volumes: wants("", "1Gi")}, pair(classes...))
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				NewWithT(t).Expect(decision.Claims[RoleData]).To(Equal(c.found))
			}
		})
	}
}

// What is said stays bounded, and its parts are told apart: eight names, then how many more.
func TestExplanationsAreBounded(t *testing.T) {
	g := NewWithT(t)
	cluster := pair(class("any"), class("first", "n00"))
	cluster.Nodes = nil
	for i := range 20 {
		cluster.Nodes = append(cluster.Nodes, node(fmt.Sprintf("n%02d", i), nil))
		cluster.Nodes[i].Spec.Unschedulable = i >= 9
	}
	decision, err := Decide(Request{Volumes: wants("any", "1Gi")}, cluster)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decision.Reason).To(HavePrefix("class any allows every node; node n09 is cordoned; "))
	g.Expect(decision.Reason).
		To(HaveSuffix("; node n16 is cordoned; candidates: n00, n01, n02, n03, n04, n05, n06, n07 and 1 more"))
	g.Expect(strings.Count(decision.Reason, "is cordoned")).To(Equal(8))

	cluster.Nodes[8].Spec.Unschedulable = true
	decision, _ = Decide(Request{Volumes: wants("first", "1Gi")}, cluster)
	g.Expect(decision.Reason).To(HavePrefix("class first allows n00; "))
	decision, _ = Decide(Request{Volumes: wants("any", "1Gi")}, cluster)
	g.Expect(decision.Reason).To(HaveSuffix("candidates: n00, n01, n02, n03, n04, n05, n06, n07"))

	one := Cluster{Nodes: []corev1.Node{node("n1", nil)}, Classes: cluster.Classes}
	decision, _ = Decide(Request{Volumes: wants("any", "1Gi")}, one)
	g.Expect(decision.Reason).To(Equal("class any allows n1; candidates: n1"), "the only node is named")
	one.Nodes[0].Spec.Unschedulable = true
	_, err = Decide(Request{Volumes: wants("any", "1Gi")}, one)
	g.Expect(err).To(MatchError("class any allows n1; node n1 is cordoned; no node can serve data (any)"))
}
