// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/apiserver"
)

// parametersWithoutEffect are refused for their agents, each with what its refusal says to do.
var parametersWithoutEffect = map[string]struct{ agent, instead string }{
	"bcpBatchSize":  {"Snapshot", "give it to a profile for the Distribution agent"},
	"maxBcpThreads": {"Distribution", "give it to a profile for the Snapshot agent"},
}

// ruleProfiles gives the schema of AgentProfiles its rules, and takes them; it returns those that it had.
func ruleProfiles(t *testing.T, hub *apiserver.Server, rules []any) []any {
	t.Helper()
	return ruleKind(t, hub, "agentprofiles", rules)
}

// ruleTopologies does so with the rules of the profiles that Topologies have.
func ruleTopologies(t *testing.T, hub *apiserver.Server, rules []any) []any {
	t.Helper()
	return ruleKind(t, hub, "topologies", rules, "properties", "agentProfiles", "items")
}

// ruleKind does so with the rules of what is at a place of a kind's spec.
func ruleKind(t *testing.T, hub *apiserver.Server, kind string, rules []any, place ...string) []any {
	t.Helper()
	g := NewWithT(t)
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	key := client.ObjectKey{Name: kind + ".geosql.dev"}
	g.Expect(hub.Client.Get(t.Context(), key, crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	g.Expect(err).NotTo(HaveOccurred())
	at := append(append([]string{"schema", "openAPIV3Schema", "properties", "spec"}, place...), "x-kubernetes-validations")
	version := versions[0].(map[string]any)
	had, _, err := unstructured.NestedSlice(version, at...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unstructured.SetNestedSlice(version, rules, at...)).To(Succeed())
	g.Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
	g.Expect(hub.Client.Update(t.Context(), crd)).To(Succeed())
	return had
}

// A parameter that its agent makes nothing of is refused; a profile that was stored with it before is changed in
// everything else, and loses it for good.
func TestAProfileThatWasStoredWithAParameterWithoutEffect(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	declared := func(parameter, agent string, more ...string) *unstructured.Unstructured {
		return parse(t, with(profile, "NAME", strings.ToLower(parameter), "AGENT", agent+strings.Join(more, "")))[0]
	}
	had := ruleProfiles(t, hub, nil)
	for parameter, c := range parametersWithoutEffect {
		g.Eventually(func() error {
			return apply(t.Context(), hub.Client, declared(parameter, c.agent, ", "+parameter+": 2"))
		}, "60s", "50ms").Should(Succeed(), parameter)
	}
	g.Expect(slices.ContainsFunc(had, func(r any) bool {
		return strings.Contains(r.(map[string]any)["message"].(string), "has no effect")
	})).To(BeTrue())
	ruleProfiles(t, hub, had)
	for parameter, c := range parametersWithoutEffect {
		fresh := declared(parameter, c.agent, ", "+parameter+": 2")
		fresh.SetName("fresh")
		g.Eventually(func() bool {
			return refusedAt(apply(t.Context(), hub.Client, fresh, client.DryRunAll), "spec."+parameter, c.instead)
		}, "60s", "50ms").Should(BeTrue(), parameter)
		g.Expect(apply(t.Context(), hub.Client, declared(parameter, c.agent, ", packetSize: 4096, "+parameter+": 3"))).
			To(Succeed(), parameter)
		g.Expect(apply(t.Context(), hub.Client, declared(parameter, c.agent))).To(Succeed(), parameter)
		again := apply(t.Context(), hub.Client, declared(parameter, c.agent, ", "+parameter+": 3"))
		g.Expect(refusedAt(again, "spec."+parameter, c.instead)).To(BeTrue(), "it comes again: %v", again)
	}
}

// tightened are parameters whose values were narrowed, by the name of their profile: what was taken before, another
// value that was, and what is taken now.
var tightened = map[string]struct{ agent, field, stored, other, now, instead string }{
	"large": {"Distribution", "packetSize", "32767", "32766", "16383", "packetSize is 512 to 16383"},
	"long": {"LogReader", "historyVerboseLevel", "3", "", "2",
		"historyVerboseLevel is 0 to 2 for the LogReader agent"},
}

// Packets larger than an encrypted connection has are refused, and a history that an agent's documents do not know; a
// profile that was stored with them before keeps them, and is changed in everything else.
func TestAProfileThatWasStoredWithAValueThatIsRefusedNow(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	declared := func(name, value, more string) *unstructured.Unstructured {
		c := tightened[name]
		return parse(t, with(profile, "NAME", name, "AGENT", c.agent+", "+c.field+": "+value+more))[0]
	}
	had := ruleProfiles(t, hub, nil)
	for name, c := range tightened {
		g.Eventually(func() error { return apply(t.Context(), hub.Client, declared(name, c.stored, "")) }, "60s", "50ms").
			Should(Succeed(), name)
	}
	ruleProfiles(t, hub, had)
	for name, c := range tightened {
		fresh := declared(name, c.stored, "")
		fresh.SetName("fresh")
		g.Eventually(func() bool {
			return refusedAt(apply(t.Context(), hub.Client, fresh, client.DryRunAll), "spec."+c.field, c.instead)
		}, "60s", "50ms").Should(BeTrue(), name)

		g.Expect(apply(t.Context(), hub.Client, declared(name, c.stored, ", pollingInterval: 1"))).To(Succeed(), name)
		if c.other != "" {
			other := apply(t.Context(), hub.Client, declared(name, c.other, ", pollingInterval: 1"))
			g.Expect(refusedAt(other, "spec."+c.field, c.instead)).To(BeTrue(), "another one is new: %v", other)
		}
		g.Expect(apply(t.Context(), hub.Client, declared(name, c.now, ", pollingInterval: 1"))).To(Succeed(), name)
		again := apply(t.Context(), hub.Client, declared(name, c.stored, ", pollingInterval: 1"))
		g.Expect(refusedAt(again, "spec."+c.field, c.instead)).To(BeTrue(), "it comes again: %v", again)
	}
}

// A Topology with such a profile is changed in everything else, too, also in other fields of the profile.
func TestATopologyThatWasStoredWithLargePackets(t *testing.T) {
	const instead, at = "packetSize is 512 to 16383", "spec.agentProfiles[].packetSize"
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	declared := func(profiles string) *unstructured.Unstructured {
		return parse(t, with(topology, "NAME", "large")+"  agentProfiles: ["+profiles+"]\n")[0]
	}
	const large = "{name: wan, agent: Distribution, packetSize: 32767}"
	had := ruleTopologies(t, hub, nil)
	g.Eventually(func() error { return apply(t.Context(), hub.Client, declared(large)) }, "60s", "50ms").Should(Succeed())
	ruleTopologies(t, hub, had)
	fresh := declared(large)
	fresh.SetName("fresh")
	g.Eventually(func() bool {
		return refusedAt(apply(t.Context(), hub.Client, fresh, client.DryRunAll), at, instead)
	}, "60s", "50ms").Should(BeTrue())

	const also = "{name: wan, agent: Distribution, packetSize: 32767, pollingInterval: 1}"
	g.Expect(apply(t.Context(), hub.Client, declared("{name: first, agent: Snapshot}, "+also))).To(Succeed())
	more := apply(t.Context(), hub.Client, declared(also+", {name: new, agent: Snapshot, packetSize: 32767}"))
	g.Expect(refusedAt(more, at, instead)).To(BeTrue(), "another profile is new: %v", more)
}

// commands are the command lines of the agents that have a profile.
var commands = map[v1alpha1.ReplicationAgent]func(replication.System, *v1alpha1.AgentProfileSpec) tsql.Command{
	v1alpha1.AgentDistribution: func(s replication.System, p *v1alpha1.AgentProfileSpec) tsql.Command {
		return s.DistributionCommand("pub-0", "Content", tsql.Subscription{Publication: "articles"}, p)
	},
	v1alpha1.AgentLogReader: func(s replication.System, p *v1alpha1.AgentProfileSpec) tsql.Command {
		return s.LogReaderCommand("pub-0", "Content", p, false)
	},
	v1alpha1.AgentSnapshot: func(s replication.System, p *v1alpha1.AgentProfileSpec) tsql.Command {
		return s.SnapshotCommand("pub-0", "Content", "articles", p)
	},
}

// Each parameter of a profile is on the command line of the agents that may have it, as it was declared, and is refused
// for the others; no parameter is refused for all.
func TestEachParameterOfAProfileIsRefusedOrReachesItsAgent(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	parameters := 0
	for field := range reflect.TypeFor[v1alpha1.AgentProfileSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "agent" {
			continue
		}
		parameters++
		value, word := any(int64(minima[name]+2)), fmt.Sprint(minima[name]+2)
		if field.Type.Kind() == reflect.Slice {
			value, word = []any{int64(2601), int64(20598)}, "2601:20598"
		}
		takes := 0
		for agent, command := range commands {
			u := parse(t, with(profile, "NAME", "each", "AGENT", string(agent)))[0]
			g.Expect(unstructured.SetNestedField(u.Object, value, "spec", name)).To(Succeed())
			stored := u.DeepCopy()
			if err := hub.Client.Create(t.Context(), stored, client.DryRunAll); err != nil {
				g.Expect(slices.ContainsFunc(refused(err), func(s said) bool {
					return strings.HasPrefix(s.field, "spec") && strings.Contains(s.message, name)
				})).To(BeTrue(), "%s of agent %s: %v", name, agent, err)
				continue
			}
			takes++
			var p v1alpha1.AgentProfile
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &p)).To(Succeed())
			g.Expect(command(replication.System{Server: "dist", Login: "agents"}, &p.Spec).String()).
				To(MatchRegexp("(?i) -%s %s( |$)", name, word), "agent %s", agent)
		}
		g.Expect(takes).To(BeNumerically(">", 0), "%s is refused for every agent", name)
	}
	g.Expect(parameters).To(BeNumerically(">=", 18))
}

// minima are those of parameters that may not be 2.
var minima = map[string]int{"packetSize": 512, "oledbStreamThreshold": 400}

// refusedAt tells that an error refuses a field and says so of it.
func refusedAt(err error, field, says string) bool {
	return slices.ContainsFunc(refused(err), func(s said) bool {
		return s.field == field && strings.Contains(s.message, says)
	})
}
