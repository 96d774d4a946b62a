// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A copy is given up only when it is stale and the primary has what it has.
func TestStaleCopies(t *testing.T) {
	names := []string{"App", "Shop"}
	local := func(app, shop string) ballot.Inspection {
		i := ballot.Inspection{Names: names}
		for n, state := range map[string]string{"App": app, "Shop": shop} {
			if state != "" {
				i.Databases = append(i.Databases, ballot.DatabaseState{Name: n, Local: true, State: state})
			}
		}
		return i
	}
	in := func(name string) Copy { return Copy{Name: name, State: "ONLINE", InGroup: true} }
	out := func(name, state string) Copy { return Copy{Name: name, State: state} }
	theirs := func(name string) Copy {
		return Copy{Name: name, State: "RESTORING", Other: "a database of availability group blog"}
	}
	for name, c := range map[string]struct {
		wanted []string
		i      ballot.Inspection
		seen   ballot.Observation
		copies []Copy
		apart  bool
		stale  []string
		reason string
		says   string
	}{
		"one is left outside": {i: local("SYNCHRONIZED", ""), copies: []Copy{in("App"), out("Shop", "RESTORING")},
			stale: []string{"Shop"}},
		"one that is named is left outside": {wanted: []string{"shop"}, i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App"), out("Shop", "RESTORING")},
			stale:  []string{"Shop"}},
		"both are, and one is named": {wanted: []string{"App"}, i: local("", ""),
			copies: []Copy{out("App", "RESTORING"), out("Shop", "RESTORING")}, stale: []string{"App"}},
		"one takes no log": {i: local("NOT SYNCHRONIZING", "SYNCHRONIZED"),
			copies: []Copy{in("App"), in("Shop")}, stale: []string{"App"}},
		"one was seen suspended": {i: local("SYNCHRONIZING", "SYNCHRONIZED"),
			seen: ballot.Observation{Suspended: []string{"App"}}, copies: []Copy{in("App"), in("Shop")}, stale: []string{"App"}},
		"one is in the group without a row": {i: local("", "SYNCHRONIZED"), copies: []Copy{in("App"), in("Shop")},
			stale: []string{"App"}},
		"every one follows": {i: local("SYNCHRONIZED", "SYNCHRONIZING"),
			copies: []Copy{in("App"), in("Shop")}, reason: votes.ReasonNotQuarantined},
		"the one that is named follows": {wanted: []string{"App"}, i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App"), out("Shop", "RESTORING")}, reason: votes.ReasonNotQuarantined},
		"it is gone already": {wanted: []string{"Shop"}, i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App")}, reason: votes.ReasonNotQuarantined},
		"it is written to beside the group": {wanted: []string{"Shop"}, i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App"), out("Shop", "ONLINE")}, reason: votes.ReasonOwnData},
		"it was written to, and is OFFLINE": {wanted: []string{"Shop"}, i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App"), out("Shop", "OFFLINE")}, reason: votes.ReasonOwnData},
		"it was written to, and recovers": {wanted: []string{"Shop"}, i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App"), out("Shop", "RECOVERING")}, reason: votes.ReasonOwnData},
		"another is written to, of all": {i: local("", ""),
			copies: []Copy{out("App", "RESTORING"), out("Shop", "ONLINE")}, reason: votes.ReasonOwnData},
		"another is written to, of one": {wanted: []string{"App"}, i: local("", ""),
			copies: []Copy{out("App", "RESTORING"), out("Shop", "ONLINE")}, stale: []string{"App"}},
		"a failover with data loss is open": {wanted: []string{"App"}, i: local("", ""),
			copies: []Copy{out("App", "RESTORING")}, apart: true, reason: votes.ReasonOwnData},
		"another group has it": {wanted: []string{"Shop"}, i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App"), theirs("Shop")}, reason: votes.ReasonOwnData, says: "availability group blog"},
		"another group has it, of all": {i: local("SYNCHRONIZED", ""),
			copies: []Copy{in("App"), theirs("Shop")}, reason: votes.ReasonOwnData, says: "availability group blog"},
		"another group has one, and one is stale": {i: local("", ""),
			copies: []Copy{out("App", "RESTORING"), theirs("Shop")}, stale: []string{"App"}},
		"it takes no log, and another's copy does": {i: ballot.Inspection{Names: names, Databases: []ballot.DatabaseState{
			{Server: "rival-0", Name: "App", State: "SYNCHRONIZED"}, {Name: "App", Local: true, State: "NOT SYNCHRONIZING"},
			{Name: "Shop", Local: true, State: "SYNCHRONIZED"},
		}}, copies: []Copy{in("App"), in("Shop")}, stale: []string{"App"}},
		"it follows, and another's copy takes no log": {i: ballot.Inspection{Names: names, Databases: []ballot.DatabaseState{
			{Server: "rival-0", Name: "App", State: "NOT SYNCHRONIZING"}, {Name: "App", Local: true, State: "SYNCHRONIZED"},
			{Name: "Shop", Local: true, State: "SYNCHRONIZED"},
		}}, copies: []Copy{in("App"), in("Shop")}, reason: votes.ReasonNotQuarantined},
		"it is none of the group's": {wanted: []string{"Other"}, i: local("", ""), reason: votes.ReasonNoSuchDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stale, no := staleOf(c.wanted, c.i, c.seen, c.copies, c.apart)
			g.Expect(stale).To(Equal(c.stale))
			if c.reason == "" {
				g.Expect(no).To(BeNil())
			} else {
				g.Expect(no).NotTo(BeNil())
				g.Expect(no.reason).To(Equal(c.reason))
				g.Expect(no.message).To(ContainSubstring(c.says))
			}
		})
	}
}
