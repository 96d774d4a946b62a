// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// mostAlone are as many as a message names.
const mostAlone = 8

// alone finds what names a server alone for a database that a group of the server has. Admission refuses that; the
// group may have come later.
func alone(name v1alpha1.ServerName, around Surroundings) map[string][]string {
	found := map[string][]string{}
	for _, g := range around.Groups {
		if !slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool { return r.Server == name }) {
			continue
		}
		note := func(kind, object string, at v1alpha1.ServerOrGroup, database v1alpha1.DatabaseName) {
			if at.Server == name && g.Spec.Database(string(database)) != nil {
				found[g.Name] = append(found[g.Name], kind+" "+object)
			}
		}
		for _, p := range around.Publications {
			note("Publication", p.Name, p.Spec.Publisher, p.Spec.Database)
		}
		for _, s := range around.Subscriptions {
			note("Subscription", s.Name, s.Spec.Subscriber, s.Spec.Database)
		}
		for _, l := range around.Logins {
			for _, u := range l.Spec.Users {
				note("Login", l.Name, l.Spec.Target, u.Database)
			}
		}
		slices.Sort(found[g.Name])
		found[g.Name] = slices.Compact(found[g.Name])
	}
	return found
}

// most that a status takes: groups, and objects of each (v1alpha1.SQLServerStatus, announced).
const (
	mostGroups    = 16
	mostAnnounced = 128
)

// announce says what a switchover of the group breaks, and has the status say it, too.
func (d Desired) announce(p *reconcile.Plan, group string) string {
	now := waits(*p)
	if breaks := d.broken(group); len(breaks) > 0 && len(now.Announced) < mostGroups &&
		!slices.ContainsFunc(now.Announced, func(a v1alpha1.AnnouncedSwitchover) bool { return string(a.Group) == group }) {
		now.Announced = append(slices.Clone(now.Announced),
			v1alpha1.AnnouncedSwitchover{Group: v1alpha1.ObjectName(group), Breaks: breaks})
		p.Note = now
	}
	return d.breaks(group)
}

// broken are the objects that a switchover of the group breaks, as the status has them.
func (d Desired) broken(group string) []string {
	return d.Alone[group][:min(len(d.Alone[group]), mostAnnounced)]
}

// breaks says what stops working when another server becomes the group's primary; empty when nothing does.
func (d Desired) breaks(group string) string {
	if len(d.Alone[group]) == 0 {
		return ""
	}
	names := d.Alone[group]
	more := ""
	if len(names) > mostAlone {
		names, more = names[:mostAlone], fmt.Sprintf(" and %d more", len(names)-mostAlone)
	}
	return fmt.Sprintf("; these name server %s alone and stop with the switchover, until it is primary again or they "+
		"name AvailabilityGroup %s: %s%s", d.name(), group, strings.Join(names, ", "), more)
}

// told tells that the status says already what a switchover of the group breaks, all of it: that is so before it is
// asked for.
func (d Desired) told(group string) bool {
	return len(d.Alone[group]) == 0 || slices.ContainsFunc(d.Server.Status.Announced,
		func(a v1alpha1.AnnouncedSwitchover) bool {
			return string(a.Group) == group && slices.Equal(a.Breaks, d.broken(group))
		})
}
