// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/tsql"
)

// publisherName names a publisher or subscriber in a message.
func publisherName(p v1alpha1.ServerOrGroup) string {
	if p.AvailabilityGroup != "" {
		return "AvailabilityGroup " + string(p.AvailabilityGroup)
	}
	return "SQLServer " + string(p.Server)
}

// distributor checks a Distributor against the other objects.
func (w *World) distributor(at *field.Path, d *v1alpha1.Distributor) field.ErrorList {
	errs := w.distributes(at, d)
	for _, other := range sorted(w.Distributors) {
		if other.Name != d.Name && other.Spec.Server == d.Spec.Server {
			errs = append(
				errs,
				field.Duplicate(
					at.Child("server"),
					fmt.Sprintf("%s is Distributor %s already: an instance is one distributor", d.Spec.Server, other.Name),
				),
			)
		}
	}
	for _, p := range sorted(w.Publications) {
		if string(p.Spec.Distributor) != d.Name {
			continue
		}
		if g := w.Groups[string(p.Spec.Publisher.AvailabilityGroup)]; g != nil && hosts(g, d.Spec.Server) {
			errs = append(errs, field.Invalid(at.Child("server"), d.Spec.Server, hostsMessage(d, g, p.Name)))
		}
		if !admits(d, p.Spec.Publisher) {
			errs = append(
				errs,
				field.Invalid(
					at.Child("publishers"),
					len(d.Spec.Publishers),
					fmt.Sprintf(
						"%s must stay listed: Publication %s publishes from it through this distributor",
						publisherName(p.Spec.Publisher),
						p.Name,
					),
				),
			)
		}
	}
	return errs
}

// admits reports whether a publisher may use a distributor; an empty list admits everybody.
func admits(d *v1alpha1.Distributor, p v1alpha1.ServerOrGroup) bool {
	return len(d.Spec.Publishers) == 0 || slices.Contains(d.Spec.Publishers, p)
}

// publication checks a Publication against the other objects.
func (w *World) publication(at *field.Path, p *v1alpha1.Publication) field.ErrorList {
	var errs field.ErrorList
	group := w.Groups[string(p.Spec.Publisher.AvailabilityGroup)]
	if group != nil && group.Spec.Contained {
		errs = append(
			errs,
			field.Invalid(
				at.Child("publisher", "availabilityGroup"),
				group.Name,
				"is contained, and a contained group cannot take part in replication: use a group that is not",
			),
		)
	}
	if w.strict && group != nil && !inGroup(group, p.Spec.Database) {
		errs = append(errs, field.NotSupported(at.Child("database"), p.Spec.Database, group.Spec.DatabaseNames()))
	}
	if d := w.Distributors[string(p.Spec.Distributor)]; d != nil {
		if group != nil && hosts(group, d.Spec.Server) {
			errs = append(errs, field.Invalid(at.Child("distributor"), d.Name, hostsMessage(d, group, p.Name)))
		}
		if !admits(d, p.Spec.Publisher) {
			errs = append(
				errs,
				field.Invalid(
					at.Child("distributor"),
					d.Name,
					fmt.Sprintf("does not admit %s: add it to the Distributor's spec.publishers", publisherName(p.Spec.Publisher)),
				),
			)
		}
	}
	for _, other := range sorted(w.Publications) {
		if other.Name != p.Name && other.Spec.Publisher == p.Spec.Publisher && other.Spec.Distributor != p.Spec.Distributor {
			errs = append(
				errs,
				field.Invalid(
					at.Child("distributor"),
					p.Spec.Distributor,
					fmt.Sprintf(
						"%s uses Distributor %s for Publication %s: a publisher has one distributor",
						publisherName(p.Spec.Publisher),
						other.Spec.Distributor,
						other.Name,
					),
				),
			)
		}
	}
	for i, a := range p.Spec.Articles {
		same := func(b v1alpha1.Article) bool { return a.Table != "" && strings.EqualFold(a.Table, b.Table) }
		if slices.ContainsFunc(p.Spec.Articles[:i], same) {
			errs = append(errs, field.Duplicate(at.Child("articles").Index(i).Child("table"), a.Table))
		}
		if err := tsql.CheckFilter(a.Filter); err != nil {
			errs = append(errs, field.Invalid(at.Child("articles").Index(i).Child("filter"), a.Filter,
				"it must be the condition of a WHERE clause, without the word, and nothing else: "+err.Error()))
		}
	}
	errs = append(errs, w.scheduled(at, p)...)
	errs = append(errs, w.broughtForAll(at, p)...)
	errs = append(errs, w.profile(at.Child("logReaderProfile"), p.Spec.LogReaderProfile, v1alpha1.AgentLogReader)...)
	errs = append(errs, w.profile(at.Child("snapshotProfile"), p.Spec.SnapshotProfile, v1alpha1.AgentSnapshot)...)
	return errs
}

func inGroup(g *v1alpha1.AvailabilityGroup, database v1alpha1.DatabaseName) bool {
	return g.Spec.Database(string(database)) != nil
}

// profile refuses an AgentProfile that is for another agent.
func (w *World) profile(at *field.Path, name v1alpha1.ObjectName, agent v1alpha1.ReplicationAgent) field.ErrorList {
	p := w.Profiles[string(name)]
	if p == nil || p.Spec.Agent == agent {
		return nil
	}
	return field.ErrorList{
		field.Invalid(
			at,
			name,
			fmt.Sprintf("is a profile for the %s agent: one with agent %s is needed", p.Spec.Agent, agent),
		),
	}
}

// subscription checks a Subscription against the other objects.
func (w *World) subscription(at *field.Path, s *v1alpha1.Subscription) field.ErrorList {
	errs := w.profile(at.Child("profile"), s.Spec.Profile, v1alpha1.AgentDistribution)
	errs = append(errs, w.unscheduled(at, s)...)
	errs = append(errs, w.broughtFor(at, s)...)
	if g := w.Groups[string(s.Spec.Subscriber.AvailabilityGroup)]; g != nil && g.Spec.Contained {
		errs = append(
			errs,
			field.Invalid(
				at.Child("subscriber", "availabilityGroup"),
				g.Name,
				"is contained, and a contained group cannot take part in replication: use a group that is not",
			),
		)
	}
	for _, other := range sorted(w.Subscriptions) {
		if other.Name != s.Name && other.Spec.Publication == s.Spec.Publication &&
			other.Spec.Subscriber == s.Spec.Subscriber &&
			strings.EqualFold(string(other.Spec.Database), string(s.Spec.Database)) {
			errs = append(
				errs,
				field.Duplicate(
					at.Child("database"),
					fmt.Sprintf("%s: Subscription %s delivers the same publication there", s.Spec.Database, other.Name),
				),
			)
		}
	}
	p := w.Publications[string(s.Spec.Publication)]
	if p == nil || !strings.EqualFold(string(p.Spec.Database), string(s.Spec.Database)) {
		return errs
	}
	if w.overlap(p.Spec.Publisher, s.Spec.Subscriber) {
		errs = append(
			errs,
			field.Invalid(
				at.Child("database"),
				s.Spec.Database,
				fmt.Sprintf("is the published database itself: %s publishes it", publisherName(p.Spec.Publisher)),
			),
		)
	}
	return errs
}

// overlap reports whether two of publisher and subscriber have a server in common.
func (w *World) overlap(a, b v1alpha1.ServerOrGroup) bool {
	servers := func(x v1alpha1.ServerOrGroup) []v1alpha1.ServerName {
		if x.Server != "" {
			return []v1alpha1.ServerName{x.Server}
		}
		var list []v1alpha1.ServerName
		if g := w.Groups[string(x.AvailabilityGroup)]; g != nil {
			for _, r := range g.Spec.Replicas {
				list = append(list, r.Server)
			}
		}
		return list
	}
	other := servers(b)
	return slices.ContainsFunc(servers(a), func(s v1alpha1.ServerName) bool { return slices.Contains(other, s) })
}

// replicaOf is the group that a server has a database of, nil when it has the database for itself. A configuration-only
// replica has no databases.
func (w *World) replicaOf(server v1alpha1.ServerName, database v1alpha1.DatabaseName) *v1alpha1.AvailabilityGroup {
	for _, g := range sorted(w.Groups) {
		hosted := slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool {
			return r.Server == server && r.AvailabilityMode != v1alpha1.ConfigurationOnly
		})
		if hosted && inGroup(g, database) {
			return g
		}
	}
	return nil
}

// publishesForItself refuses a publisher that is named as a server while the database is a group's: it would publish
// until the first failover, and the log of the next primary would be held for nobody. old is nil on creation; what is
// there already can be edited, and says for itself that it does not work.
func (w *World) publishesForItself(at *field.Path, old, p *v1alpha1.Publication) field.ErrorList {
	if old != nil && old.Spec.Publisher == p.Spec.Publisher && old.Spec.Database == p.Spec.Database {
		return nil
	}
	g := w.replicaOf(p.Spec.Publisher.Server, p.Spec.Database)
	if g == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("publisher", "server"), p.Spec.Publisher.Server, fmt.Sprintf(
		"database %s is in AvailabilityGroup %s, whose primary moves: name publisher.availabilityGroup %s",
		p.Spec.Database, g.Name, g.Name))}
}

// receivesForItself refuses a subscriber whose database is a group's: a group as subscriber is not supported, and its
// replica receives until the first failover.
func (w *World) receivesForItself(at *field.Path, old, s *v1alpha1.Subscription) field.ErrorList {
	if old != nil && old.Spec.Subscriber == s.Spec.Subscriber && old.Spec.Database == s.Spec.Database {
		return nil
	}
	g := w.replicaOf(s.Spec.Subscriber.Server, s.Spec.Database)
	if g == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("subscriber", "server"), s.Spec.Subscriber.Server, fmt.Sprintf(
		"database %s is in AvailabilityGroup %s, whose primary moves, and a group cannot receive: name another database, "+
			"or a server outside of the group",
		s.Spec.Database, g.Name))}
}

// groupReceives refuses a group as subscriber, which nothing delivers to. What is there already can be edited, and says
// for itself that it does not work.
func groupReceives(at *field.Path, old, s *v1alpha1.Subscription) field.ErrorList {
	if s.Spec.Subscriber.AvailabilityGroup == "" || old != nil {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("subscriber", "availabilityGroup"), s.Spec.Subscriber.AvailabilityGroup,
		"a group cannot receive yet: name the server that does, as subscriber.server")}
}

// usesForItself refuses users that a login of one server would have in a database of a group: they are made at the
// primary alone, and after a failover nobody could log in there. What is there already can be edited.
func (w *World) usesForItself(at *field.Path, old, l *v1alpha1.Login) field.ErrorList {
	var errs field.ErrorList
	for i, u := range l.Spec.Users {
		g := w.replicaOf(l.Spec.Target.Server, u.Database)
		if g == nil || old != nil && slices.ContainsFunc(old.Spec.Users, func(was v1alpha1.LoginUser) bool {
			return strings.EqualFold(string(was.Database), string(u.Database))
		}) {
			continue
		}
		errs = append(errs, field.Invalid(at.Child("users").Index(i).Child("database"), u.Database, fmt.Sprintf(
			"database %s is in AvailabilityGroup %s, whose primary moves, and the login would be on SQLServer %s alone: "+
				"name target.availabilityGroup %s",
			u.Database, g.Name, l.Spec.Target.Server, g.Name)))
	}
	return errs
}

// takesOver refuses databases that a group would take from what a server publishes or receives for itself. Only what an
// update adds counts: everything else of a group has to stay editable.
func (w *World) takesOver(at *field.Path, old, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	var errs field.ErrorList
	before := NewWorld()
	if old != nil {
		before.Groups[old.Name] = old
	}
	after := NewWorld()
	after.Groups[g.Name] = g
	check := func(kind, name string, server v1alpha1.ServerName, database v1alpha1.DatabaseName, instead string) {
		if after.replicaOf(server, database) == nil || before.replicaOf(server, database) != nil {
			return
		}
		errs = append(errs, field.Forbidden(at.Child("databases"), fmt.Sprintf(
			"%s %s names database %s of SQLServer %s, and would work until the first failover alone: %s",
			kind, name, database, server, instead)))
	}
	for _, p := range sorted(w.Publications) {
		check("Publication", p.Name, p.Spec.Publisher.Server, p.Spec.Database, fmt.Sprintf(
			"delete it first, and declare it again with publisher.availabilityGroup %s", g.Name))
	}
	for _, s := range sorted(w.Subscriptions) {
		check("Subscription", s.Name, s.Spec.Subscriber.Server, s.Spec.Database,
			"a group cannot receive; delete it first, or leave the database out")
	}
	return errs
}
