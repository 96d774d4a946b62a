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

// A replica is lost beside a configuration-only one, with its site or alone: its successor at another site has its copy
// before it is synchronous, and there are never more than two synchronous replicas.
func TestALostReplicaIsReplacedBesideAConfigurationOnlyOne(t *testing.T) {
	for name, lost := range map[string]v1alpha1.SiteName{"its site is lost": "tukwila", "its site is silent": ""} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := replaced(t, declared())
			e.lost = lost
			e.history = nil
			p := e.settle(everything)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
			g.Expect(e.group.replicas).To(And(HaveLen(3), HaveKey("dubcfg-0"), Not(HaveKey("tukpub-0")),
				HaveKeyWithValue("blusec-0", HaveField("Mode", "SYNCHRONOUS_COMMIT"))))
			g.Expect(e.servers["blusec"].mirroring.Databases["Content"].InGroup).To(BeTrue())
			g.Expect(e.group.required).To(BeZero())
			g.Expect(strings.Join(e.done, "\n")).NotTo(ContainSubstring("REMOVE REPLICA ON N'dubcfg-0'"),
				"without it nobody agrees on anything while one of two is away")
		})
	}
}

// A replica that is well is replaced beside a configuration-only one, which is away for as long as there are three.
func TestAReplicaIsReplacedBesideAConfigurationOnlyOne(t *testing.T) {
	further(t)
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Group.Spec.Replicas[1].Server, e.done = "quinew", nil
	e.settle(everything)
	out := at(t, e.done, "REMOVE REPLICA ON N'dubcfg-0'")
	g.Expect(strings.Join(e.done[:out], "\n")).To(And(ContainSubstring("ADD REPLICA ON N'quinew-0'"),
		ContainSubstring("AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT")), "it gets its copy before")
	rest := e.done[out:]
	g.Expect(at(t, rest, "N'quinew-0' WITH (AVAILABILITY_MODE = SYNCHRONOUS_COMMIT)")).
		To(BeNumerically("<", at(t, rest, "REMOVE REPLICA ON N'quisec-0'")))
	g.Expect(at(t, rest, "REMOVE REPLICA ON N'quisec-0'")).
		To(BeNumerically("<", at(t, rest, "ADD REPLICA ON N'dubcfg-0'")))
	g.Expect(e.servers["dubcfg"].joined).To(BeTrue())
	g.Expect(e.group.replicas).To(And(HaveLen(3), Not(HaveKey("quisec-0"))))
	g.Expect(e.group.required).To(BeZero())
}

// A configuration-only replica is not given up while a synchronous one is away: the rest could agree on nothing.
func TestAConfigurationOnlyReplicaStaysWhileOneIsAway(t *testing.T) {
	further(t)
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.lose("quisec")
	e.d.Group.Spec.Replicas = synchronous("tukpub", "quisec", "quinew")
	for range 20 {
		e.later(time.Second)
	}
	g.Expect(e.group.replicas).To(HaveKey("dubcfg-0"))
	clear(e.silent)
	e.settle(everything)
	g.Expect(e.group.replicas).To(And(HaveLen(3), Not(HaveKey("dubcfg-0"))))
	g.Expect(e.group.required).To(Equal(1))
}
