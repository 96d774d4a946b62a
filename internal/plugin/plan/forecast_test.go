// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	topologies "geosql.dev/operator/controllers/topology"
)

// What a Subscription gets at most over its link stands in the plan when it is created, and when a change of it makes
// it another: the examples' is read by an agent at dublin from a distributor at quincy.
func TestForecastsInThePlan(t *testing.T) {
	const first = "    it gets at most 110000 rows a second, bound by Bandwidth: rows of 1.0 KiB (nobody has measured " +
		"them yet) take 1200 bytes each of the link from quincy to dublin (round trip 146ms, 1Gbit): the bandwidth lets " +
		"through 110000 a second, a window of 17.5 MiB 110000 a second\n"
	for name, c := range map[string]struct {
		verb   topologies.Verb
		change func(p *planner, s *topologies.Step)
		says   string
	}{
		"new": {topologies.Create, func(*planner, *topologies.Step) {}, first},
		"something else changes": {topologies.Change, func(_ *planner, s *topologies.Step) {
			was := s.Object.(*v1alpha1.Subscription).DeepCopy()
			was.Spec.Objectives = nil
			s.Existing = was
		}, ""},
		"another type": {topologies.Change, func(_ *planner, s *topologies.Step) {
			was := s.Object.(*v1alpha1.Subscription).DeepCopy()
			was.Spec.Type = v1alpha1.SubscriptionPush
			s.Existing = was
		}, first},
		"rows that the publisher has measured": {topologies.Create, func(p *planner, _ *topologies.Step) {
			live := &v1alpha1.Publication{Status: v1alpha1.PublicationStatus{
				Size: &v1alpha1.CopySize{Rows: 100, Bytes: 1_024_000}}}
			live.Name = "articles"
			p.observed.Objects[key("Publication", "articles")] = live
		}, "    it gets at most 12000 rows a second, bound by Bandwidth: rows of 9.8 KiB take 11000 bytes each"},
		"buffers of the pod that runs": {topologies.Create, func(p *planner, _ *topologies.Step) {
			live := &v1alpha1.SQLServer{Status: v1alpha1.SQLServerStatus{Tuning: &v1alpha1.TuningStatus{
				Kernel: &v1alpha1.TCPKernel{Receive: "4096 131072 131072"}}}}
			live.Name = "dubsub"
			p.observed.Objects[key("SQLServer", "dubsub")] = live
		}, "    it gets at most 400 rows a second, bound by Window: "},
		"another Subscription that the hub has": {topologies.Create, func(p *planner, s *topologies.Step) {
			other := s.Object.(*v1alpha1.Subscription).DeepCopy()
			other.Name = "other"
			p.observed.Objects[key("Subscription", "other")] = other
		}, "    it gets at most 53000 rows a second, bound by Bandwidth: "},
		"a link that nobody declares": {topologies.Create, func(p *planner, _ *topologies.Step) { p.sites = nil },
			"    how many rows a second it gets at most nobody can tell: the link from quincy to dublin has round trip not " +
				"declared, bandwidth not declared: declare both in spec.links of either Site\n"},
		"a Publication that nobody declares": {topologies.Create, func(_ *planner, s *topologies.Step) {
			s.Object.(*v1alpha1.Subscription).Spec.Publication = "nobody"
		}, ""},
		"another kind": {topologies.Create, func(p *planner, s *topologies.Step) {
			s.Object = p.objects.Publications[0]
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, s := planned(g, c.verb)
			var out bytes.Buffer
			p.out = &out
			c.change(p, &s)
			p.forecast(s)
			if c.says == "" {
				g.Expect(out.String()).To(BeEmpty())
				return
			}
			g.Expect(out.String()).To(HavePrefix(c.says))
		})
	}
}
