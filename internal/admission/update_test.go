// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// Data that an engine wrote are opened by none of a lower major version: that is said before it is tried. Going back
// within a version is what Microsoft documents.
func TestAnImageOfALowerVersionIsRefused(t *testing.T) {
	const now, repository = "m.example/mssql/server:2022-CU25-ubuntu-22.04", "m.example/mssql/server"
	for name, c := range map[string]struct {
		image   string
		version string
		says    string
	}{
		"a lower major version": {repository + ":2019-CU32-ubuntu-20.04", "16.0.4135.4", "SQL Server 2019, and the data"},
		"another update of it":  {repository + ":2022-CU24-ubuntu-22.04", "16.0.4135.4", ""},
		"a later one":           {repository + ":2025-CU1-ubuntu-22.04", "16.0.4135.4", ""},
		"before it has run":     {repository + ":2019-CU32-ubuntu-20.04", "", ""},
		"of nobody knows what":  {repository + "/own:7", "16.0.4135.4", ""},
		"no name of an image":   {"Mssql Server:2022", "16.0.4135.4", "no name of an image"},
		"as it was":             {now, "17.0.1000.7", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			of := func(image string) *v1alpha1.SQLServer {
				s := &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Image: image}}
				s.Name, s.Status.Version = "s", c.version
				return s
			}
			w := NewWorld()
			w.strict = true
			w.Servers["s"] = of(now)
			errs := w.server(field.NewPath("spec"), of(now), of(c.image))
			if c.says == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Field).To(Equal("spec.image"))
			g.Expect(errs[0].Error()).To(ContainSubstring(c.says))
		})
	}
}

// A replica is added of the group's version alone; those that are there may differ while they are upgraded.
func TestAReplicaOfAnotherVersionIsRefused(t *testing.T) {
	of := func(version, image string) *v1alpha1.SQLServer {
		s := &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Image: image}}
		s.Status.Version = version
		return s
	}
	group := func(servers ...v1alpha1.ServerName) *v1alpha1.AvailabilityGroup {
		g := &v1alpha1.AvailabilityGroup{}
		for _, s := range servers {
			g.Spec.Replicas = append(g.Spec.Replicas, v1alpha1.Replica{Server: s})
		}
		return g
	}
	w := NewWorld()
	w.Servers = map[string]*v1alpha1.SQLServer{"a": of("16.0.4135.4", ""), "b": of("16.0.4195.2", ""),
		"later": of("17.0.1000.7", ""), "declared": of("", "m.example/mssql:2025-RTM-ubuntu"), "unknown": of("", "own:1")}
	for name, c := range map[string]struct {
		old, now *v1alpha1.AvailabilityGroup
		refused  string
	}{
		"several updates of one version":    {nil, group("a", "b", "unknown", "gone"), ""},
		"a later one":                       {nil, group("a", "b", "later"), "spec.replicas[2].server"},
		"a later one by its image":          {nil, group("a", "declared"), "spec.replicas[1].server"},
		"a later one, added":                {group("a", "b"), group("later", "a", "b"), "spec.replicas[0].server"},
		"those that were there, at upgrade": {group("a", "later"), group("a", "later", "unknown"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			errs := w.versions(field.NewPath("spec"), c.old, c.now)
			if c.refused == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Field).To(Equal(c.refused))
			g.Expect(errs[0].Error()).To(ContainSubstring("SQL Server 2025"))
		})
	}
}

// A Topology's servers are judged by what is known of those that there are.
func TestATopologysServersAreThoseThatThereAre(t *testing.T) {
	g := NewWithT(t)
	topology := func(image string) *v1alpha1.Topology {
		t := &v1alpha1.Topology{Spec: v1alpha1.TopologySpec{Servers: []v1alpha1.TopologyServer{{Name: "s"}}}}
		t.Name, t.Spec.Servers[0].Image = "t", image
		return t
	}
	w := NewWorld()
	live := &v1alpha1.SQLServer{}
	live.Name, live.Labels = "s", map[string]string{v1alpha1.LabelTopology: "t"}
	live.Status.Version = "16.0.4135.4"
	w.Servers["s"] = live
	errs := w.topology(field.NewPath("spec"), topology("own:2022-CU25"), topology("own:2019-CU32"))
	g.Expect(errs).To(ContainElement(HaveField("Field", "spec.servers[0].image")))
}
