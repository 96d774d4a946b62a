// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// Who owns a database is no user of it, whichever of the two is declared first; what is there stays editable.
func TestAnOwnerIsNoUserOfItsDatabase(t *testing.T) {
	at := field.NewPath("spec")
	of := v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}
	alone := v1alpha1.ServerOrGroup{Server: "solo"}
	replica := v1alpha1.ServerOrGroup{Server: "a"}
	configuration := v1alpha1.ServerOrGroup{Server: "c"}
	user := func(database v1alpha1.DatabaseName, name string) v1alpha1.LoginUser {
		return v1alpha1.LoginUser{Database: database, Name: name}
	}
	for name, c := range map[string]struct {
		target      v1alpha1.ServerOrGroup
		owner       string
		user        v1alpha1.LoginUser
		by, dropped string
	}{
		"of the server":            {alone, "shop", user("Blog", ""), "SQLServer solo", "[shop]"},
		"in another case":          {alone, "SHOP", user("BLOG", ""), "SQLServer solo", "[shop]"},
		"under another name":       {alone, "shop", user("Blog", "app"), "SQLServer solo", "[app]"},
		"of the group":             {of, "shop", user("Content", ""), "AvailabilityGroup content", "[shop]"},
		"of a replica":             {replica, "shop", user("Content", ""), "AvailabilityGroup content", "[shop]"},
		"another login":            {alone, "web", user("Blog", "shop"), "", ""},
		"another database":         {alone, "shop", user("Other", ""), "", ""},
		"another server's":         {alone, "shop", user("Content", ""), "", ""},
		"where the group has none": {configuration, "shop", user("Content", ""), "", ""},
		"no owner":                 {of, "", user("Content", ""), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: "solo"},
				Spec: v1alpha1.SQLServerSpec{Databases: []v1alpha1.Database{{Name: "First"}, {Name: "Blog", Owner: c.owner}}}}
			group := groupOf("First", "Content")
			group.Spec.Databases[1].Owner = c.owner
			login := &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: v1alpha1.LoginSpec{Target: c.target,
				Users: []v1alpha1.LoginUser{{Database: "First"}, c.user}}}
			before, after := NewWorld(), NewWorld()
			before.Servers["solo"], before.Groups["content"] = server, group
			after.Logins["shop"] = login
			first := before.usesAsOwner(at, nil, login)
			then := append(after.serverOwners(at, nil, server), after.groupOwners(at, nil, group)...)
			g.Expect(before.usesAsOwner(at, login, login)).To(BeEmpty())
			g.Expect(append(after.serverOwners(at, server, server), after.groupOwners(at, group, group)...)).To(BeEmpty())
			if c.by == "" {
				g.Expect(append(first, then...)).To(BeEmpty())
				return
			}
			g.Expect(first).To(ConsistOf(And(HaveField("Field", "spec.users[1].database"),
				HaveField("Detail", ContainSubstring(c.by)))))
			g.Expect(then).To(ConsistOf(And(HaveField("Field", "spec.databases[1].owner"),
				HaveField("Detail", And(ContainSubstring("spec.users of that Login"), ContainSubstring("DROP USER "+c.dropped))))))
			g.Expect(before.usesAsOwner(at, &v1alpha1.Login{}, login)).To(HaveLen(1), "it comes with a change")
			g.Expect(append(after.serverOwners(at, &v1alpha1.SQLServer{}, server),
				after.groupOwners(at, groupOf("Content"), group)...)).To(HaveLen(1), "it comes with a change")
		})
	}
}

// A Topology's databases are held against the Logins of the namespace.
func TestATopologysOwnersAreNoUsers(t *testing.T) {
	g := NewWithT(t)
	w := NewWorld()
	w.Logins["shop"] = &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: v1alpha1.LoginSpec{
		Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
		Users:  []v1alpha1.LoginUser{{Database: "Content"}},
	}}
	topology := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"}}
	topology.Spec.AvailabilityGroups = []v1alpha1.TopologyAvailabilityGroup{{Name: "content"}}
	topology.Spec.AvailabilityGroups[0].Databases = []v1alpha1.Database{{Name: "Content", Owner: "shop"}}
	g.Expect(w.topology(field.NewPath("spec"), nil, topology)).
		To(ContainElement(HaveField("Field", "spec.availabilityGroups[0].databases[0].owner")))
}
