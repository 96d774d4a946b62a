// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
)

// listenerServices are the Services of a group: for writers and for readers.
func listenerServices(g *v1alpha1.AvailabilityGroup) []string {
	name := g.Name
	if g.Spec.Listener != nil && g.Spec.Listener.Name != "" {
		name = g.Spec.Listener.Name
	}
	return []string{name, name + "-ro"}
}

// group checks an AvailabilityGroup against the other objects.
func (w *World) group(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	errs := w.voters(at.Child("voters"), g)
	errs = append(errs, w.addedVoters(at.Child("voters"), g)...)
	errs = append(errs, timings(at.Child("timings"), g)...)
	errs = append(errs, w.listener(at.Child("listener", "name"), g)...)
	errs = append(errs, w.groupDatabases(at.Child("databases"), g)...)
	errs = append(errs, w.declaredAlone(at.Child("databases"), g)...)
	for _, p := range sorted(w.Publications) {
		if string(p.Spec.Publisher.AvailabilityGroup) != g.Name {
			continue
		}
		if g.Spec.Contained {
			errs = append(
				errs,
				field.Forbidden(
					at.Child("contained"),
					fmt.Sprintf(
						"Publication %s publishes from this group, and a contained group cannot take part in replication",
						p.Name,
					),
				),
			)
		}
		if d := w.Distributors[string(p.Spec.Distributor)]; d != nil && hosts(g, d.Spec.Server) {
			errs = append(errs, field.Forbidden(at.Child("replicas"), hostsMessage(d, g, p.Name)))
		}
	}
	for _, s := range sorted(w.Subscriptions) {
		if g.Spec.Contained && string(s.Spec.Subscriber.AvailabilityGroup) == g.Name {
			errs = append(
				errs,
				field.Forbidden(
					at.Child("contained"),
					fmt.Sprintf("Subscription %s is to this group, and a contained group cannot take part in replication", s.Name),
				),
			)
		}
	}
	return errs
}

func hosts(g *v1alpha1.AvailabilityGroup, server v1alpha1.ServerName) bool {
	return slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool { return r.Server == server })
}

func hostsMessage(d *v1alpha1.Distributor, g *v1alpha1.AvailabilityGroup, publication string) string {
	return fmt.Sprintf(
		"Distributor %s runs on %s, which hosts a replica of AvailabilityGroup %s, and Publication %s publishes from that "+
			"group through it: the distributor must be on a server outside the group",
		d.Name,
		d.Spec.Server,
		g.Name,
		publication,
	)
}

// addedVoters refuses sites as further voters of a group that exists when they are declared lost: a change begins only
// once all that are new answer. Sites that vote already may be lost; to replace them is what a change is for.
func (w *World) addedVoters(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	if g.Status.GroupID == "" {
		return nil
	}
	var errs field.ErrorList
	for i, voter := range g.Spec.Voters {
		s := w.Sites[string(voter)]
		votes := slices.ContainsFunc(g.Status.Voters, func(v v1alpha1.VoterStatus) bool { return v.Site == string(voter) })
		if !votes && s != nil && s.Spec.Lifecycle == v1alpha1.SiteLost {
			errs = append(
				errs,
				field.Invalid(
					at.Index(i),
					voter,
					"does not vote yet, and is declared lost (lifecycle Lost): a site begins to vote once it answers",
				),
			)
		}
	}
	return errs
}

const (
	// shortestTiming is the least that an interval may be: agents sleep and call in it.
	shortestTiming = 250 * time.Millisecond
	longestExpiry  = 5 * time.Minute
	longestOverrun = time.Minute
)

// voteTimings are those of a new group.
func voteTimings(g *v1alpha1.AvailabilityGroup) ballot.Timings {
	base := ballot.NewGroup()
	if orders.Declares(g.Spec.Timings) {
		base = ballot.DefaultTimings()
	}
	return orders.Timings(g.Spec.Timings, base)
}

// timings refuses those by which two servers could write at a time, or a primary would lose its lease for nothing.
func timings(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	if g.Spec.Timings == nil {
		return nil
	}
	t := voteTimings(g)
	var errs field.ErrorList
	for _, one := range []struct {
		name  string
		value time.Duration
	}{{"renewInterval", t.Renew}, {"apiTimeout", t.APITimeout}, {"agentRestart", t.AgentRestart}} {
		if one.value < shortestTiming {
			errs = append(
				errs,
				field.Invalid(at.Child(one.name), one.value.String(), fmt.Sprintf("must be at least %s", shortestTiming)),
			)
		}
	}
	if t.Expiry > longestExpiry {
		errs = append(
			errs,
			field.Invalid(at.Child("voteExpiry"), t.Expiry.String(), fmt.Sprintf("must be at most %s", longestExpiry)),
		)
	}
	if t.Overrun < 0 || t.Overrun > longestOverrun {
		errs = append(
			errs,
			field.Invalid(at.Child("overrun"), t.Overrun.String(), fmt.Sprintf("must be at most %s", longestOverrun)),
		)
	}
	for _, one := range []struct {
		name  string
		value time.Duration
	}{{"failover", t.Failover}, {"offline", t.Offline}} {
		if one.value < 0 || one.value > longestExpiry {
			errs = append(errs,
				field.Invalid(at.Child(one.name), one.value.String(), fmt.Sprintf("must be at most %s", longestExpiry)))
		}
	}
	errs = append(errs, bounds(at, t)...)
	if g.Spec.ClusterType == v1alpha1.ClusterNone {
		errs = append(errs, field.Forbidden(at, "clusterType None has no votes"))
	}
	return errs
}

// bounds refuses timings between which what safety rests on does not hold, at the field that is to change, with the
// least or the most that it may be.
func bounds(at *field.Path, t ballot.Timings) field.ErrorList {
	var errs field.ErrorList
	if t.WriteLease%time.Second != 0 || t.WriteLease <= 0 {
		errs = append(errs,
			field.Invalid(at.Child("writeLease"), t.WriteLease.String(), "must be whole seconds, at least 1s"))
	}
	if least := t.LeastExpiry(); t.Expiry < least {
		errs = append(errs, field.Invalid(at.Child("voteExpiry"), t.Expiry.String(), fmt.Sprintf("must be at least %s: "+
			"acknowledge (%s) + writeLease (%s) + overrun (%s) + %s until the engine has ended, "+
			"and %g %% for clocks that differ",
			least, t.Acknowledge, t.WriteLease, t.Overrun, t.Kill, 100*t.Drift)))
	}
	if sum := t.Renew + t.Acknowledge + t.AgentRestart; sum >= t.WriteLease {
		errs = append(errs, field.Invalid(at.Child("writeLease"), t.WriteLease.String(), fmt.Sprintf("must be more than %s: "+
			"renewInterval (%s) + acknowledge (%s) + agentRestart (%s)", sum, t.Renew, t.Acknowledge, t.AgentRestart)))
	}
	if t.APITimeout >= t.Acknowledge {
		errs = append(errs, field.Invalid(at.Child("apiTimeout"), t.APITimeout.String(),
			fmt.Sprintf("must be less than acknowledge (%s)", t.Acknowledge)))
	}
	if err := t.Check(); err != nil && len(errs) == 0 {
		errs = append(errs, field.Forbidden(at, err.Error()))
	}
	return errs
}

// voters refuses one API server that would vote twice.
func (w *World) voters(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]v1alpha1.SiteName{}
	for i, voter := range g.Spec.Voters {
		s := w.Sites[string(voter)]
		if s == nil || s.Status.ClusterUID == "" {
			continue
		}
		if other, ok := seen[s.Status.ClusterUID]; ok {
			errs = append(
				errs,
				field.Invalid(
					at.Index(i),
					voter,
					fmt.Sprintf(
						"is the same API server as voter %s, which would vote twice: each voter must be another cluster",
						other,
					),
				),
			)
		}
		seen[s.Status.ClusterUID] = voter
	}
	return errs
}

// listener refuses a name that another group's listener or a server has.
func (w *World) listener(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	mine := listenerServices(g)
	var errs field.ErrorList
	if why := validation.IsDNS1035Label(mine[0]); len(why) > 0 {
		errs = append(
			errs,
			field.Invalid(
				at,
				mine[0],
				"is no name for a Service, which the listener's is (the group's unless given): begin it with a letter, and use "+
					"lower-case letters, digits and hyphens alone",
			),
		)
	}
	for _, other := range sorted(w.Groups) {
		if other.Name == g.Name {
			continue
		}
		for _, service := range listenerServices(other) {
			if slices.Contains(mine, service) {
				errs = append(
					errs,
					field.Invalid(
						at,
						mine[0],
						fmt.Sprintf(
							"its Services are %s, and AvailabilityGroup %s has %s: use another name for the group or its listener",
							strings.Join(mine, " and "),
							other.Name,
							service,
						),
					),
				)
			}
		}
	}
	for name := range w.Servers {
		if slices.Contains(mine, name+"-0") {
			errs = append(
				errs,
				field.Invalid(
					at,
					mine[0],
					fmt.Sprintf("SQLServer %s has the Service %s-0: use another name for the group or its listener", name, name),
				),
			)
		}
	}
	return errs
}

// groupDatabases refuses a database that a server would have in two groups.
func (w *World) groupDatabases(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	var errs field.ErrorList
	for _, other := range sorted(w.Groups) {
		if other.Name == g.Name {
			continue
		}
		for i, db := range g.Spec.Databases {
			if !inGroup(other, db.Name) {
				continue
			}
			for _, r := range g.Spec.Replicas {
				if hosts(other, r.Server) {
					errs = append(
						errs,
						field.Invalid(
							at.Index(i).Child("name"),
							db.Name,
							fmt.Sprintf(
								"is in AvailabilityGroup %s, which server %s hosts too: a database can be in one group",
								other.Name,
								r.Server,
							),
						),
					)
					break
				}
			}
		}
	}
	return errs
}
