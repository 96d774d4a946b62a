// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// A tag that is moved with each release is told from one that names a build.
func TestTagsThatMove(t *testing.T) {
	for image, moves := range map[string]bool{
		"":       false,
		"engine": true, "mcr.microsoft.com/mssql/server": true, "registry:5000/engine": true,
		"engine:latest": true, "mcr.microsoft.com/mssql/server:2022-latest": true, "engine:latest-ubuntu": true,
		"mcr.microsoft.com/mssql/server:2022-CU25-ubuntu-22.04": false, "registry:5000/engine:1": false,
		"engine:latest@sha256:00": false, "engine@sha256:00": false, "engine:greatest": false,
	} {
		_, found := movingTag(image)
		NewWithT(t).Expect(found).To(Equal(moves), image)
	}
}

// What all servers of a Topology have is said once; what one of them has, at it.
func TestRisksOfATopologysServers(t *testing.T) {
	g := NewWithT(t)
	server := func(spec *v1alpha1.SQLServerSpec) *v1alpha1.SQLServer { return &v1alpha1.SQLServer{Spec: *spec} }
	open := limited("engine")
	delete(open.Resources.Limits, corev1.ResourceMemory)
	g.Expect(sharedRisks(top, []*v1alpha1.SQLServer{server(limited("engine:1"))})).To(BeEmpty())
	g.Expect(sharedRisks(top, []*v1alpha1.SQLServer{server(limited("engine")), server(open)})).To(HaveExactElements(
		HavePrefix("spec.serverDefaults.image"), HavePrefix("spec.servers[1].resources.limits.memory")))
}

// What a group's declaration risks is said at the field; a group that is sound is not warned of.
func TestRisksOfAGroup(t *testing.T) {
	w := NewWorld()
	for server, site := range map[string]v1alpha1.SiteName{"a": "tukwila", "b": "tukwila", "c": "dublin"} {
		w.Servers[server] = &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Site: site}}
	}
	replica := func(server v1alpha1.ServerName, readable bool) v1alpha1.Replica {
		return v1alpha1.Replica{Server: server, AvailabilityMode: v1alpha1.SynchronousCommit, Readable: readable}
	}
	witness := v1alpha1.Replica{Server: "c", AvailabilityMode: v1alpha1.ConfigurationOnly}
	for name, c := range map[string]struct {
		spec  v1alpha1.AvailabilityGroupSpec
		warns []any
	}{
		"all can be read": {v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{replica("a", true),
			replica("b", true), witness}}, nil},
		"one cannot": {v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{replica("a", true), replica("b", false),
			witness}}, []any{HavePrefix("spec.replicas: a may be read while secondary, and b not")}},
		"three sites vote": {v1alpha1.AvailabilityGroupSpec{Voters: []v1alpha1.SiteName{"x", "y", "z"},
			Replicas: []v1alpha1.Replica{replica("a", false), replica("b", false)}}, nil},
		"one site votes": {v1alpha1.AvailabilityGroupSpec{Voters: []v1alpha1.SiteName{"x"},
			Replicas: []v1alpha1.Replica{replica("a", false), replica("c", false)}},
			[]any{HavePrefix("spec.voters: all votes are at site x")}},
		"all replicas are at one site": {v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{replica("a", false), replica("b", false)}},
			[]any{HavePrefix("spec.voters: all votes are at site tukwila")}},
		"nobody votes": {v1alpha1.AvailabilityGroupSpec{ClusterType: v1alpha1.ClusterNone,
			Replicas: []v1alpha1.Replica{replica("a", false), replica("b", false)}}, nil},
		"one is not there": {v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{replica("a", false), replica("d", false)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(w.groupRisks(top, &v1alpha1.AvailabilityGroup{Spec: c.spec})).To(HaveExactElements(c.warns...))
		})
	}
}

// Production is known by namespace, name or label, by whole words.
func TestWhatLooksLikeProduction(t *testing.T) {
	object := func(namespace, name string, labels map[string]string) *v1alpha1.Topology {
		return &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	}
	for _, c := range []struct {
		obj *v1alpha1.Topology
		by  string
	}{
		{object("web", "content", nil), ""},
		{object("products", "reproduction", map[string]string{"tier": "delivery"}), ""},
		{object("web-prod", "content", nil), "namespace web-prod"},
		{object("web", "live-content", nil), "name live-content"},
		{object("web", "content", map[string]string{"environment": "Production"}), "label environment=Production"},
		{object("web", "content", map[string]string{"owner": "prod"}), ""},
	} {
		by, looks := productive(c.obj)
		NewWithT(t).Expect(looks).To(Equal(c.by != ""))
		if looks {
			NewWithT(t).Expect(by).To(Equal(c.by))
		}
		c.obj.Labels = map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed,
			"environment": c.obj.Labels["environment"]}
		NewWithT(t).Expect(breakable("Topology", c.obj)).To(HaveLen(map[bool]int{true: 1}[looks]))
	}
}

// Windows in which nothing is ever updated are told of where one manifest shows them: a server's own, and those of the
// servers of a group, which goes by all of them.
func TestWindowsThatNeverOpen(t *testing.T) {
	of := func(schedules ...string) (all []v1alpha1.MaintenanceWindow) {
		for _, s := range schedules {
			all = append(all, v1alpha1.MaintenanceWindow{Schedule: s, Duration: metav1.Duration{Duration: time.Hour}})
		}
		return all
	}
	spec := func(schedules ...string) v1alpha1.SQLServerSpec {
		s := limited("engine:1")
		s.MaintenanceWindows = of(schedules...)
		return *s
	}
	topology := func(a, b v1alpha1.SQLServerSpec) *v1alpha1.Topology {
		t := &v1alpha1.Topology{}
		t.Name = "t"
		t.Spec.Servers = []v1alpha1.TopologyServer{{Name: "a", SQLServerSpec: a}, {Name: "b", SQLServerSpec: b}}
		t.Spec.AvailabilityGroups = []v1alpha1.TopologyAvailabilityGroup{{Name: "g"}}
		t.Spec.AvailabilityGroups[0].ClusterType = v1alpha1.ClusterNone
		t.Spec.AvailabilityGroups[0].Replicas = []v1alpha1.Replica{
			{Server: "a", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "b", AvailabilityMode: v1alpha1.SynchronousCommit}}
		return t
	}
	never := ContainSubstring("none opens within a year")
	apart := And(HavePrefix("spec.availabilityGroups[0].replicas"), ContainSubstring("of a, b are never all open"))
	const night, noon, leap = "0 3 * * *", "0 12 * * *", "0 0 30 2 *"
	g := NewWithT(t)
	g.Expect(warnServer(there(), &v1alpha1.SQLServer{Spec: spec(noon, night)})).NotTo(ContainElement(never))
	g.Expect(warnServer(there(), &v1alpha1.SQLServer{Spec: spec(leap)})).
		To(ContainElement(And(HavePrefix("spec.maintenanceWindows"), never)))
	g.Expect(warnTopology(there(), topology(spec(noon, night), spec(night)))).NotTo(ContainElement(Or(never, apart)))
	g.Expect(warnTopology(there(), topology(spec(noon), spec()))).NotTo(ContainElement(Or(never, apart)))
	g.Expect(warnTopology(there(), topology(spec(noon), spec(night)))).To(ContainElement(apart))
	g.Expect(warnTopology(there(), topology(spec(noon), spec(leap)))).To(And(
		ContainElement(And(HavePrefix("spec.servers[1].maintenanceWindows"), never)), Not(ContainElement(apart))))
}
