// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

func groupOf(names ...v1alpha1.DatabaseName) *v1alpha1.AvailabilityGroup {
	var databases []v1alpha1.Database
	for _, name := range names {
		databases = append(databases, v1alpha1.Database{Name: name})
	}
	return &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{Databases: databases,
			Replicas: []v1alpha1.Replica{
				{Server: "a"},
				{Server: "b"},
				{Server: "c", AvailabilityMode: v1alpha1.ConfigurationOnly},
			}},
	}
}

func publishing(server v1alpha1.ServerName, database v1alpha1.DatabaseName) *v1alpha1.Publication {
	return &v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Name: "articles"},
		Spec: v1alpha1.PublicationSpec{Publisher: v1alpha1.ServerOrGroup{Server: server}, Database: database}}
}

func receiving(server v1alpha1.ServerName, database v1alpha1.DatabaseName) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: "dublin"},
		Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles",
			Subscriber:  v1alpha1.ServerOrGroup{Server: server},
			Database:    database,
		}}
}

// A server in place of its group works until the first failover: it is refused, whichever of the two comes first, and
// what is there can be edited.
func TestServersInPlaceOfTheirGroup(t *testing.T) {
	g, at := NewWithT(t), field.NewPath("spec")
	w := NewWorld()
	w.Groups["content"] = groupOf("Content")
	for _, c := range []struct {
		server   v1alpha1.ServerName
		database v1alpha1.DatabaseName
		refused  bool
	}{{"a", "Content", true}, {"b", "CONTENT", true}, {"a", "Other", false}, {"c", "Content", false},
		{"d", "Content", false}, {"", "Content", false}} {
		published := w.publishesForItself(at, nil, publishing(c.server, c.database))
		received := w.receivesForItself(at, nil, receiving(c.server, c.database))
		if !c.refused {
			g.Expect(append(published, received...)).To(BeEmpty(), "%+v", c)
			continue
		}
		g.Expect(published.ToAggregate()).
			To(MatchError(And(ContainSubstring("spec.publisher.server"),
				ContainSubstring("name publisher.availabilityGroup content"))))
		g.Expect(received.ToAggregate()).
			To(MatchError(And(ContainSubstring("spec.subscriber.server"), ContainSubstring("outside of the group"))))
	}
	p, s := publishing("a", "Content"), receiving("b", "Content")
	edited := p.DeepCopy()
	edited.Spec.Articles = []v1alpha1.Article{{Table: "dbo.More"}}
	g.Expect(w.publishesForItself(at, p, edited)).To(BeEmpty(), "it is there")
	g.Expect(w.receivesForItself(at, s, s)).To(BeEmpty())
	g.Expect(w.publishesForItself(at, publishing("d", "Content"), p)).NotTo(BeEmpty(), "it was moved here")

	w = NewWorld()
	w.Publications["articles"], w.Subscriptions["dublin"] = p, s
	g.Expect(w.takesOver(at, nil, groupOf("Content")).ToAggregate()).
		To(MatchError(And(ContainSubstring("Publication articles"), ContainSubstring("Subscription dublin"))))
	g.Expect(w.takesOver(at, groupOf("Other"), groupOf("Other", "Content"))).To(HaveLen(2))
	g.Expect(w.takesOver(at, groupOf("Content"), groupOf("Content", "Other"))).
		To(BeEmpty(), "what was there stays editable")
	g.Expect(w.takesOver(at, nil, groupOf("Other"))).To(BeEmpty())
}

// A login of one replica for a database of the group is refused; one for what the server has for itself is not.
func TestALoginOfAReplicaInPlaceOfItsGroup(t *testing.T) {
	g, at := NewWithT(t), field.NewPath("spec")
	w := NewWorld()
	w.Groups["content"] = groupOf("Content")
	using := func(server v1alpha1.ServerName, databases ...v1alpha1.DatabaseName) *v1alpha1.Login {
		l := &v1alpha1.Login{Spec: v1alpha1.LoginSpec{Target: v1alpha1.ServerOrGroup{Server: server}}}
		for _, d := range databases {
			l.Spec.Users = append(l.Spec.Users, v1alpha1.LoginUser{Database: d})
		}
		return l
	}
	g.Expect(w.usesForItself(at, nil, using("a", "Other", "CONTENT")).ToAggregate()).
		To(MatchError(And(ContainSubstring("spec.users[1].database"),
			ContainSubstring("name target.availabilityGroup content"))))
	for _, l := range []*v1alpha1.Login{using("a"), using("a", "Other"), using("c", "Content"), using("d", "Content"),
		using("", "Content")} {
		g.Expect(w.usesForItself(at, nil, l)).To(BeEmpty(), "%+v", l.Spec)
	}
	g.Expect(w.usesForItself(at, using("a", "Content"), using("a", "Content", "Other"))).To(BeEmpty(), "it is there")
	g.Expect(w.usesForItself(at, using("a", "Other"), using("a", "Content", "Other"))).To(HaveLen(1))
}
