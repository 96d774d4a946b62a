// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/terminal"
)

func inWeb(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }

// content is a group whose primary is tukpub; quisec may be read, dubsec too, and dubcfg has no data.
func content() *v1alpha1.AvailabilityGroup {
	return &v1alpha1.AvailabilityGroup{ObjectMeta: inWeb("content"),
		Spec: v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{
			{Server: "tukpub", Readable: true, AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "dubsec", Readable: true, AvailabilityMode: v1alpha1.AsynchronousCommit},
			{Server: "quisec", Readable: true, AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "tuksec", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "dubcfg", Readable: true, AvailabilityMode: v1alpha1.ConfigurationOnly}}},
		Status: v1alpha1.AvailabilityGroupStatus{Primary: "tukpub", Replicas: []v1alpha1.ReplicaStatus{
			{Server: "tukpub", Role: "PRIMARY"},
			{Server: "dubsec", Role: "SECONDARY", SynchronizationHealth: "NOT_HEALTHY"},
			{Server: "quisec", Role: "SECONDARY", SynchronizationHealth: "HEALTHY"},
			{Server: "tuksec", Role: "SECONDARY", SynchronizationHealth: "HEALTHY"},
			{Server: "dubcfg", Role: "SECONDARY", SynchronizationHealth: "HEALTHY"}}}}
}

// A group's server is who its status says it is, or one that may be read.
func TestTheServerOfAGroup(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*v1alpha1.AvailabilityGroup)
		secondary bool
		want      v1alpha1.ServerName
		refused   string
	}{
		{name: "primary", want: "tukpub"},
		{name: "no primary", change: func(g *v1alpha1.AvailabilityGroup) { g.Status.Primary = "" },
			refused: "no server is known to be the primary of group content (tukpub PRIMARY, dubsec SECONDARY"},
		{name: "nothing known", change: func(g *v1alpha1.AvailabilityGroup) { g.Status = v1alpha1.AvailabilityGroupStatus{} },
			refused: "its status has no replicas"},
		{name: "the healthy one that is readable", secondary: true, want: "quisec"},
		{name: "another where that is apart", secondary: true, want: "dubsec",
			change: func(g *v1alpha1.AvailabilityGroup) { g.Status.Replicas[2].Quarantined = &v1alpha1.Quarantine{} }},
		{name: "another where that does not answer", secondary: true, want: "dubsec",
			change: func(g *v1alpha1.AvailabilityGroup) { g.Status.Replicas[2].Role = "Unknown" }},
		{name: "none may be read", secondary: true, change: func(g *v1alpha1.AvailabilityGroup) {
			for i := range g.Spec.Replicas {
				g.Spec.Replicas[i].Readable = false
			}
		}, refused: "declare readable: true of a replica"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			group := content()
			if c.change != nil {
				c.change(group)
			}
			server, role, err := replica(group, c.secondary)
			if c.refused != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(server).To(Equal(c.want))
			g.Expect(role).To(Equal(map[bool]string{false: primary, true: secondary}[c.secondary]))
		})
	}
}

// A name is that of a server or of a group, and of which one is said where it is that of both.
func TestWhatIsMeant(t *testing.T) {
	hub := terminal.Hub(&v1alpha1.SQLServer{ObjectMeta: inWeb("tukpub")}, &v1alpha1.SQLServer{ObjectMeta: inWeb("both")},
		content(), &v1alpha1.AvailabilityGroup{ObjectMeta: inWeb("both")}).Build()
	for _, c := range []struct {
		text          string
		secondary     bool
		server, group string
		refused       string
	}{
		{text: "tukpub", server: "tukpub"},
		{text: "tukpub-0", server: "tukpub"},
		{text: "sqlserver/tukpub", server: "tukpub"},
		{text: "content", group: "content"},
		{text: "gag/content", group: "content"},
		{text: "content", secondary: true, group: "content"},
		{text: "both", refused: "say gsql/both or gag/both"},
		{text: "gsql/both", server: "both"},
		{text: "availabilitygroup/both", group: "both"},
		{text: "both", secondary: true, group: "both"},
		{text: "sqlserver/content", refused: "no SQLServer content in namespace web; there are: both, tukpub"},
		{text: "none", refused: "there are: both, content"},
		{text: "tukpub", secondary: true, refused: "no AvailabilityGroup tukpub"},
		{text: "sqlserver/tukpub", secondary: true, refused: "--secondary is for a group"},
		{text: "pod/tukpub-0", refused: "neither a SQLServer nor an AvailabilityGroup"},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			a, err := parse(c.text, c.secondary)
			var server *v1alpha1.SQLServer
			var group *v1alpha1.AvailabilityGroup
			if err == nil {
				server, group, err = declared(t.Context(), hub, "web", a)
			}
			if c.refused != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			if c.server != "" {
				g.Expect(server).To(HaveField("Name", c.server))
				g.Expect(group).To(BeNil())
				return
			}
			g.Expect(group).To(HaveField("Name", c.group))
			g.Expect(server).To(BeNil())
		})
	}
}

// At a site that is asked without the hub a name of both is refused, too.
func TestWhatIsMeantAtASite(t *testing.T) {
	g := NewWithT(t)
	keys, err := orders.Names{Servers: []orders.NamedServer{{Name: "both", Site: "dublin"}},
		Groups: []orders.NamedGroup{{Name: "both", Primary: "both"}}}.Keys()
	g.Expect(err).NotTo(HaveOccurred())
	data, err := orders.NamesData(keys)
	g.Expect(err).NotTo(HaveOccurred())
	site := join.Cluster{Client: terminal.Hub(
		&corev1.ConfigMap{ObjectMeta: inWeb(orders.NamesObject), Data: data}).Build()}
	for text, want := range map[string]string{"both": "say gsql/both or gag/both",
		"gsql/both": "server both is at site dublin"} {
		a, err := parse(text, false)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = findAtSite(t.Context(), site, "", "web", a)
		g.Expect(err).To(MatchError(ContainSubstring(want)), text)
	}
}
