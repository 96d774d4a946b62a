// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// A database has one owner, whichever of the two comes first.
func TestOneObjectDeclaresADatabase(t *testing.T) {
	at := field.NewPath("spec")
	declaring := func(name string, databases ...v1alpha1.Database) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.SQLServerSpec{Databases: databases}}
	}
	for name, c := range map[string]struct {
		server   *v1alpha1.SQLServer
		database v1alpha1.DatabaseName
		refused  bool
	}{
		"of the group":                     {declaring("a", v1alpha1.Database{Name: "Content"}), "distribution", true},
		"of the group, in another case":    {declaring("b", v1alpha1.Database{Name: "CONTENT"}), "distribution", true},
		"another one":                      {declaring("a", v1alpha1.Database{Name: "Other"}), "distribution", false},
		"where the group has no data":      {declaring("c", v1alpha1.Database{Name: "Content"}), "distribution", false},
		"outside of the group":             {declaring("e", v1alpha1.Database{Name: "Content"}), "distribution", false},
		"the distribution database":        {declaring("d", v1alpha1.Database{Name: "Distribution"}), "", true},
		"another distribution database":    {declaring("d", v1alpha1.Database{Name: "far"}), "far", true},
		"beside the distribution database": {declaring("d", v1alpha1.Database{Name: "distribution"}), "far", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := groupOf("Content")
			distributor := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Name: "main"},
				Spec: v1alpha1.DistributorSpec{Server: "d", Database: c.database}}
			before := NewWorld()
			before.Groups["content"], before.Distributors["main"] = group, distributor
			first := before.serverDatabases(at.Child("databases"), c.server)
			after := NewWorld()
			after.Servers[c.server.Name] = c.server
			then := append(after.declaredAlone(at.Child("databases"), group), after.distributes(at, distributor)...)
			if !c.refused {
				g.Expect(append(first, then...)).To(BeEmpty())
				return
			}
			g.Expect(first).To(ConsistOf(HaveField("Field", "spec.databases[0].name")))
			g.Expect(then).To(ConsistOf(HaveField("Detail", ContainSubstring("SQLServer "+c.server.Name+" declares"))))
		})
	}
}
