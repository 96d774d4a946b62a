// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// round carries out one plan, and lets engines and agents work.
func (e *environ) round() {
	e.t.Helper()
	for _, s := range plan(e.d, e.observe()).All() {
		if err := e.do(s); err != nil {
			e.t.Fatalf("%s: %v", s.Describe(), err)
		}
	}
	e.work()
	e.pass(time.Second)
}

// An engine calls a replica NOT_HEALTHY for good that has joined no database of the group, or fewer than it has: the
// copies that are there count.
func TestARenewedCertificateIsShownWhereADatabaseIsMissing(t *testing.T) {
	for name, databases := range map[string][]v1alpha1.Database{
		"of an empty group":                 nil,
		"beside one that was never seeded":  {{Name: "Content"}, {Name: "Orders"}},
		"where the only one was not seeded": {{Name: "Orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := declared()
			group.Spec.Databases = databases
			group.Spec.Replicas[1].Seeding = v1alpha1.SeedingManual
			e := newEnviron(t, group)
			e.servers["quisec"].lacks = map[string]bool{"Orders": true}
			for range 40 {
				e.round()
			}
			g.Expect(e.group.replicas).To(HaveLen(3))
			e.now = begin.Add(certificateLife - certificateRenewal + time.Hour)
			for range 10 {
				e.round()
			}
			for _, s := range []v1alpha1.ServerName{"tukpub", "quisec", "dubcfg"} {
				g.Expect(e.servers[s].mirroring.Endpoint.Certificate).To(Equal(certificateName(s, 2)))
			}
		})
	}
}

// A copy that is behind, or is being seeded, is not calm.
func TestARenewedCertificateWaitsForACopyThatIsBehind(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	o := e.observe()
	g.Expect(allConnected(e.d, o)).To(BeTrue())
	group := o.Instances["tukpub"].Group
	group.Seeding, group.Unjoined = []string{"QUISEC-0"}, []mssql.Copy{{Server: "quisec-0", Database: "content"}}
	g.Expect(allConnected(e.d, o)).To(BeFalse())
	group.Seeding, group.Unjoined = nil, nil
	for i := range group.States {
		if group.States[i].Server == "quisec-0" {
			group.States[i].State = "SYNCHRONIZING"
		}
	}
	g.Expect(allConnected(e.d, o)).To(BeFalse())
}
