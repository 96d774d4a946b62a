// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// at is the position of the first step whose description has the text.
func at(t testing.TB, done []string, text string) int {
	t.Helper()
	i := slices.IndexFunc(done, func(d string) bool { return strings.Contains(d, text) })
	if i < 0 {
		t.Fatalf("no step has %q among %q", text, done)
	}
	return i
}

func TestPlanMakesAGroup(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	p := e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSynchronized))
	g.Expect(e.group.primary).To(BeEquivalentTo("tukpub"))
	g.Expect(e.group.required).To(Equal(0), "two synchronous replicas and a configuration-only one: 0")
	g.Expect(e.group.listeners).
		To(Equal([]mssql.GroupListener{{Name: "content", IP: "10.96.7.7", Mask: listenerMask, Port: 1433}}))
	g.Expect(e.servers["dubcfg"].granted).To(BeFalse(), "a configuration-only replica refuses the grant")
	g.Expect(e.servers["dubcfg"].mirroring.Databases).To(BeEmpty())
	g.Expect(e.servers["quisec"].mirroring.Databases).To(HaveKey("Content"))
	g.Expect(at(t, e.done, "voter dublin")).To(BeNumerically("<", at(t, e.done, "orders")))
	g.Expect(at(t, e.done, "BACKUP DATABASE [Content]")).To(BeNumerically("<", at(t, e.done, "CREATE AVAILABILITY GROUP")))
	g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty(), "and nothing more")
	for _, step := range e.done {
		g.Expect(step).NotTo(ContainSubstring("PASSWORD = N'g"), "no step shows a password")
	}
}

// three is the group with three synchronous replicas.
func three() *v1alpha1.AvailabilityGroup {
	group := declared()
	group.Spec.Replicas[2] = v1alpha1.Replica{Server: "dubthird", AvailabilityMode: v1alpha1.SynchronousCommit}
	return group
}

func TestRequiredSynchronizedSecondariesFollowTheRule(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, three())
	e.settle(everything)
	g.Expect(e.group.required).To(Equal(1))
	e.d.Group.Spec.RequiredSynchronizedSecondaries = ptr.To[int32](2)
	e.settle(everything)
	g.Expect(e.group.required).To(Equal(2), "what is declared counts")
}

// The world after any schedule of ends of the manager and of silent sites is the same as after none.
func TestPlanSurvivesAnEndAfterAnyStep(t *testing.T) {
	whole := newEnviron(t, declared())
	whole.settle(everything)
	rapid.Check(t, func(rt *rapid.T) {
		e := newEnviron(t, declared())
		rounds := rapid.IntRange(5, 60).Draw(rt, "rounds")
		for range rounds {
			for site := range homes {
				e.silent[site] = rapid.IntRange(0, 5).Draw(rt, "silent") == 0
			}
			for _, site := range e.d.declaredVoters() {
				e.cut[site] = rapid.IntRange(0, 5).Draw(rt, "cut") == 0
			}
			p := plan(e.d, e.observe())
			most := rapid.IntRange(0, 4).Draw(rt, "steps")
			for i, s := range p.Steps {
				if i == most || e.do(s) != nil {
					break
				}
			}
			e.work()
			e.now = e.now.Add(time.Second)
		}
		clear(e.silent)
		clear(e.cut)
		e.settle(func() int { return rapid.IntRange(1, 3).Draw(rt, "steps") })
		if diff := different(whole, e); diff != "" {
			rt.Fatalf("%s\nafter %q", diff, e.done)
		}
	})
}

// different says in what two worlds differ that matters.
func different(a, b *environ) string {
	for server, x := range a.servers {
		y := b.servers[server]
		for what, pair := range map[string][2]any{
			"databases":    {x.mirroring.Databases, y.mirroring.Databases},
			"users":        {x.mirroring.Users, y.mirroring.Users},
			"connectors":   {x.mirroring.Connectors, y.mirroring.Connectors},
			"joined":       {x.joined, y.joined},
			"granted":      {x.granted, y.granted},
			"certificates": {len(x.mirroring.Certificates), len(y.mirroring.Certificates)},
		} {
			if l, r := fmt.Sprint(pair[0]), fmt.Sprint(pair[1]); l != r {
				return fmt.Sprintf("%s of %s: %s and %s", what, server, l, r)
			}
		}
	}
	if l, r := fmt.Sprintf("%+v %v %v", a.group.listeners, a.group.databases, a.group.required),
		fmt.Sprintf("%+v %v %v", b.group.listeners, b.group.databases, b.group.required); l != r {
		return fmt.Sprintf("group: %s and %s", l, r)
	}
	return ""
}

func TestDatabasesComeAndGo(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Group.Spec.Databases = []v1alpha1.Database{{Name: "Orders"}}
	e.settle(everything)
	g.Expect(e.group.databases).To(Equal([]string{"Orders"}))
	g.Expect(e.servers["tukpub"].mirroring.Databases["Content"].InGroup).To(BeFalse(), "a removed database stays as it is")
	g.Expect(e.servers["quisec"].mirroring.Databases["Orders"].InGroup).To(BeTrue())
	for _, step := range e.done {
		g.Expect(step).NotTo(ContainSubstring("DROP DATABASE"))
	}
}

// There is never a moment in which fewer acknowledgements suffice than the set of replicas needs.
func TestReplicasComeAndGoInTheSafeOrder(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	group := three()
	e.d.Group.Spec.Replicas = group.Spec.Replicas
	e.settle(everything)
	g.Expect(e.group.required).To(Equal(1))
	g.Expect(e.group.replicas).To(HaveLen(3))
	g.Expect(e.servers["dubcfg"].joined).To(BeFalse(), "the group is dropped on a former replica")
	g.Expect(e.orders).NotTo(HaveKey(v1alpha1.ServerName("dubcfg")), "and its agent has no orders of it")
	g.Expect(e.d.former()).To(BeEmpty(), "then the status forgets it")
	e.d.Group.Spec.Replicas = declared().Spec.Replicas
	e.settle(everything)
	g.Expect(e.group.required).To(Equal(0))
	for _, h := range e.history {
		g.Expect(h.required).
			To(BeNumerically("<", h.synchronous), "more acknowledgements than replicas would block every commit")
	}
	raised := e.done[at(t, e.done, "TO_COMMIT = 1"):]
	lowered := at(t, raised, "TO_COMMIT = 0")
	removed := at(t, raised, "remove replica dubthird-0")
	g.Expect(removed).To(BeNumerically("<", lowered), "a replica is removed before the number is lowered")
}

func TestOptionsOfReplicasAndListenerAreFollowed(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Group.Spec.Replicas[1].Readable = false
	e.d.Group.Spec.Replicas[1].SessionTimeout = &metav1.Duration{Duration: 15 * time.Second}
	e.d.Group.Spec.Listener = &v1alpha1.Listener{Name: "web-content", Port: 1500}
	e.settle(everything)
	g.Expect(e.group.replicas["quisec-0"].Connections).To(Equal("NO"))
	g.Expect(e.group.replicas["quisec-0"].SessionTimeout).To(Equal(15 * time.Second))
	g.Expect(e.group.listeners).
		To(Equal([]mssql.GroupListener{{Name: "web-content", IP: "10.96.7.7", Mask: listenerMask, Port: 1500}}))
}

// ALTER AVAILABILITY GROUP adds addresses to a listener and takes none away: one with another address is made anew.
func TestADeclaredAddressOfTheListenerIsFollowed(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Group.Spec.Listener = &v1alpha1.Listener{IP: "10.0.0.9"}
	e.settle(everything)
	g.Expect(e.group.listeners).
		To(Equal([]mssql.GroupListener{{Name: "content", IP: "10.0.0.9", Mask: listenerMask, Port: 1433}}))
	g.Expect(at(t, e.done, "remove listener content")).To(BeNumerically("<", at(t, e.done, "N'10.0.0.9'")))
	e.group.listeners = append(e.group.listeners, mssql.GroupListener{Name: "content", IP: "10.0.1.9", Port: 1433})
	done := len(e.done)
	e.settle(everything)
	g.Expect(e.done).To(HaveLen(done), "one that has a further address stays")
	e.d.Group.Spec.Listener = nil
	e.settle(everything)
	g.Expect(e.done).To(HaveLen(done), "without a declared address it keeps the one that it has")
}

func TestCertificatesAreRenewedBeforeTheyEnd(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.now = e.now.Add(certificateLife - certificateRenewal + time.Hour)
	e.settle(everything)
	g.Expect(e.servers["tukpub"].mirroring.Endpoint.Certificate).To(Equal("geosql_tukpub_2"))
	g.Expect(e.servers["quisec"].mirroring.Certificates).To(HaveKey("geosql_tukpub_2"))
	shown := at(t, e.done, "show certificate geosql_tukpub_2")
	for _, partner := range []string{"quisec-0", "dubcfg-0"} {
		g.Expect(at(t, e.done, "on "+partner+" as sa: trust certificate geosql_tukpub_2")).
			To(BeNumerically("<", shown), "partners trust it before it is shown")
	}
	for _, server := range []string{"quisec", "dubcfg"} {
		g.Expect(at(t, e.done, "show certificate geosql_"+server+"_2")).
			To(BeNumerically("<", shown), "the primary's comes last")
	}
}

// A renewed certificate is shown by one server at a time, and only while all are well; but no certificate ends because
// of a replica that does not come back.
func TestARenewedCertificateWaitsForTheOthers(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.silent["dubcfg"] = true
	shown := func() []string {
		var names []string
		for _, server := range []v1alpha1.ServerName{"tukpub", "quisec", "dubcfg"} {
			names = append(names, e.servers[server].mirroring.Endpoint.Certificate)
		}
		return names
	}
	some := func() { // a group with a silent replica does not become ready
		for range 10 {
			for _, s := range plan(e.d, e.observe()).Steps {
				g.Expect(e.do(s)).To(Succeed())
			}
		}
	}
	e.now = begin.Add(certificateLife - certificateRenewal + time.Hour)
	some()
	g.Expect(e.servers["quisec"].mirroring.Certificates).To(HaveKey("geosql_tukpub_2"))
	g.Expect(shown()).
		To(Equal([]string{"geosql_tukpub_1", "geosql_quisec_1", "geosql_dubcfg_1"}), "one replica can't trust them yet")
	e.now = begin.Add(certificateLife - certificateUrgency + time.Hour)
	some()
	g.Expect(shown()).To(Equal([]string{"geosql_tukpub_2", "geosql_quisec_2", "geosql_dubcfg_1"}), "they would end")
	delete(e.silent, "dubcfg")
	e.settle(everything)
	g.Expect(shown()).To(Equal([]string{"geosql_tukpub_2", "geosql_quisec_2", "geosql_dubcfg_2"}))

	o := e.observe()
	for name, i := range o.Instances {
		i.Mirroring.Endpoint = &mssql.Endpoint{
			Name:        "Hadr",
			State:       "STARTED",
			Port:        MirroringPort,
			Certificate: "geosql_" + string(name) + "_1",
		}
		i.Mirroring.Certificates["geosql_"+string(name)+"_1"] = mssql.Certificate{
			Name:    "geosql_" + string(name) + "_1",
			Expires: e.now.Add(certificateUrgency + time.Hour),
		}
		o.Instances[name] = i
	}
	p := plan(e.d, o)
	g.Expect(p.Steps).To(HaveLen(1))
	g.Expect(p.Steps[0].Describe()).To(ContainSubstring("geosql_quisec_2"))
	o.Instances["tukpub"].Group.Replica("dubcfg-0").Connected = "DISCONNECTED"
	for _, step := range plan(e.d, o).Steps {
		g.Expect(step.Describe()).NotTo(ContainSubstring("certificate"))
	}
}

// The number of secondaries that a commit needs is raised before a replica becomes synchronous.
func TestTheCommitRuleIsRaisedBeforeTheSetGrows(t *testing.T) {
	g := NewWithT(t)
	group := three()
	group.Spec.Replicas = append(
		group.Spec.Replicas,
		v1alpha1.Replica{Server: "dubcfg", AvailabilityMode: v1alpha1.AsynchronousCommit},
	)
	e := newEnviron(t, group)
	e.settle(everything)
	g.Expect(e.group.required).To(Equal(1))
	e.history = nil
	e.d.Group.Spec.Replicas[3].AvailabilityMode = v1alpha1.SynchronousCommit
	e.settle(everything)
	g.Expect(e.group.required).To(Equal(2))
	g.Expect(e.history).NotTo(BeEmpty())
	for _, h := range e.history {
		g.Expect(h.required).To(BeNumerically(">=", h.synchronous/2), "fewer acknowledgements suffice than the set needs")
		g.Expect(h.required).To(BeNumerically("<", h.synchronous))
	}
}

func TestPlanOutcomes(t *testing.T) {
	whole := func(e *environ) { e.settle(everything) }
	for name, tc := range map[string]struct {
		before  func(*environ)
		change  func(*environ)
		ready   metav1.ConditionStatus
		reason  string
		message string
		steps   int
	}{
		"a server that is not declared": {
			change: func(e *environ) { delete(e.servers, "quisec") },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonReferenceMissing, message: "quisec",
		},
		"a server that is not ready before there is a group": {
			change: func(e *environ) { e.notReady = map[v1alpha1.ServerName]string{"quisec": "PodPending"} },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonServersNotReady, message: "quisec (PodPending)",
		},
		"a server that is not ready when there is a group": {
			before: whole, change: func(e *environ) { e.notReady = map[v1alpha1.ServerName]string{"quisec": "PodPending"} },
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonSynchronized, message: "tukpub-0 is primary",
		},
		"a replica that does not answer before there is a group": {
			change: func(e *environ) { e.silent["dubcfg"] = true },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating, message: "endpoints", steps: 4,
		},
		"a replica that does not answer": {
			before: whole, change: func(e *environ) { e.silent["quisec"] = true },
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonReplicaNotAnswering,
			message: "tukpub-0 is primary and serves; no answer from quisec",
		},
		"a primary that does not answer": {
			before: whole, change: func(e *environ) { e.silent["tukpub"], e.group.primary = true, "" },
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonPrimaryUnknown, message: "no answer from tukpub",
		},
		"everybody answers and nobody is primary": {
			before: whole, change: func(e *environ) { e.group.primary = "" },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonNoPrimary,
			message: "kubectl geosql failover content --wait -n web",
		},
		"a minority of lost votes": {
			before: whole, change: func(e *environ) { delete(e.leases, "tukwila") },
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonSynchronized, message: "tukpub-0 is primary",
		},
		"a majority of lost votes": {
			before: whole, change: func(e *environ) { delete(e.leases, "tukwila"); delete(e.leases, "quincy") },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonVotesLost,
			message: "the Leases web/geosql-content are gone at tukwila, quincy: nobody can have a majority of tukwila, " +
				"quincy, dublin,",
		},
		"a foreign mirroring endpoint": {
			before: func(e *environ) { e.settle(everything) },
			change: func(e *environ) { e.servers["quisec"].mirroring.Endpoint.Port = 7022 },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonEndpointConflict, message: "7022",
		},
		"a database that somebody else made": {
			change: func(e *environ) {
				e.servers["tukpub"].mirroring.Databases["Content"] = mssql.Database{Name: "Content", State: "ONLINE",
					RecoveryModel: "FULL", LogChain: true, Owner: "sa"}
				prepareEndpoints(e)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonDatabaseConflict, message: "geosql.dev/adopt=true",
		},
		"a database that the group has and its primary lacks": {
			before: whole, change: func(e *environ) { delete(e.servers["tukpub"].mirroring.Databases, "Content") },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonDatabaseMissing,
			message: "the primary tukpub-0 does not have it; quisec of those that answer have it",
		},
		"a configuration-only replica that is to have data": {
			before: whole, change: func(e *environ) { e.d.Group.Spec.Replicas[2].AvailabilityMode = v1alpha1.SynchronousCommit },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonReplicaModeFixed,
			message: "set availabilityMode back for dubcfg-0 (CONFIGURATION_ONLY)",
		},
		"a replica with data that is to be configuration-only": {
			before: whole, change: func(e *environ) { e.d.Group.Spec.Replicas[1].AvailabilityMode = v1alpha1.ConfigurationOnly },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonReplicaModeFixed, message: "declare another server",
		},
		"a primary that is no longer declared": {
			before: whole,
			change: func(e *environ) { e.d.Group.Spec.Replicas = three().Spec.Replicas[1:] },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonPrimaryNotDeclared, message: "switch over",
		},
		"a group that was created and that nobody has": {
			before: whole,
			change: func(e *environ) {
				for _, s := range e.servers {
					s.joined = false
				}
				e.silent["tukpub"] = true
			},
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonReplicaNotAnswering, message: "6a8b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			if tc.before != nil {
				tc.before(e)
			}
			tc.change(e)
			p := plan(e.d, e.observe())
			g.Expect(p.Outcome.Ready).To(Equal(tc.ready), "%+v", p.Outcome)
			g.Expect(p.Outcome.Reason).To(Equal(tc.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(tc.message))
			g.Expect(p.Steps).To(HaveLen(tc.steps))
		})
	}
}

// prepareEndpoints does what comes before the databases.
func prepareEndpoints(e *environ) {
	for range 50 {
		p := plan(e.d, e.observe())
		for _, s := range p.Steps {
			if strings.Contains(s.Describe(), "CREATE DATABASE") {
				return
			}
			if err := e.do(s); err != nil {
				e.t.Fatal(err)
			}
		}
	}
}

func TestAnAdoptedDatabaseIsPreparedAsSA(t *testing.T) {
	g := NewWithT(t)
	group := declared()
	group.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	e := newEnviron(t, group)
	e.servers["tukpub"].mirroring.Databases["Content"] = mssql.Database{
		Name:          "Content",
		State:         "ONLINE",
		RecoveryModel: "SIMPLE",
		Owner:         "sa",
	}
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	at(t, e.done, "on tukpub-0 as sa: take the first full backup of Content")
}

func TestAFailedSeedingIsStartedAgain(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	delete(e.servers["quisec"].mirroring.Databases, "Content")
	o := e.observe()
	group := *o.Instances["tukpub"].Group
	group.SeedingFailures = []mssql.SeedingFailure{{Server: "quisec-0", Database: "Content", Reason: "the network"}}
	i := o.Instances["tukpub"]
	i.Group = &group
	o.Instances["tukpub"] = i
	p := plan(e.d, o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSeedingFailed))
	g.Expect(p.Steps).To(HaveLen(2))
	g.Expect(p.Steps[0].Describe()).To(ContainSubstring("GRANT CREATE ANY DATABASE"))
	g.Expect(p.Steps[1].Describe()).To(And(ContainSubstring("SEEDING_MODE = AUTOMATIC"), ContainSubstring("the network")))
	group.SeedingFailures, group.Seeding = nil, []string{"QUISEC-0"}
	p = plan(e.d, o)
	g.Expect(p.Steps).To(BeEmpty(), "a seeding under way is left alone")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSynchronizing))
}

func TestAGroupWithoutAFence(t *testing.T) {
	g := NewWithT(t)
	group := declared()
	group.Spec.ClusterType, group.Spec.FailoverPolicy, group.Spec.Voters = v1alpha1.ClusterNone, v1alpha1.FailoverManual,
		nil
	group.Spec.Replicas = group.Spec.Replicas[:2]
	e := newEnviron(t, group)
	p := e.settle(everything)
	g.Expect(p.Outcome.Message).To(ContainSubstring("nothing fences"))
	g.Expect(e.leases).To(BeEmpty())
	for _, step := range e.done {
		g.Expect(step).NotTo(ContainSubstring("WRITE_LEASE"))
	}
	o := e.observe()
	g.Expect(fenced(e.d, o)).
		To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNotFenced)))
}

func TestAVoterWithoutAnAddressStopsTheOrders(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	clear(e.orders)
	o := e.observe()
	o.VoterAddress = errors.New("voter dublin: set spec.apiServer")
	p := plan(e.d, o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonVoterAddressMissing))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
}
