// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// withEditions is a world with a server of each edition, by name.
func withEditions(editions map[string]v1alpha1.Edition) *World {
	w := NewWorld()
	for name, edition := range editions {
		s := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SQLServerSpec{Edition: edition}}
		if edition == productKey {
			s.Spec.ProductKeySecretRef = &v1alpha1.SecretReference{Name: "licence"}
		}
		w.Servers[name] = s
	}
	return w
}

// productKey stands for a server with a product key, which alone says what it is.
const productKey = v1alpha1.Edition("Express ")

// What an edition cannot is refused at the field that is to change, with what it may be.
func TestGroupsThatEditionsCannotHave(t *testing.T) {
	const key = productKey
	three := func(a, b, c v1alpha1.Edition) map[string]v1alpha1.Edition {
		return map[string]v1alpha1.Edition{"a": a, "b": b, "c": c}
	}
	standard := three("Standard", "Standard", "Express")
	for name, c := range map[string]struct {
		editions map[string]v1alpha1.Edition
		change   func(*v1alpha1.AvailabilityGroup)
		field    string
		says     string
	}{
		"nothing is known of the servers": {},
		"Developer and Express":           {editions: three("Developer", "Developer", "Express")},
		"Web without data":                {editions: three("Enterprise", "Enterprise", "Web")},
		"Express with data": {editions: map[string]v1alpha1.Edition{"a": "Developer", "b": "Express"},
			field: "spec.replicas[1].availabilityMode", says: "must be ConfigurationOnly: SQLServer b has the edition Express"},
		"Web with data": {editions: map[string]v1alpha1.Edition{"a": "Web"},
			field: "spec.replicas[0].availabilityMode", says: "must be ConfigurationOnly: SQLServer a has the edition Web"},
		"Standard": {editions: standard},
		"Standard with two databases": {editions: standard, change: func(g *v1alpha1.AvailabilityGroup) {
			g.Spec.Databases = []v1alpha1.Database{{Name: "Content"}, {Name: "Orders"}}
		}, field: "spec.databases[1].name", says: "whose groups are basic: one database"},
		"Standard with a readable secondary": {editions: standard, change: func(g *v1alpha1.AvailabilityGroup) {
			g.Spec.Replicas[1].Readable = true
		}, field: "spec.replicas[1].readable", says: "must be false"},
		"Standard with three replicas with data": {editions: three("StandardDeveloper", "Standard", "Standard"),
			change: func(g *v1alpha1.AvailabilityGroup) {
				g.Spec.Replicas[2].AvailabilityMode = v1alpha1.AsynchronousCommit
			}, field: "spec.replicas[2].availabilityMode",
			says: "at most 2 replicas with data, and one that is ConfigurationOnly"},
		"Standard beside Enterprise":     {editions: map[string]v1alpha1.Edition{"a": "Standard", "b": "Enterprise"}},
		"Standard beside a product key":  {editions: map[string]v1alpha1.Edition{"a": "Standard", "b": key}},
		"Enterprise has none of its own": {editions: three("Enterprise", key, "Standard")},
	} {
		t.Run(name, func(t *testing.T) {
			g, w, group := NewWithT(t), withEditions(c.editions), groupOf("Content")
			if c.change != nil {
				c.change(group)
			}
			errs := w.newEditions(field.NewPath("spec"), w, nil, group)
			if c.field == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Field).To(Equal(c.field))
			g.Expect(errs[0].Detail).To(ContainSubstring(c.says))
		})
	}
}

// A group that was stored before its edition was looked at can be changed, and paused; it gets no further error.
func TestAStoredGroupMayBeChangedWhateverItsEditions(t *testing.T) {
	g := NewWithT(t)
	w := withEditions(map[string]v1alpha1.Edition{"a": "Standard", "b": "Standard"})
	stored := groupOf("Content", "Orders")
	paused := stored.DeepCopy()
	paused.Spec.FailoverPolicy = v1alpha1.FailoverPaused
	at := field.NewPath("spec")
	g.Expect(w.newEditions(at, w, stored, paused)).To(BeEmpty())
	paused.Spec.Databases = append(paused.Spec.Databases, v1alpha1.Database{Name: "Blog"})
	g.Expect(w.newEditions(at, w, stored, paused)).To(ContainElement(HaveField("Field", "spec.databases[2].name")))
	higher := withEditions(map[string]v1alpha1.Edition{"a": "Enterprise", "b": "Enterprise"})
	g.Expect(w.newEditions(at, higher, stored, stored)).NotTo(BeEmpty(), "its servers were changed with it")
}

// The server may be declared after its group, or get another edition: the same is refused there, once.
func TestEditionsThatDoNotFitAGroup(t *testing.T) {
	g, at := NewWithT(t), field.NewPath("spec")
	w := withEditions(map[string]v1alpha1.Edition{"a": "Developer", "b": "Developer"})
	w.Groups["content"] = groupOf("Content", "Orders")
	of := func(name string, edition v1alpha1.Edition) *v1alpha1.SQLServer {
		s := w.Servers["a"].DeepCopy()
		s.Name, s.Spec.Edition = name, edition
		return s
	}
	storage := func(errs field.ErrorList) field.ErrorList { // what this test does not declare
		var rest field.ErrorList
		for _, err := range errs {
			if err.Field == "spec.edition" {
				rest = append(rest, err)
			}
		}
		return rest
	}
	g.Expect(storage(w.server(at, nil, of("c", "Express")))).To(BeEmpty(), "it holds no data")
	refused := storage(w.server(at, of("b", "Developer"), of("b", "Express")))
	g.Expect(refused).To(HaveLen(1))
	g.Expect(refused[0].Detail).To(And(ContainSubstring("AvailabilityGroup content"),
		ContainSubstring("spec.replicas[1].availabilityMode")))
	g.Expect(storage(w.server(at, of("a", "Developer"), of("a", "Standard")))).To(HaveLen(1))
	g.Expect(storage(w.server(at, of("b", "Express"), of("b", "Express")))).To(BeEmpty(), "it is as it was")
	g.Expect(storage(w.server(at, nil, of("elsewhere", "Express")))).To(BeEmpty())
}
