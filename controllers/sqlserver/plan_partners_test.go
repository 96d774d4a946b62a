// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// groupOf is a declared group of the servers.
func groupOf(name string, servers ...v1alpha1.ServerName) v1alpha1.AvailabilityGroup {
	g := v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}}
	for _, s := range servers {
		g.Spec.Replicas = append(g.Spec.Replicas, v1alpha1.Replica{Server: s})
	}
	return g
}

// trusting is an engine that lets servers connect to its endpoint, and has replicas of groups with others.
func trusting(t *testing.T, around Surroundings, trusts, groups, hosts []string) *environ {
	t.Helper()
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	agent := e.d.AgentImage
	e.d = declared(server(), around)
	e.d.AgentImage = agent
	p := mssql.Partners{Hosts: hosts, Endpoint: tsql.MirroringEndpoint, Connectors: map[string]bool{},
		Certificates: map[string][]string{}, Users: map[string]string{}}
	for _, s := range trusts {
		login := "geosql_partner_" + s
		e.o.Engine.Logins[login] = mssql.Login{SID: credentials.SID("web", login)}
		p.Connectors[login], p.Users[login] = true, login
		p.Certificates[login] = []string{"geosql_" + s + "_1", "geosql_" + s + "_2"}
	}
	e.o.Engine.Groups, e.o.Engine.Partners = groups, reconcile.Read(p)
	return e
}

// taken are the names of what statements that stand beside the others take away, in order.
func taken(p reconcile.Plan) (all []string) {
	for _, s := range p.Aside {
		if x, ok := s.Step.(mssql.Execute); ok {
			all = append(all, x.Statement.Reason)
		}
	}
	return all
}

// A server that shares no group with this one any more may not connect to its endpoint, on whichever side of the group
// it was. Whatever may still need it keeps it.
func TestAFormerPartnerIsTrustedNoMore(t *testing.T) {
	const partner = "geosql_partner_quisec"
	all := []string{"let " + partner + " connect to endpoint Hadr_endpoint no more",
		"trust certificate geosql_quisec_1 no more", "trust certificate geosql_quisec_2 no more",
		"drop user " + partner, "drop login " + partner}
	left := Surroundings{Groups: []v1alpha1.AvailabilityGroup{groupOf("content", "tukpub", "dubsec")}}
	for name, c := range map[string]struct {
		around Surroundings
		groups []string
		hosts  []string
		change func(*environ)
		want   []string
	}{
		"one left the group of this server": {around: left, groups: []string{"content"},
			hosts: []string{"TUKPUB-0", "DUBSEC-0"}, want: all[:4]},
		"this server left the group": {
			around: Surroundings{Groups: []v1alpha1.AvailabilityGroup{groupOf("content", "quisec", "dubsec")}}, want: all[:4]},
		"the group is gone": {want: all[:4]},
		"it is still declared": {
			around: Surroundings{Groups: []v1alpha1.AvailabilityGroup{groupOf("content", "tukpub", "quisec")}}},
		"another group has it": {around: Surroundings{Groups: []v1alpha1.AvailabilityGroup{
			groupOf("content", "tukpub", "dubsec"), groupOf("blog", "tukpub", "quisec")}}, groups: []string{"content"}},
		"the configuration still has it": {around: left, groups: []string{"content"},
			hosts: []string{"tukpub-0", "QUISEC-0"}},
		"the engine hosts a group that nobody declares": {around: left, groups: []string{"content", "kept"},
			hosts: []string{"tukpub-0"}},
		"nobody knows which groups it hosts": {around: left,
			change: func(e *environ) { e.o.Engine.Groups, e.o.Engine.GroupsKnown = nil, false }},
		"nobody knows with whom it exchanges log": {around: left, change: func(e *environ) {
			e.o.Engine.Partners = reconcile.NotRead[mssql.Partners](errors.New("no answer"))
		}},
		"it was not asked": {around: left, change: func(e *environ) {
			e.o.Engine.Partners = reconcile.Reading[mssql.Partners]{}
		}},
		"a group spans groups": {around: left, groups: []string{"content"}, change: func(e *environ) {
			p, _ := e.o.Engine.Partners.Get()
			p.Distributed = true
			e.o.Engine.Partners = reconcile.Read(p)
		}},
		"the login is somebody else's": {around: left, change: func(e *environ) {
			e.o.Engine.Logins[partner] = mssql.Login{SID: []byte{7}}
		}},
		"sa is shut out": {around: left, change: func(e *environ) {
			e.o.Engine.Refused[credentials.RoleSA] = &mssql.Error{Class: mssql.LoginFailed, Err: errors.New("18456")}
		}},
		"the login is all that is left": {around: left, change: func(e *environ) {
			e.o.Engine.Partners = reconcile.Read(mssql.Partners{Endpoint: tsql.MirroringEndpoint})
		}, want: all[4:]},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := trusting(t, c.around, []string{"quisec"}, c.groups, c.hosts)
			if c.change != nil {
				c.change(e)
			}
			var p reconcile.Plan
			g.Expect(planFormerPartners(e.d, e.o, &p)).To(BeTrue(), "nothing waits for it")
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(taken(p)).To(Equal(c.want))
			for _, s := range p.Aside {
				x := s.Step.(mssql.Execute)
				g.Expect(x.Role).To(Equal(credentials.RoleSA))
				g.Expect(x.Statement.Text).To(ContainSubstring("replica_server_name = N'quisec-0'"), "it is asked again")
			}
		})
	}
}

// It is asked with whom the engine exchanges log only where there is something to take away.
func TestPartnersAreAskedForWhereOneIsFormer(t *testing.T) {
	g := NewWithT(t)
	around := Surroundings{Groups: []v1alpha1.AvailabilityGroup{groupOf("content", "tukpub", "quisec")}}
	e := trusting(t, around, []string{"quisec", "dubsec", "aaa"}, nil, nil)
	g.Expect(formerPartners(e.d, e.o.Engine)).To(Equal([]v1alpha1.ServerName{"aaa", "dubsec"}))
	e = trusting(t, around, []string{"quisec"}, nil, nil)
	g.Expect(formerPartners(e.d, e.o.Engine)).To(BeEmpty())
}

// A refusal of it holds up nothing: the server serves, and Ready says what the engine answers.
func TestAFormerPartnerThatStaysHoldsUpNothing(t *testing.T) {
	g := NewWithT(t)
	e := trusting(t, Surroundings{}, []string{"quisec"}, nil, nil)
	carryOut := func(_ context.Context, s reconcile.Step) error {
		if strings.Contains(s.Describe(), "DROP USER") {
			return errors.New("error 15138")
		}
		return nil
	}
	p := plan(e.d, e.o)
	failed := reconcile.WithAside(t.Context(), p, carryOut, func() error { return nil })
	conditions.Set(&e.d.Server.Status.StatusBase, 1, reconcile.Outcome(p.Outcome, failed))
	ready := apimeta.FindStatusCondition(e.d.Server.Status.Conditions, v1alpha1.ConditionReady)
	g.Expect(ready.Reason).To(Equal(v1alpha1.ReasonPartnerTrusted))
	g.Expect(ready.Message).To(ContainSubstring("15138"))
	g.Expect(e.d.Server.Status.Serves()).To(BeTrue())
}
