// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
)

func figures(failures int32, connect, slowest time.Duration) []v1alpha1.ProbeFigures {
	f := v1alpha1.ProbeFigures{From: "tukpub", To: "quisec-0:1433", Attempts: 5, Failures: failures}
	if failures < 5 {
		f.Connect, f.Slowest = lasting(connect), lasting(slowest)
	}
	return []v1alpha1.ProbeFigures{f}
}

// An effect is what probes saw change, never what was asked for.
func TestEffectsOfTheNetwork(t *testing.T) {
	ms := time.Millisecond
	usual := figures(0, 4*ms, 5*ms)
	slow := v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Network: &v1alpha1.NetworkFault{Latency: lasting(100 * ms)}}
	oneWay := slow
	oneWay.Direction = v1alpha1.DirectionTo
	little := v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Network: &v1alpha1.NetworkFault{Latency: lasting(4 * ms)}}
	lossy := v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Network: &v1alpha1.NetworkFault{Loss: 20}}
	both := v1alpha1.DrillFault{
		Kind:    v1alpha1.FaultNetwork,
		Network: &v1alpha1.NetworkFault{Latency: lasting(100 * ms), Loss: 20},
	}
	cut := v1alpha1.DrillFault{Kind: v1alpha1.FaultPartition}
	other := func(f []v1alpha1.ProbeFigures) []v1alpha1.ProbeFigures { f[0].To = "dubsub-0:1433"; return f }
	back := func(f []v1alpha1.ProbeFigures) []v1alpha1.ProbeFigures {
		f[0].From, f[0].To = "quisec", "tukpub-0:1433"
		return f
	}
	many := func(f []v1alpha1.ProbeFigures) []v1alpha1.ProbeFigures { f[0].Attempts = 80; return f }
	for name, c := range map[string]struct {
		fault          v1alpha1.DrillFault
		before, during []v1alpha1.ProbeFigures
		want           metav1.ConditionStatus
	}{
		"slower as asked":           {slow, usual, figures(0, 204*ms, 205*ms), metav1.ConditionTrue},
		"no slower":                 {slow, usual, figures(0, 5*ms, 9*ms), metav1.ConditionFalse},
		"half of what both ways do": {slow, usual, figures(0, 90*ms, 91*ms), metav1.ConditionFalse},
		"one of both ways alone":    {slow, usual, figures(0, 110*ms, 115*ms), metav1.ConditionFalse},
		"one way":                   {oneWay, usual, figures(0, 104*ms, 110*ms), metav1.ConditionTrue},
		"as little as chance":       {little, usual, figures(0, 12*ms, 13*ms), metav1.ConditionUnknown},
		"nothing came through":      {slow, usual, figures(5, 0, 0), metav1.ConditionUnknown},
		"slower on one of two ways": {slow, slices.Concat(usual, other(figures(0, 4*ms, 5*ms))),
			slices.Concat(figures(0, 204*ms, 205*ms), other(figures(5, 0, 0))), metav1.ConditionUnknown},
		"slower from one end, where the other one opens nothing": {slow, slices.Concat(usual, back(figures(0, 4*ms, 5*ms))),
			slices.Concat(figures(0, 204*ms, 205*ms), back(figures(5, 0, 0))), metav1.ConditionTrue},
		"a retransmission":         {lossy, usual, figures(0, 4*ms, 1005*ms), metav1.ConditionUnknown},
		"many that were lost":      {lossy, usual, many(figures(4, 4*ms, 1005*ms)), metav1.ConditionTrue},
		"slower, and nothing lost": {both, usual, many(figures(0, 204*ms, 205*ms)), metav1.ConditionFalse},
		"slower, too few to tell":  {both, usual, figures(0, 204*ms, 205*ms), metav1.ConditionUnknown},
		"slower, and some lost":    {both, usual, figures(3, 204*ms, 205*ms), metav1.ConditionTrue},
		"too few to tell":          {lossy, usual, figures(0, 4*ms, 5*ms), metav1.ConditionUnknown},
		"enough to tell":           {lossy, usual, many(figures(0, 4*ms, 5*ms)), metav1.ConditionFalse},
		"cut":                      {cut, usual, figures(5, 0, 0), metav1.ConditionTrue},
		"half cut":                 {cut, usual, figures(3, 4*ms, 5*ms), metav1.ConditionFalse},
		"was cut before":           {cut, figures(5, 0, 0), figures(5, 0, 0), metav1.ConditionUnknown},
		"nobody looked before":     {cut, nil, figures(5, 0, 0), metav1.ConditionUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			status, seen := fault.NetworkEffect(one(c.fault), []v1alpha1.ServerName{"tukpub"}, c.before, c.during)
			NewWithT(t).Expect(status).To(Equal(c.want), seen)
			NewWithT(t).Expect(seen).NotTo(BeEmpty())
		})
	}
}

// way is a transfer from the publisher.
func way(segments, resent, duplicates, kilobits int64) []v1alpha1.ProbeFigures {
	return []v1alpha1.ProbeFigures{
		{
			From:     "tukpub",
			To:       "quisec-0:8443",
			Attempts: 1,
			Connect:  lasting(4 * time.Millisecond),
			Slowest:  lasting(4 * time.Millisecond),
			Transfer: &v1alpha1.TransferFigures{
				Segments:          segments,
				Resent:            resent,
				Duplicates:        duplicates,
				KilobitsPerSecond: kilobits,
			},
		},
	}
}

// Loss, corruption, duplicates and bandwidth are seen by the sender of data, and each must be as much as was asked for.
func TestEffectsOnTransfers(t *testing.T) {
	network := func(n v1alpha1.NetworkFault) v1alpha1.DrillFault {
		return v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Network: &n}
	}
	lossy, corrupt := network(v1alpha1.NetworkFault{Loss: 10}), network(v1alpha1.NetworkFault{Corrupt: 10})
	twice, slow := network(v1alpha1.NetworkFault{Duplicate: 10}), network(v1alpha1.NetworkFault{Rate: "1mbps"})
	slowAndLossy := network(v1alpha1.NetworkFault{Rate: "1mbps", Loss: 10})
	from := lossy
	from.Direction = v1alpha1.DirectionFrom
	usual := way(400, 0, 0, 900_000)
	for name, c := range map[string]struct {
		fault          v1alpha1.DrillFault
		before, during []v1alpha1.ProbeFigures
		want           metav1.ConditionStatus
	}{
		"lost":                              {lossy, usual, way(400, 38, 0, 9000), metav1.ConditionTrue},
		"nothing lost":                      {lossy, usual, way(400, 0, 0, 900_000), metav1.ConditionFalse},
		"hardly any lost":                   {lossy, usual, way(400, 4, 0, 900_000), metav1.ConditionFalse},
		"few sent, nothing lost":            {lossy, usual, way(40, 0, 0, 9000), metav1.ConditionUnknown},
		"as many lost before":               {lossy, way(400, 36, 0, 9000), way(400, 38, 0, 9000), metav1.ConditionUnknown},
		"lost in the other direction":       {from, usual, way(400, 38, 0, 9000), metav1.ConditionUnknown},
		"corrupt":                           {corrupt, usual, way(400, 45, 0, 9000), metav1.ConditionTrue},
		"not corrupt":                       {corrupt, usual, usual, metav1.ConditionFalse},
		"twice":                             {twice, usual, way(400, 0, 41, 900_000), metav1.ConditionTrue},
		"once":                              {twice, usual, usual, metav1.ConditionFalse},
		"lost is not twice":                 {twice, usual, way(400, 40, 0, 9000), metav1.ConditionFalse},
		"at the rate":                       {slow, usual, way(400, 0, 0, 7900), metav1.ConditionTrue},
		"faster than the rate":              {slow, usual, way(400, 0, 0, 13_000), metav1.ConditionFalse},
		"no faster before":                  {slow, way(400, 0, 0, 9000), way(400, 0, 0, 7900), metav1.ConditionUnknown},
		"at the rate, and lost":             {slowAndLossy, usual, way(400, 38, 0, 7900), metav1.ConditionTrue},
		"at the rate, and nothing lost":     {slowAndLossy, usual, way(400, 0, 0, 7900), metav1.ConditionFalse},
		"far below the rate for the losses": {slowAndLossy, usual, way(400, 38, 0, 900), metav1.ConditionUnknown},
		"connections tell no bandwidth": {slow, figures(0, time.Millisecond, time.Millisecond),
			figures(0, time.Millisecond, time.Millisecond), metav1.ConditionUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			status, seen := fault.NetworkEffect(one(c.fault), []v1alpha1.ServerName{"tukpub"}, c.before, c.during)
			NewWithT(t).Expect(status).To(Equal(c.want), seen)
		})
	}
}

// A fault that was seen and is not seen any more has ended, unless the look tells too little.
func TestFaultsThatAreNotInForceAnyMore(t *testing.T) {
	ms := time.Millisecond
	lossy := v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Network: &v1alpha1.NetworkFault{Loss: 10}}
	uneven := v1alpha1.DrillFault{
		Kind:    v1alpha1.FaultNetwork,
		Network: &v1alpha1.NetworkFault{Latency: lasting(100 * ms), Jitter: lasting(80 * ms)},
	}
	even := v1alpha1.DrillFault{
		Kind:    v1alpha1.FaultNetwork,
		Network: &v1alpha1.NetworkFault{Latency: lasting(100 * ms), Jitter: lasting(10 * ms)},
	}
	for name, c := range map[string]struct {
		fault          v1alpha1.DrillFault
		before, newest []v1alpha1.ProbeFigures
		want           metav1.ConditionStatus
	}{
		"nothing is lost any more":    {lossy, way(400, 0, 0, 900_000), way(400, 0, 0, 900_000), metav1.ConditionFalse},
		"lost still":                  {lossy, way(400, 0, 0, 900_000), way(400, 30, 0, 9000), metav1.ConditionTrue},
		"too little was sent to tell": {lossy, way(400, 0, 0, 900_000), way(40, 0, 0, 9000), metav1.ConditionUnknown},
		"no slower any more":          {even, figures(0, 4*ms, 5*ms), figures(0, 4*ms, 5*ms), metav1.ConditionFalse},
		"short by chance":             {uneven, figures(0, 4*ms, 5*ms), figures(0, 4*ms, 5*ms), metav1.ConditionUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			status, seen := fault.StillInForce(one(c.fault), []v1alpha1.ServerName{"tukpub"}, c.before, c.newest)
			NewWithT(t).Expect(status).To(Equal(c.want), seen)
		})
	}
}

// A site whose API server was not seen before the fault was not seen to be lost.
func TestSiteWhoseAPIServerWasNotSeen(t *testing.T) {
	g := NewWithT(t)
	cut := v1alpha1.DrillFault{Kind: v1alpha1.FaultPartition}
	api := func(failures int32) v1alpha1.ProbeFigures {
		f := v1alpha1.ProbeFigures{From: "quisec", To: "172.18.0.5:6443", Attempts: 5, Failures: failures}
		if failures < 5 {
			f.Connect = lasting(time.Millisecond)
		}
		return f
	}
	open, closed := figures(0, time.Millisecond, time.Millisecond), figures(5, 0, 0)
	effect := func(before, during v1alpha1.ProbeFigures) metav1.ConditionStatus {
		status, _ := fault.NetworkEffect(one(cut), nil, append(open[:1:1], before), append(closed[:1:1], during))
		return status
	}
	g.Expect(effect(api(0), api(5))).To(Equal(metav1.ConditionTrue))
	g.Expect(effect(api(0), api(0))).To(Equal(metav1.ConditionFalse))
	g.Expect(effect(api(5), api(5))).To(Equal(metav1.ConditionUnknown))
}

func TestKilobits(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]int64{"512kbps": 4096, "1mbps": 8000, "1mbit": 1000, "8gbit": 8_000_000,
		"100bit": 1, "8000bps": 64} {
		n, ok := fault.Kilobits(text)
		g.Expect(ok).To(BeTrue(), text)
		g.Expect(n).To(Equal(want), text)
	}
	_, ok := fault.Kilobits("1 mb/s")
	g.Expect(ok).To(BeFalse())
}

func at(server string, before, during, after *int64) v1alpha1.EffectFigure {
	return v1alpha1.EffectFigure{
		Server:  server,
		Measure: v1alpha1.MeasureProcessors,
		Before:  before,
		During:  during,
		After:   after,
	}
}

// Processors, memory and clocks are measured before and during the fault, at every server that it strikes.
func TestEffectsAtServers(t *testing.T) {
	busy := v1alpha1.DrillFault{Kind: v1alpha1.FaultCPUStress, CPU: &v1alpha1.CPUFault{Workers: 16, Load: 100}}
	light := v1alpha1.DrillFault{Kind: v1alpha1.FaultCPUStress, CPU: &v1alpha1.CPUFault{Load: 20}}
	full := v1alpha1.DrillFault{Kind: v1alpha1.FaultMemoryStress, Memory: &v1alpha1.MemoryFault{Size: "128MB"}}
	part := v1alpha1.DrillFault{Kind: v1alpha1.FaultMemoryStress, Memory: &v1alpha1.MemoryFault{Size: "10%"}}
	late := v1alpha1.DrillFault{Kind: v1alpha1.FaultClockOffset, ClockOffset: lasting(-time.Hour)}
	n := ptr.To[int64]
	machine := fault.Machine{Processors: 2, Memory: 4_000_000_000}
	for name, c := range map[string]struct {
		fault   v1alpha1.DrillFault
		figures []v1alpha1.EffectFigure
		want    metav1.ConditionStatus
	}{
		"as many processors as there are": {busy, []v1alpha1.EffectFigure{at("a", n(0), n(1700), nil)},
			metav1.ConditionTrue},
		"hardly any of a processor": {busy, []v1alpha1.EffectFigure{at("a", n(0), n(300), nil)},
			metav1.ConditionFalse},
		"a light load": {light, []v1alpha1.EffectFigure{at("a", n(0), n(180), nil)},
			metav1.ConditionTrue},
		"busy before": {light, []v1alpha1.EffectFigure{at("a", n(180), n(180), nil)},
			metav1.ConditionFalse},
		"one of two servers": {busy,
			[]v1alpha1.EffectFigure{at("a", n(0), n(1700), nil), at("b", n(0), n(0), nil)}, metav1.ConditionFalse},
		"not measured before": {busy, []v1alpha1.EffectFigure{at("a", nil, n(1700), nil)},
			metav1.ConditionUnknown},
		"not measured during": {busy, []v1alpha1.EffectFigure{at("a", n(0), nil, nil)},
			metav1.ConditionUnknown},
		"nothing struck": {busy, nil, metav1.ConditionUnknown},
		"memory": {full, []v1alpha1.EffectFigure{at("a", n(4000), n(134_000), nil)},
			metav1.ConditionTrue},
		"no memory": {full, []v1alpha1.EffectFigure{at("a", n(4000), n(9000), nil)},
			metav1.ConditionFalse},
		"a tenth of the machine's": {part, []v1alpha1.EffectFigure{at("a", n(0), n(390_000), nil)},
			metav1.ConditionTrue},
		"less than a tenth of it": {part, []v1alpha1.EffectFigure{at("a", n(0), n(130_000), nil)},
			metav1.ConditionFalse},
		"late": {late, []v1alpha1.EffectFigure{at("a", n(15), n(-3_599_990), nil)},
			metav1.ConditionTrue},
		"late by as much before": {late, []v1alpha1.EffectFigure{at("a", n(-3_600_000), n(-3_600_000), nil)},
			metav1.ConditionFalse},
		"early": {late, []v1alpha1.EffectFigure{at("a", n(0), n(3_600_000), nil)},
			metav1.ConditionFalse},
		"late by as much more as was asked": {late, []v1alpha1.EffectFigure{at("a", n(-3_600_000), n(-7_200_000), nil)},
			metav1.ConditionTrue},
		"early before, right by the fault alone": {late, []v1alpha1.EffectFigure{at("a", n(3_600_000), n(0), nil)},
			metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			status, seen := fault.ServerEffect(one(c.fault), c.figures, machine)
			NewWithT(t).Expect(status).To(Equal(c.want), seen)
		})
	}
}

// What a fault made of a server or a way must be gone afterwards, and somebody must have looked.
func TestWhatIsLeftBehind(t *testing.T) {
	n := ptr.To[int64]
	for name, c := range map[string]struct {
		effect v1alpha1.FaultEffect
		want   string
	}{
		"stressors gone": {v1alpha1.FaultEffect{Figures: []v1alpha1.EffectFigure{at("a", n(0), n(1700), n(0))}}, ""},
		"stressors at work": {v1alpha1.FaultEffect{Figures: []v1alpha1.EffectFigure{at("a", n(0), n(1700), n(1600))}},
			"after it StressProcessorsMilli of a is 1600 instead of 0"},
		"nobody looked": {v1alpha1.FaultEffect{Figures: []v1alpha1.EffectFigure{at("a", n(0), n(1700), nil)}},
			"nobody looked at a after it"},
		"no loss any more": {v1alpha1.FaultEffect{Before: way(400, 0, 0, 900_000), During: way(400, 40, 0, 9000),
			After: way(400, 1, 0, 800_000)}, ""},
		"loss still": {v1alpha1.FaultEffect{Before: way(400, 0, 0, 900_000), During: way(400, 40, 0, 9000),
			After: way(400, 38, 0, 9900)}, "after it 38 of 400 segments from tukpub to quisec-0:8443 were sent again"},
		"duplicates still": {v1alpha1.FaultEffect{Before: way(400, 0, 0, 900_000), During: way(400, 0, 40, 900_000),
			After: way(400, 0, 41, 900_000)}, "after it 41 of 400 segments from tukpub to quisec-0:8443 came twice"},
		"no bandwidth still": {v1alpha1.FaultEffect{Before: way(400, 0, 0, 900_000), During: way(400, 0, 0, 7900),
			After: way(400, 0, 0, 8000)}, "after it tukpub to quisec-0:8443 carried 8000 kbit/s instead of 900000"},
		"its bandwidth again": {v1alpha1.FaultEffect{Before: way(400, 0, 0, 900_000), During: way(400, 0, 0, 7900),
			After: way(400, 0, 0, 500_000)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kind := v1alpha1.FaultNetwork
			if len(c.effect.Before) == 0 {
				kind = v1alpha1.FaultCPUStress
			}
			NewWithT(t).Expect(fault.StillThere(v1alpha1.FaultStatus{Kind: kind, Effect: &c.effect})).To(Equal(c.want))
		})
	}
}

// An object given literally is measured like the fault that it amounts to.
func TestLiteralObjectsAreMeasuredAsTheirFaults(t *testing.T) {
	for name, c := range map[string]struct {
		kind, spec string
		want       drill.Occurrence
	}{
		"delay": {"NetworkChaos", `{"action":"delay","delay":{"latency":"500ms","jitter":"10ms"}}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Direction: v1alpha1.DirectionTo,
				Network: &v1alpha1.NetworkFault{Latency: lasting(500 * time.Millisecond),
					Jitter: lasting(10 * time.Millisecond)}})},
		"loss, both": {"NetworkChaos", `{"action":"loss","direction":"both","loss":{"loss":"25.5","correlation":"0"}}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Direction: v1alpha1.DirectionBoth,
				Network: &v1alpha1.NetworkFault{Loss: 25}})},
		"partition": {"NetworkChaos", `{"action":"partition","direction":"from"}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultPartition, Direction: v1alpha1.DirectionFrom})},
		"bandwidth": {"NetworkChaos", `{"action":"bandwidth","bandwidth":{"rate":"1mbps"}}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Direction: v1alpha1.DirectionTo,
				Network: &v1alpha1.NetworkFault{Rate: "1mbps"}})},
		"pod failure": {"PodChaos", `{"action":"pod-failure"}`, one(v1alpha1.DrillFault{Kind: v1alpha1.FaultPodFailure})},
		"clock": {"TimeChaos", `{"timeOffset":"-10m"}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultClockOffset, ClockOffset: lasting(-10 * time.Minute)})},
		"processors": {"StressChaos", `{"stressors":{"cpu":{"workers":2,"load":50}}}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultCPUStress, CPU: &v1alpha1.CPUFault{Workers: 2, Load: 50}})},
		"memory": {"StressChaos", `{"stressors":{"memory":{"workers":1,"size":"64MB"}}}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultMemoryStress, Memory: &v1alpha1.MemoryFault{Size: "64MB"}})},
		"both": {"StressChaos", `{"stressors":{"cpu":{"workers":1},"memory":{"workers":1,"size":"64MB"}}}`,
			one(v1alpha1.DrillFault{Kind: v1alpha1.FaultChaosMesh})},
		"names": {"DNSChaos", `{"action":"error"}`, one(v1alpha1.DrillFault{Kind: v1alpha1.FaultChaosMesh})},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := one(
				v1alpha1.DrillFault{
					Kind:      v1alpha1.FaultChaosMesh,
					ChaosMesh: &v1alpha1.LiteralChaos{Site: "quincy", Kind: c.kind, Spec: runtime.RawExtension{Raw: []byte(c.spec)}},
				},
			)
			m := fault.MeasuredAs(o)
			m.ChaosMesh = nil
			g.Expect(m).To(Equal(c.want))
		})
	}
	g := NewWithT(t)
	slow := one(
		v1alpha1.DrillFault{
			Kind:      v1alpha1.FaultNetwork,
			Direction: v1alpha1.DirectionTo,
			Network:   &v1alpha1.NetworkFault{Latency: lasting(100 * time.Millisecond)},
		},
	)
	other := func(list []v1alpha1.ProbeFigures) []v1alpha1.ProbeFigures {
		list[0].From = "quidis"
		return list
	}
	ms := time.Millisecond
	before := append(figures(0, ms, ms), other(figures(0, ms, ms))...)
	status, _ := fault.LiteralNetworkEffect(
		slow,
		nil,
		before,
		append(figures(0, ms, ms), other(figures(0, 101*ms, 101*ms))...),
	)
	g.Expect(status).To(Equal(metav1.ConditionTrue), "one of its ways is enough: nobody knows which it names")
	status, _ = fault.LiteralNetworkEffect(slow, nil, before, before)
	g.Expect(status).To(Equal(metav1.ConditionFalse))
}
