// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// steps are what a plan would do, a line each.
func steps(p reconcile.Plan) string {
	var lines []string
	for _, s := range p.Steps {
		lines = append(lines, s.Describe())
	}
	return strings.Join(lines, "\n")
}

// empties gives a server new volumes, on which its endpoint was made again.
func (e *environ) empties(server v1alpha1.ServerName) {
	e.servers[server].joined, e.servers[server].granted = false, false
	clear(e.servers[server].mirroring.Databases)
	if e.group.primary == server {
		e.group.primary = ""
	}
}

// Databases and the group are made once. Afterwards nothing is made because those who answer have nothing.
func TestNothingIsMadeWhereAGroupMayBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*environ, *Observed)
		reason string
		says   []string
	}{
		"the first primary has new volumes, and nobody else answers": {
			change: func(_ *environ, o *Observed) {
				o.Instances["quisec"], o.Instances["dubcfg"] = Instance{Err: errSilent}, Instance{Err: errSilent}
			}, reason: v1alpha1.ReasonReplicaNotAnswering, says: []string{"no answer from quisec", "lost-volumes.md"}},
		"the others' sites are lost": {
			change: func(_ *environ, o *Observed) {
				o.Instances["quisec"], o.Instances["dubcfg"] = Instance{Err: sites.ErrSiteLost}, Instance{Err: sites.ErrSiteLost}
			}, reason: v1alpha1.ReasonGroupLost,
			says: []string{"no server that answers has a database of it", "lost-volumes.md"}},
		"nobody has the group any more": {
			change: func(_ *environ, o *Observed) {
				alter(*o, "quisec", func(i *Instance) { i.Group = nil })
				alter(*o, "dubcfg", func(i *Instance) { i.Group = nil })
			}, reason: v1alpha1.ReasonGroupLost, says: []string{"Content is on quisec"}},
		"a hub that knows of no group, and a replica that does not answer": {
			change: func(e *environ, o *Observed) {
				e.d.Group.Status = v1alpha1.AvailabilityGroupStatus{}
				alter(*o, "quisec", func(i *Instance) { i.Group = nil })
				o.Instances["dubcfg"] = Instance{Err: errSilent}
			}, reason: v1alpha1.ReasonReplicaNotAnswering, says: []string{"no answer from dubcfg"}},
		"a hub that knows of no group, and votes of one": {
			change: func(e *environ, o *Observed) {
				e.d.Group.Status = v1alpha1.AvailabilityGroupStatus{}
				alter(*o, "quisec", func(i *Instance) { i.Group, i.Mirroring.Databases = nil, nil })
				alter(*o, "dubcfg", func(i *Instance) { i.Group = nil })
				for i := range o.Voters {
					o.Voters[i].Record = votes.Record{Term: 3, State: votes.StateHeld,
						Holder: votes.Holder{Server: "quisec-0"}}
				}
			}, reason: v1alpha1.ReasonCreating, says: []string{"term 3 of quisec-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			e.empties("tukpub")
			o := e.observe()
			c.change(e, &o)
			p := plan(e.d, o)
			g.Expect(steps(p)).
				NotTo(Or(ContainSubstring("CREATE DATABASE"), ContainSubstring("BACKUP"), ContainSubstring("CREATE AVAILABILITY")))
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			for _, says := range c.says {
				g.Expect(p.Outcome.Message).To(ContainSubstring(says))
			}
		})
	}
}

// A database that the group is to have is made where no replica has one of the name: it may be the data that is meant.
func TestADatabaseIsNotMadeBesideAnother(t *testing.T) {
	for name, before := range map[string]func(*environ){
		"before there is a group": func(*environ) {},
		"in a group that is there": func(e *environ) {
			e.settle(everything)
			e.d.Group.Spec.Databases = []v1alpha1.Database{{Name: "Content"}, {Name: "Orders"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			before(e)
			wanted := string(e.d.Group.Spec.Databases[len(e.d.Group.Spec.Databases)-1].Name)
			e.servers["quisec"].mirroring.Databases[wanted] = mssql.Database{
				Name:          wanted,
				State:         "ONLINE",
				RecoveryModel: "FULL",
				Owner:         "sa",
			}
			p := e.settle(everything)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDatabaseMissing), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring("quisec has one of the name"))
			g.Expect(strings.Join(e.done, "\n")).NotTo(ContainSubstring("CREATE DATABASE [" + wanted))
		})
	}
}
