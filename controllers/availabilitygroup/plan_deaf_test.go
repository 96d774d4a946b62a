// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// What is written for an agent is not what it has heard: until it has, it renews and claims votes. So the group is
// dropped on its server only once it says so itself, or cannot do anything.
func TestAGroupIsDroppedOnceItsAgentHasHeard(t *testing.T) {
	said := func(w Word) reconcile.Reading[Word] { return reconcile.Read(w) }
	for name, c := range map[string]struct {
		word reconcile.Reading[Word]
		// secondary and primary say whether the group is dropped where the agent's word is this.
		secondary, primary bool
		waits              string
	}{
		"nobody has asked":    {waits: "it was not read"},
		"it does not answer":  {word: reconcile.NotRead[Word](errSilent), waits: errSilent.Error()},
		"it does nothing":     {word: said(Word{Idle: true}), secondary: true, primary: true},
		"it goes on":          {word: said(Word{State: orders.StateGiven}), waits: "has not heard"},
		"it has just begun":   {word: said(Word{State: orders.StateUnheard}), waits: "has not heard"},
		"its last step":       {word: said(Word{State: orders.StateEnded}), waits: "has not heard"},
		"it knows of the end": {word: said(Word{State: orders.StateEnding, EndingID: "6a8b"}), primary: true},
		"of another group's":  {word: said(Word{State: orders.StateEnding, EndingID: "7c9d"}), waits: "has not heard"},
		"of a release that does not tell, with orders": {word: said(Word{}), primary: true},
	} {
		for who, drops := range map[string]bool{"secondary": c.secondary, "primary": c.primary, "former": c.secondary} {
			t.Run(name+", "+who, func(t *testing.T) {
				g := NewWithT(t)
				e := deleted(t)
				o := e.observe()
				server, plans := v1alpha1.ServerName("quisec"), planDelete
				for _, s := range []v1alpha1.ServerName{"tukpub", "quisec", "dubthird"} {
					if who != "primary" {
						o.Agents[s] = idle()
					} else if s != o.primary(e.d) {
						alter(o, s, func(i *Instance) { i.Group = nil })
						o.Agents[s] = idle()
					}
				}
				switch who {
				case "primary":
					server = o.primary(e.d)
					told := *o.Agents[server].Told
					told.Ending, told.EndingID = true, o.Instances[server].Group.ID
					o.Agents[server] = Orders{Told: &told, Word: c.word}
				default:
					o.Agents[server] = Orders{Word: c.word}
				}
				if who == "former" {
					left := func(r v1alpha1.Replica) bool { return r.Server == server }
					e.d.Group.Spec.Replicas = slices.DeleteFunc(e.d.Group.Spec.Replicas, left)
					e.d.Group.Status.Replicas = []v1alpha1.ReplicaStatus{{Server: host(server)}}
					alter(o, o.primary(e.d), func(i *Instance) {
						i.Group.Replicas = slices.DeleteFunc(i.Group.Replicas,
							func(r mssql.GroupReplica) bool { return r.Server == host(server) })
					})
					plans = func(d Desired, o Observed) (p reconcile.Plan) { planFormer(d, o, &p); return p }
				}
				p := plans(e.d, o)
				if drops {
					g.Expect(deeds(p)).To(ContainElement("drop " + string(server)))
					return
				}
				g.Expect(deeds(p)).NotTo(ContainElement("drop " + string(server)))
				if who != "former" {
					g.Expect(p.Done).To(BeFalse())
					g.Expect(p.Outcome.Message).To(ContainSubstring(c.waits))
				}
			})
		}
	}
}

// Where nothing says any more that a secondary's orders have ended, its agent goes on with what it was told before: it
// is told once more, and not again and again.
func TestAnAgentIsToldOfTheEndOnceMore(t *testing.T) {
	for _, ended := range []bool{false, true} {
		g := NewWithT(t)
		e := deleted(t)
		o := e.observe()
		for s := range o.Instances {
			o.Agents[s] = Orders{Ended: true, Word: reconcile.Read(Word{Idle: true})}
		}
		o.Agents["quisec"] = Orders{Ended: ended, Word: reconcile.Read(Word{State: orders.StateGiven})}
		p := planDelete(e.d, o)
		g.Expect(slices.Contains(p.Steps, reconcile.Step(TakeOrders{Server: "quisec"}))).To(Equal(!ended))
	}
}

// A mark that a former group of the name has left says nothing of the one that is there now.
func TestTheMarkOfAFormerGroupIsWrittenAnew(t *testing.T) {
	g := NewWithT(t)
	e := deleted(t)
	o := e.observe()
	primary := o.primary(e.d)
	for s := range o.Instances {
		if s != primary {
			alter(o, s, func(i *Instance) { i.Group = nil })
			o.Agents[s] = idle()
		}
	}
	told := *o.Agents[primary].Told
	told.Ending, told.EndingID = true, "7c9d"
	o.Agents[primary] = Orders{Told: &told, Word: reconcile.Read(Word{State: orders.StateEnding, EndingID: "7c9d"})}
	g.Expect(planDelete(e.d, o).Steps).To(Equal([]reconcile.Step{MarkEnding{Server: primary, Ending: true, ID: "6a8b"}}))
	wanted := told
	wanted.Ending = false
	g.Expect(upToDate(told, wanted, e.now)).To(BeFalse())
	wanted.Ending, wanted.EndingID = true, "6a8b"
	g.Expect(upToDate(told, wanted, e.now)).To(BeFalse())
}

// In which role the other replicas are at FAILOVER may be changed at any time; SECONDARY is what orders say that do not
// name it.
func TestTheRoleAtFailoverIsTold(t *testing.T) {
	for declared, want := range map[v1alpha1.RoleAtFailover]ballot.Role{
		"": "", v1alpha1.AtFailoverSecondary: "", v1alpha1.AtFailoverResolving: ballot.RoleResolving,
	} {
		t.Run(string(declared), func(t *testing.T) {
			g := NewWithT(t)
			group := &v1alpha1.AvailabilityGroup{}
			group.Spec.RoleAtFailover = declared
			told := Desired{Group: group}.orders()
			g.Expect(told.RoleAtFailover).To(Equal(want))
			other := told
			other.RoleAtFailover = ballot.RoleResolving
			g.Expect(upToDate(told, other, time.Now())).To(Equal(want == ballot.RoleResolving))
		})
	}
}

// What an agent says is read from its /status.
func TestTheWordOfAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		word Word
		err  string
	}{
		"it serves the group": {`{"parts":{"election":{"content":{"orders":"Ending","endingID":"6a8b"}}}}`,
			Word{State: orders.StateEnding, EndingID: "6a8b"}, ""},
		"it serves another one":               {`{"parts":{"election":{"other":{"orders":"Given"}}}}`, Word{Idle: true}, ""},
		"it serves none":                      {`{"parts":{"election":{}}}`, Word{Idle: true}, ""},
		"one of a release that does not tell": {`{"parts":{"election":{"content":{"role":"PRIMARY"}}}}`, Word{}, ""},
		"it has no elections":                 {`{"parts":{}}`, Word{}, "does not say which groups"},
		"no answer that can be read":          {`<html>`, Word{}, "tukpub-0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			word, err := wordOf([]byte(c.text), "tukpub", "content")
			if c.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(word).To(Equal(c.word))
		})
	}
}
