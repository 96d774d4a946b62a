// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/history"
)

// good is a measurement with which every objective is met.
func good() drill.Measured {
	rto, catchUp := 3*time.Second, 4*time.Second
	return drill.Measured{
		History: history.Verdict{Counts: history.Counts{Attempted: 1000, Acknowledged: 990, Unknown: 10}, Registers: history.Registers{Result: history.Passed},
			Faults: []history.FaultFigures{{Fault: history.Fault{Name: "kill", Target: "tukpub"}, CatchUp: &catchUp,
				Clients: []history.ClientFigures{{Client: "quincy", RTO: &rto}, {Client: "tukwila", Isolated: true}}}}},
		Faults: []v1alpha1.FaultStatus{{Name: "kill", State: v1alpha1.FaultRemoved, Effect: &v1alpha1.FaultEffect{Status: metav1.ConditionTrue}}},
		Read:   []string{"tukpub-0", "quisec-0"},
		Send:   &drill.Queue{KB: 10}, Redo: &drill.Queue{KB: 20}, Waited: time.Minute,
	}
}

func goals() v1alpha1.DrillObjectives {
	return v1alpha1.DrillObjectives{RPO: lasting(0), RTO: lasting(5 * time.Second), RedoCatchUp: lasting(10 * time.Second),
		SendQueueKB: ptr.To[int64](100), RedoQueueKB: ptr.To[int64](100), ErrorPercent: ptr.To[int32](5)}
}

// Each thing that is wrong, or missing, is put down to its objective, and nothing that is missing passes.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*drill.Measured)
		verdict   v1alpha1.DrillVerdict
		objective string
	}{
		"all is well":                {func(*drill.Measured) {}, v1alpha1.VerdictPassed, ""},
		"a row is lost":              {func(m *drill.Measured) { m.History.Counts.Lost = 1 }, v1alpha1.VerdictFailed, "lostRows"},
		"time is lost":               {func(m *drill.Measured) { m.History.Faults[0].RPO = time.Second }, v1alpha1.VerdictFailed, "rpo"},
		"too long without service":   {func(m *drill.Measured) { *m.History.Faults[0].Clients[0].RTO = 6 * time.Second }, v1alpha1.VerdictFailed, "rto"},
		"a client never came back":   {func(m *drill.Measured) { m.History.Faults[0].Clients[0].RTO = nil }, v1alpha1.VerdictInconclusive, "rto"},
		"served, but not well again": {func(m *drill.Measured) { m.NotRecovered = "clients at quincy are not served yet" }, v1alpha1.VerdictInconclusive, "rto"},
		"not recovered":              {func(m *drill.Measured) { m.NotRecovered = "nobody is PRIMARY" }, v1alpha1.VerdictInconclusive, "evidence"},
		"too long to catch up":       {func(m *drill.Measured) { *m.History.Faults[0].CatchUp = 11 * time.Second }, v1alpha1.VerdictFailed, "redoCatchUp"},
		"never caught up":            {func(m *drill.Measured) { m.History.Faults[0].CatchUp = nil }, v1alpha1.VerdictFailed, "redoCatchUp"},
		"no replicas":                {func(m *drill.Measured) { m.NoGroup = true }, v1alpha1.VerdictInconclusive, "redoCatchUp"},
		"hardly waited":              {func(m *drill.Measured) { m.History.Faults[0].CatchUp = nil; m.Waited = time.Second }, v1alpha1.VerdictInconclusive, "redoCatchUp"},
		"a queue is too long":        {func(m *drill.Measured) { m.Redo.KB = 101 }, v1alpha1.VerdictFailed, "redoQueueKB"},
		"nobody saw the queues":      {func(m *drill.Measured) { m.Send = nil }, v1alpha1.VerdictInconclusive, "sendQueueKB"},
		"nobody looked for a while":  {func(m *drill.Measured) { m.Gap = time.Minute }, v1alpha1.VerdictInconclusive, "sendQueueKB"},
		"too many errors":            {func(m *drill.Measured) { m.History.Counts.Failed = 41 }, v1alpha1.VerdictFailed, "errorPercent"},
		"a row is there twice":       {func(m *drill.Measured) { m.History.Counts.Duplicated = 1 }, v1alpha1.VerdictFailed, "consistency"},
		"two served at a time":       {func(m *drill.Measured) { m.History.Overlaps = []history.Overlap{{Message: "both"}} }, v1alpha1.VerdictFailed, "consistency"},
		"registers contradict":       {func(m *drill.Measured) { m.History.Registers.Result = history.Failed }, v1alpha1.VerdictFailed, "consistency"},
		"no effect":                  {func(m *drill.Measured) { m.Faults[0].Effect.Status = metav1.ConditionFalse }, v1alpha1.VerdictInconclusive, "effect"},
		"nobody looked for effects":  {func(m *drill.Measured) { m.Faults[0].Effect = nil }, v1alpha1.VerdictInconclusive, "effect"},
		"not done":                   {func(m *drill.Measured) { m.Faults[0].State = v1alpha1.FaultSkipped }, v1alpha1.VerdictInconclusive, "effect"},
		"not taken back":             {func(m *drill.Measured) { m.Faults[0].State = v1alpha1.FaultRemoving }, v1alpha1.VerdictInconclusive, "effect"},
		"a history is lost":          {func(m *drill.Measured) { m.Missing = []string{"dublin"} }, v1alpha1.VerdictInconclusive, "evidence"},
		"rows of a lost history":     {func(m *drill.Measured) { m.Missing = []string{"dublin"}; m.History.Counts.Phantom = 50 }, v1alpha1.VerdictInconclusive, "consistency"},
		"writes of a lost history": {func(m *drill.Measured) {
			m.Missing = []string{"dublin"}
			m.History.Registers.Result = history.Failed
		}, v1alpha1.VerdictInconclusive, "consistency"},
		"phantoms":              {func(m *drill.Measured) { m.History.Counts.Phantom = 1 }, v1alpha1.VerdictFailed, "consistency"},
		"a replica is silent":   {func(m *drill.Measured) { m.Unread = []string{"quisec"} }, v1alpha1.VerdictInconclusive, "evidence"},
		"too few rows":          {func(m *drill.Measured) { m.History.Counts.Acknowledged = 99 }, v1alpha1.VerdictInconclusive, "evidence"},
		"ended early":           {func(m *drill.Measured) { m.Aborted = "by a person" }, v1alpha1.VerdictInconclusive, "evidence"},
		"lost, and ended early": {func(m *drill.Measured) { m.Aborted = "by a person"; m.History.Counts.Lost = 1 }, v1alpha1.VerdictFailed, "lostRows"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := good()
			c.change(&m)
			j := drill.Judge(v1alpha1.DrillSpec{Objectives: goals()}, nil, m)
			g.Expect(j.Verdict).To(Equal(c.verdict), j.Message)
			for _, o := range j.Objectives {
				if o.Name == c.objective {
					g.Expect(o.Verdict).To(Equal(c.verdict))
					g.Expect(j.Message).To(ContainSubstring(c.objective))
				} else if c.verdict == v1alpha1.VerdictPassed {
					g.Expect(o.Verdict).To(Equal(v1alpha1.VerdictPassed), o.Name)
				}
			}
		})
	}
}

// The group's objectives count where the drill has none, and the drill's before the group's.
func TestObjectivesOfTheGroup(t *testing.T) {
	g := NewWithT(t)
	group := &v1alpha1.Objectives{RTO: lasting(time.Second), RPO: lasting(0)}
	g.Expect(drill.Judge(v1alpha1.DrillSpec{}, group, good()).Verdict).To(Equal(v1alpha1.VerdictFailed))
	own := v1alpha1.DrillSpec{Objectives: v1alpha1.DrillObjectives{RTO: lasting(5 * time.Second)}}
	g.Expect(drill.Judge(own, group, good()).Verdict).To(Equal(v1alpha1.VerdictPassed))
}

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
	lossy := v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Network: &v1alpha1.NetworkFault{Loss: 20}}
	both := v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Network: &v1alpha1.NetworkFault{Latency: lasting(100 * ms), Loss: 20}}
	cut := v1alpha1.DrillFault{Kind: v1alpha1.FaultPartition}
	many := func(f []v1alpha1.ProbeFigures) []v1alpha1.ProbeFigures { f[0].Attempts = 50; return f }
	for name, c := range map[string]struct {
		fault          v1alpha1.DrillFault
		before, during []v1alpha1.ProbeFigures
		want           metav1.ConditionStatus
	}{
		"slower as asked":           {slow, usual, figures(0, 204*ms, 205*ms), metav1.ConditionTrue},
		"no slower":                 {slow, usual, figures(0, 5*ms, 9*ms), metav1.ConditionFalse},
		"half of what both ways do": {slow, usual, figures(0, 90*ms, 91*ms), metav1.ConditionFalse},
		"one way":                   {oneWay, usual, figures(0, 104*ms, 110*ms), metav1.ConditionTrue},
		"nothing came through":      {slow, usual, figures(5, 0, 0), metav1.ConditionUnknown},
		"a retransmission":          {lossy, usual, figures(0, 4*ms, 1005*ms), metav1.ConditionTrue},
		"slower, and nothing lost":  {both, usual, many(figures(0, 204*ms, 205*ms)), metav1.ConditionFalse},
		"slower, too few to tell":   {both, usual, figures(0, 204*ms, 205*ms), metav1.ConditionUnknown},
		"slower, and some lost":     {both, usual, figures(1, 204*ms, 205*ms), metav1.ConditionTrue},
		"too few to tell":           {lossy, usual, figures(0, 4*ms, 5*ms), metav1.ConditionUnknown},
		"enough to tell":            {lossy, usual, many(figures(0, 4*ms, 5*ms)), metav1.ConditionFalse},
		"cut":                       {cut, usual, figures(5, 0, 0), metav1.ConditionTrue},
		"half cut":                  {cut, usual, figures(3, 4*ms, 5*ms), metav1.ConditionFalse},
		"was cut before":            {cut, figures(5, 0, 0), figures(5, 0, 0), metav1.ConditionUnknown},
		"nobody looked before":      {cut, nil, figures(5, 0, 0), metav1.ConditionUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			status, seen := drill.NetworkEffect(one(c.fault), c.before, c.during)
			NewWithT(t).Expect(status).To(Equal(c.want), seen)
			NewWithT(t).Expect(seen).NotTo(BeEmpty())
		})
	}
}

// A fault of the network is over when probes see what they saw before it, not when its objects are gone.
func TestWhatIsLeftOfTheNetworksFaults(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		during, after []v1alpha1.ProbeFigures
		want          v1alpha1.DrillVerdict
	}{
		"as before":         {figures(0, 200*ms, 201*ms), figures(0, 5*ms, 6*ms), v1alpha1.VerdictPassed},
		"slow still":        {figures(0, 200*ms, 201*ms), figures(0, 190*ms, 191*ms), v1alpha1.VerdictInconclusive},
		"cut, open again":   {figures(5, 0, 0), figures(0, 5*ms, 6*ms), v1alpha1.VerdictPassed},
		"cut still":         {figures(5, 0, 0), figures(5, 0, 0), v1alpha1.VerdictInconclusive},
		"nobody looked":     {figures(5, 0, 0), nil, v1alpha1.VerdictInconclusive},
		"a lossy way, once": {figures(1, 4*ms, 5*ms), figures(1, 4*ms, 5*ms), v1alpha1.VerdictPassed},
	} {
		t.Run(name, func(t *testing.T) {
			m := good()
			m.Faults[0].Kind = v1alpha1.FaultNetwork
			m.Faults[0].Effect.Before, m.Faults[0].Effect.During, m.Faults[0].Effect.After = figures(0, 4*ms, 5*ms), c.during, c.after
			j := drill.Judge(v1alpha1.DrillSpec{}, nil, m)
			NewWithT(t).Expect(j.Verdict).To(Equal(c.want), j.Message)
		})
	}
}

// What no fault was done to says nothing of what a fault would cost.
func TestNoFaults(t *testing.T) {
	g := NewWithT(t)
	m := good()
	m.Faults, m.History.Faults = nil, nil
	g.Expect(drill.Judge(v1alpha1.DrillSpec{Objectives: v1alpha1.DrillObjectives{RPO: lasting(0)}}, nil, m).Verdict).To(Equal(v1alpha1.VerdictInconclusive))
	g.Expect(drill.Judge(v1alpha1.DrillSpec{}, &v1alpha1.Objectives{RPO: lasting(0), RTO: lasting(time.Second)}, m).Verdict).To(Equal(v1alpha1.VerdictPassed), "the group's goals are for its faults")
}
