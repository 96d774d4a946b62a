// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

func configurationOnly(s v1alpha1.ServerName) v1alpha1.Replica {
	return v1alpha1.Replica{Server: s, AvailabilityMode: v1alpha1.ConfigurationOnly}
}

// until does what is planned until a step that has these words is done, after which the manager ends, or for so many
// rounds. It says whether the step was done.
func (e *environ) until(rounds int, each time.Duration, words string) bool {
	for range rounds {
		e.report()
		for _, s := range plan(e.d, e.observe()).Steps {
			if e.do(s) != nil {
				break
			}
			if words != "" && strings.Contains(s.Describe(), words) {
				return true
			}
		}
		e.work()
		e.pass(each)
	}
	return false
}

// patiently lets half an hour go by.
func (e *environ) patiently() { e.until(60, 30*time.Second, "") }

// serves says that commits return and that the configuration can be changed.
func (e *environ) serves(g *WithT) {
	g.Expect(e.agree(e.group.voting())).To(BeTrue(), "a majority agrees: %v, done %q", e.group.voting(), e.last())
	g.Expect(e.synchronizedNow()).To(BeNumerically(">=", e.group.required), "commits return, done %q", e.last())
}

func (e *environ) last() []string { return e.done[max(0, len(e.done)-8):] }

// beside is a group with a configuration-only replica, and the servers that another form of it takes.
func beside(t *testing.T, policy v1alpha1.OnDeadReplica) *environ {
	further(t)
	homes["cfgnew"] = "dublin"
	t.Cleanup(func() { delete(homes, "cfgnew") })
	group := declared()
	group.Spec.OnDeadReplica = policy
	e := newEnviron(t, group)
	e.settle(everything)
	e.done = nil
	return e
}

// replacing is such a group in which another server takes the living secondary's place.
func replacing(t *testing.T) *environ {
	e := beside(t, v1alpha1.DeadReplicaWait)
	e.d.Group.Spec.Replicas[1].Server = "quinew"
	return e
}

// A successor that takes hours to be seeded, or is not there at all, costs the group no vote: the secondary may die
// meanwhile, and the group serves and goes on once the successor is there.
func TestTheSecondaryDiesDuringTheSeedingOfAThird(t *testing.T) {
	for name, replicas := range map[string][]v1alpha1.Replica{
		"another configuration-only one": append(synchronous("tukpub", "quinew"), configurationOnly("cfgnew")),
		"three":                          synchronous("tukpub", "quisec", "quinew"),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := beside(t, v1alpha1.DeadReplicaWait)
			e.d.Group.Spec.Replicas = replicas
			g.Expect(e.until(300, time.Second, "give the agent of quinew-0")).To(BeTrue())
			e.silent["quinew"] = true
			e.until(30, time.Second, "")
			g.Expect(e.group.replicas).To(HaveKey("dubcfg-0"))
			e.silent["quisec"] = true
			e.until(30, 20*time.Second, "")
			e.serves(g)
			delete(e.silent, "quinew")
			e.patiently()
			e.serves(g)
		})
	}
}

// Two that are left without a configuration-only replica have to agree on everything: it stays while one is away,
// whatever is done about that one, and until the third is ready to follow at once.
func TestAConfigurationOnlyReplicaStaysUntilThereAreThree(t *testing.T) {
	for _, policy := range []v1alpha1.OnDeadReplica{v1alpha1.DeadReplicaDemoteToAsync, v1alpha1.DeadReplicaRemove} {
		t.Run(string(policy), func(t *testing.T) {
			g := NewWithT(t)
			e := beside(t, policy)
			e.d.Group.Spec.Replicas = synchronous("tukpub", "quisec", "quinew")
			e.silent["quisec"] = true
			e.patiently()
			e.silent["quinew"] = true
			e.patiently()
			e.serves(g)
			clear(e.silent)
			e.settle(everything)
			g.Expect(e.group.replicas).To(And(HaveLen(3), Not(HaveKey("dubcfg-0"))))
			g.Expect(e.group.required).To(Equal(1))
		})
	}
}

// The commit rule rises when there are three, not before: the second may fall away as the third comes.
func TestTheCommitRuleRisesAfterTheThirdIsThere(t *testing.T) {
	g := NewWithT(t)
	e := replacing(t)
	g.Expect(e.until(300, time.Second, "TO_COMMIT = 1")).To(BeTrue())
	e.silent["quisec"] = true
	e.patiently()
	e.serves(g)
}

// A configuration-only replica that falls silent while it is out comes back when it answers, as a new one.
func TestASilentConfigurationOnlyReplicaIsNotAddedBlindly(t *testing.T) {
	g := NewWithT(t)
	e := replacing(t)
	g.Expect(e.until(300, time.Second, "REMOVE REPLICA ON N'dubcfg-0'")).To(BeTrue())
	e.silent["dubcfg"] = true
	e.until(60, time.Second, "")
	e.serves(g)
	g.Expect(e.group.replicas).To(HaveLen(3), "three agree until it is there")
	delete(e.silent, "dubcfg")
	p := e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(e.group.replicas).To(And(HaveLen(3), HaveKey("dubcfg-0"), Not(HaveKey("quisec-0"))))
}

// Who restarts is not away: it may be the only one that has what is acknowledged.
func TestARestartCostsNoReplicaItsPlace(t *testing.T) {
	g := NewWithT(t)
	e := replacing(t)
	g.Expect(e.until(300, time.Second, "ADD REPLICA ON N'quinew-0'")).To(BeTrue())
	e.silent["quisec"] = true
	e.until(30, time.Second, "")
	g.Expect(e.group.replicas).To(HaveKey("quisec-0"))
	e.until(60, time.Second, "")
	g.Expect(e.group.replicas).NotTo(HaveKey("quisec-0"), "it stays away")
	e.until(60, time.Second, "")
	e.serves(g)
	g.Expect(e.group.replicas["quinew-0"].Mode).To(Equal("SYNCHRONOUS_COMMIT"))
}

// Another configuration-only replica takes the place of one also while a secondary is dead.
func TestAConfigurationOnlyReplicaIsReplacedWhileOneIsDead(t *testing.T) {
	for _, policy := range []v1alpha1.OnDeadReplica{v1alpha1.DeadReplicaDemoteToAsync, v1alpha1.DeadReplicaRemove} {
		t.Run(string(policy), func(t *testing.T) {
			g := NewWithT(t)
			e := beside(t, policy)
			e.silent["quisec"] = true
			e.patiently()
			e.d.Group.Spec.Replicas[2].Server = "cfgnew"
			e.patiently()
			e.serves(g)
			g.Expect(e.group.replicas).To(And(HaveKey("cfgnew-0"), Not(HaveKey("dubcfg-0"))))
		})
	}
}

// The third of three stays while the configuration-only replica that is to vote in its place does not answer.
func TestTheThirdStaysUntilTheConfigurationOnlyReplicaAnswers(t *testing.T) {
	g := NewWithT(t)
	further(t)
	e := newEnviron(t, three())
	e.settle(everything)
	e.d.Group.Spec.Replicas = declared().Spec.Replicas
	g.Expect(e.until(300, time.Second, "give the agent of dubcfg-0")).To(BeTrue())
	e.silent["dubcfg"] = true
	e.until(60, time.Second, "")
	g.Expect(e.group.replicas).To(HaveKey("dubthird-0"))
	g.Expect(plan(e.d, e.observe()).Outcome.Message).To(ContainSubstring("dubcfg"))
	delete(e.silent, "dubcfg")
	e.settle(everything)
	g.Expect(e.group.replicas).To(And(HaveLen(3), HaveKey("dubcfg-0"), Not(HaveKey("dubthird-0"))))
}
