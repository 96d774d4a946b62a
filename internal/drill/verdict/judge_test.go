// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// good is a measurement with which every objective is met.
func good() verdict.Measured {
	rto, cut, catchUp := 3*time.Second, 2*time.Second, 4*time.Second
	return verdict.Measured{
		History: history.Verdict{
			Counts:     history.Counts{Attempted: 1000, Acknowledged: 990, Unknown: 10},
			Operations: history.Operations{Attempted: 1000, Failed: 0, Unknown: 10},
			Registers:  history.Registers{Result: history.Passed},
			Faults: []history.FaultFigures{{Fault: history.Fault{Name: "kill", Target: "tukpub"}, CatchUp: &catchUp,
				Acknowledged: 100,
				Clients: []history.ClientFigures{
					{Client: "quincy", RTO: &rto}, {Client: "tukwila", Isolated: true, RTO: &cut},
				}}},
		},
		Faults: []v1alpha1.FaultStatus{
			{Name: "kill", State: v1alpha1.FaultRemoved, Effect: &v1alpha1.FaultEffect{Status: metav1.ConditionTrue}},
		},
		Read: []string{"tukpub-0", "quisec-0"},
		Send: &verdict.Queue{KB: 10}, Redo: &verdict.Queue{KB: 20}, Waited: time.Minute,
	}
}

func goals() v1alpha1.DrillObjectives {
	return v1alpha1.DrillObjectives{RPO: lasting(0), RTO: lasting(5 * time.Second), RedoCatchUp: lasting(10 * time.Second),
		SendQueueKB: ptr.To[int64](100), RedoQueueKB: ptr.To[int64](100), ErrorPercent: ptr.To[int32](5)}
}

// Each thing that is wrong, or missing, is put down to its objective, and nothing that is missing passes.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*verdict.Measured)
		verdict   v1alpha1.DrillVerdict
		objective string
	}{
		"all is well": {func(*verdict.Measured) {}, v1alpha1.VerdictPassed, ""},
		"a row is lost": {func(m *verdict.Measured) { m.History.Counts.Lost = 1 }, v1alpha1.VerdictFailed,
			"lostRows"},
		"time is lost": {func(m *verdict.Measured) { m.History.Faults[0].RPO = time.Second },
			v1alpha1.VerdictFailed, "rpo"},
		"too long without service": {func(m *verdict.Measured) { *m.History.Faults[0].Clients[0].RTO = 6 * time.Second },
			v1alpha1.VerdictFailed, "rto"},
		"a client never came back, for longer than the goal": {func(m *verdict.Measured) {
			*m.History.Faults[0].Clients[0].RTO, m.History.Faults[0].Clients[0].AtLeast = 6*time.Second, true
		}, v1alpha1.VerdictFailed, "rto"},
		"a client never came back, as far as it tried": {func(m *verdict.Measured) {
			m.History.Faults[0].Clients[0].AtLeast = true
		}, v1alpha1.VerdictInconclusive, "rto"},
		"of a client nothing was measured": {func(m *verdict.Measured) { m.History.Faults[0].Clients[0].RTO = nil },
			v1alpha1.VerdictInconclusive, "rto"},
		"too long without service when it could reach all": {func(m *verdict.Measured) {
			*m.History.Faults[0].Clients[1].RTO = 6 * time.Second
		}, v1alpha1.VerdictFailed, "rto"},
		"the clocks leave the outage open": {func(m *verdict.Measured) {
			*m.History.Faults[0].Clients[0].RTO, m.History.Faults[0].Clients[0].Unsure = 6*time.Second, 2*time.Second
		}, v1alpha1.VerdictInconclusive, "rto"},
		"the clocks leave the loss open": {func(m *verdict.Measured) {
			m.History.Faults[0].RPO, m.History.Faults[0].RPOUnsure = time.Second, 2*time.Second
		}, v1alpha1.VerdictInconclusive, "rpo"},
		"no clock dates the loss": {func(m *verdict.Measured) { m.History.Faults[0].RPOUntold = true },
			v1alpha1.VerdictInconclusive, "rpo"},
		"the clocks do not tell whether two served": {func(m *verdict.Measured) { m.History.Untold = []string{"a or b"} },
			v1alpha1.VerdictInconclusive, "consistency"},
		"served, but not well again": {func(m *verdict.Measured) { m.NotRecovered = "clients at quincy are not served yet" },
			v1alpha1.VerdictInconclusive, "rto"},
		"not recovered": {func(m *verdict.Measured) { m.NotRecovered = "nobody is PRIMARY" },
			v1alpha1.VerdictInconclusive, "evidence"},
		"too long to catch up": {func(m *verdict.Measured) { *m.History.Faults[0].CatchUp = 11 * time.Second },
			v1alpha1.VerdictFailed, "redoCatchUp"},
		"perhaps too long to catch up": {func(m *verdict.Measured) { m.History.Faults[0].CatchUpMore = 7 * time.Second },
			v1alpha1.VerdictInconclusive, "redoCatchUp"},
		"perhaps too long to catch up, and perhaps not": {func(m *verdict.Measured) {
			*m.History.Faults[0].CatchUp, m.History.Faults[0].CatchUpLess = 11*time.Second, 2*time.Second
		}, v1alpha1.VerdictInconclusive, "redoCatchUp"},
		"too long to catch up whenever that was": {func(m *verdict.Measured) {
			*m.History.Faults[0].CatchUp, m.History.Faults[0].CatchUpLess = 13*time.Second, 2*time.Second
		}, v1alpha1.VerdictFailed, "redoCatchUp"},
		"never caught up": {func(m *verdict.Measured) { m.History.Faults[0].CatchUp = nil },
			v1alpha1.VerdictFailed, "redoCatchUp"},
		"no replicas": {func(m *verdict.Measured) { m.NoGroup = true }, v1alpha1.VerdictInconclusive,
			"redoCatchUp"},
		"hardly waited": {func(m *verdict.Measured) { m.History.Faults[0].CatchUp = nil; m.Waited = time.Second },
			v1alpha1.VerdictInconclusive, "redoCatchUp"},
		"a queue is too long": {func(m *verdict.Measured) { m.Redo.KB = 101 }, v1alpha1.VerdictFailed, "redoQueueKB"},
		"nobody saw the queues": {func(m *verdict.Measured) { m.Send = nil }, v1alpha1.VerdictInconclusive,
			"sendQueueKB"},
		"nobody knew for a while what was to be sent": {func(m *verdict.Measured) { m.SendGap = time.Minute },
			v1alpha1.VerdictInconclusive, "sendQueueKB"},
		"nobody knew for a while what was to be redone": {func(m *verdict.Measured) { m.RedoGap = time.Minute },
			v1alpha1.VerdictInconclusive, "redoQueueKB"},
		"no copy was compared": {func(m *verdict.Measured) { m.Read = nil }, v1alpha1.VerdictInconclusive,
			"consistency"},
		"too many errors": {func(m *verdict.Measured) { m.History.Operations.Failed = 41 }, v1alpha1.VerdictFailed,
			"errorPercent"},
		"nothing was tried but what was cut off": {func(m *verdict.Measured) {
			m.History.Operations = history.Operations{CutOff: 100}
		}, v1alpha1.VerdictInconclusive, "errorPercent"},
		"nothing was acknowledged while a fault lasted": {func(m *verdict.Measured) { m.History.Faults[0].Acknowledged = 0 },
			v1alpha1.VerdictInconclusive, "lostRows"},
		"no time was at risk while a fault lasted": {func(m *verdict.Measured) { m.History.Faults[0].Acknowledged = 0 },
			v1alpha1.VerdictInconclusive, "rpo"},
		"lost, with nothing acknowledged while a fault lasted": {func(m *verdict.Measured) {
			m.History.Faults[0].Acknowledged, m.History.Counts.Lost = 0, 1
		}, v1alpha1.VerdictFailed, "lostRows"},
		"a row is there twice": {func(m *verdict.Measured) { m.History.Counts.Duplicated = 1 }, v1alpha1.VerdictFailed,
			"consistency"},
		"a payload is corrupted": {func(m *verdict.Measured) {
			m.History.Contents.Corrupted = history.Finding{Count: 1, Rows: []string{"x"}}
		}, v1alpha1.VerdictFailed, "consistency"},
		"a payload is corrupted, and a history is lost": {func(m *verdict.Measured) {
			m.Missing = []string{"quincy"}
			m.History.Contents.Corrupted = history.Finding{Count: 1, Rows: []string{"x"}}
		}, v1alpha1.VerdictFailed, "consistency"},
		"half a transaction": {func(m *verdict.Measured) {
			m.History.Contents.Torn = history.Finding{Count: 1, Rows: []string{"x"}}
		}, v1alpha1.VerdictFailed, "consistency"},
		"half a transaction, of clients that may have gone on": {func(m *verdict.Measured) {
			m.Unstopped = []string{"quincy"}
			m.History.Contents.Torn = history.Finding{Count: 1, Rows: []string{"x"}}
		}, v1alpha1.VerdictInconclusive, "consistency"},
		"two served at a time": {func(m *verdict.Measured) { m.History.Overlaps = []history.Overlap{{Message: "both"}} },
			v1alpha1.VerdictFailed, "consistency"},
		"registers contradict": {func(m *verdict.Measured) { m.History.Registers.Result = history.Failed },
			v1alpha1.VerdictFailed, "consistency"},
		"registers of several machines": {func(m *verdict.Measured) {
			m.History.Registers = history.Registers{Result: history.Passed, Operations: 300, Unordered: true}
		}, v1alpha1.VerdictPassed, ""},
		"registers of several machines contradict": {func(m *verdict.Measured) {
			m.History.Registers = history.Registers{Result: history.Failed, Operations: 300, Unordered: true}
		}, v1alpha1.VerdictFailed, "consistency"},
		"registers not searched to the end": {func(m *verdict.Measured) {
			m.History.Registers = history.Registers{Result: history.Inconclusive, Operations: 300}
		}, v1alpha1.VerdictInconclusive, "consistency"},
		"no effect": {func(m *verdict.Measured) { m.Faults[0].Effect.Status = metav1.ConditionFalse },
			v1alpha1.VerdictInconclusive, "effect"},
		"nobody looked for effects": {func(m *verdict.Measured) { m.Faults[0].Effect = nil }, v1alpha1.VerdictInconclusive,
			"effect"},
		"not done": {func(m *verdict.Measured) { m.Faults[0].State = v1alpha1.FaultSkipped },
			v1alpha1.VerdictInconclusive, "effect"},
		"not taken back": {func(m *verdict.Measured) { m.Faults[0].State = v1alpha1.FaultRemoving },
			v1alpha1.VerdictInconclusive, "effect"},
		"a history is lost": {func(m *verdict.Measured) { m.Missing = []string{"dublin"} },
			v1alpha1.VerdictInconclusive, "evidence"},
		"clients that did not stop": {func(m *verdict.Measured) { m.Unstopped = []string{"dublin"} },
			v1alpha1.VerdictInconclusive, "evidence"},
		"rows of clients that did not stop": {func(m *verdict.Measured) {
			m.Unstopped, m.History.Counts.Phantom = []string{"dublin"}, 3
		}, v1alpha1.VerdictInconclusive, "consistency"},
		"lost rows of clients that did not stop": {func(m *verdict.Measured) {
			m.Unstopped, m.History.Counts.Lost = []string{"dublin"}, 3
		}, v1alpha1.VerdictFailed, "lostRows"},
		"clients of a lost history write on": {func(m *verdict.Measured) {
			m.Missing = []string{"dublin"}
			m.History.Counts.Phantom, m.History.Counts.Diverging, m.History.Counts.DivergingUnrecorded = 50, 2, 2
		}, v1alpha1.VerdictInconclusive, "consistency"},
		"copies differ, and a history is lost": {func(m *verdict.Measured) {
			m.Missing = []string{"dublin"}
			m.History.Counts.Diverging, m.History.Counts.DivergingUnrecorded = 3, 2
		}, v1alpha1.VerdictFailed, "consistency"},
		"nobody's rows differ": {func(m *verdict.Measured) {
			m.History.Counts.Phantom, m.History.Counts.Diverging, m.History.Counts.DivergingUnrecorded = 2, 2, 2
		}, v1alpha1.VerdictFailed, "consistency"},
		"rows of a lost history": {func(m *verdict.Measured) {
			m.Missing =
				[]string{"dublin"}
			m.History.Counts.Phantom = 50
		}, v1alpha1.VerdictInconclusive, "consistency"},
		"writes of a lost history": {func(m *verdict.Measured) {
			m.Missing = []string{"dublin"}
			m.History.Registers.Result = history.Failed
		}, v1alpha1.VerdictInconclusive, "consistency"},
		"phantoms": {func(m *verdict.Measured) { m.History.Counts.Phantom = 1 }, v1alpha1.VerdictFailed,
			"consistency"},
		"a replica is silent": {func(m *verdict.Measured) { m.Unread = []string{"quisec"} }, v1alpha1.VerdictInconclusive,
			"evidence"},
		"too few rows": {func(m *verdict.Measured) { m.History.Counts.Acknowledged = 99 },
			v1alpha1.VerdictInconclusive, "evidence"},
		"ended early": {func(m *verdict.Measured) { m.Aborted = "by a person" }, v1alpha1.VerdictInconclusive,
			"evidence"},
		"lost, and ended early": {func(m *verdict.Measured) { m.Aborted = "by a person"; m.History.Counts.Lost = 1 },
			v1alpha1.VerdictFailed, "lostRows"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := good()
			c.change(&m)
			j := verdict.Judge(v1alpha1.DrillSpec{Objectives: goals()}, nil, m)
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
	g.Expect(verdict.Judge(v1alpha1.DrillSpec{}, group, good()).Verdict).To(Equal(v1alpha1.VerdictFailed))
	own := v1alpha1.DrillSpec{Objectives: v1alpha1.DrillObjectives{RTO: lasting(5 * time.Second)}}
	g.Expect(verdict.Judge(own, group, good()).Verdict).To(Equal(v1alpha1.VerdictPassed))
}

// What no fault was done to says nothing of what a fault would cost.
func TestNoFaults(t *testing.T) {
	g := NewWithT(t)
	m := good()
	m.Faults, m.History.Faults = nil, nil
	g.Expect(verdict.Judge(v1alpha1.DrillSpec{Objectives: v1alpha1.DrillObjectives{RPO: lasting(0)}}, nil, m).Verdict).
		To(Equal(v1alpha1.VerdictInconclusive))
	g.Expect(verdict.Judge(v1alpha1.DrillSpec{}, &v1alpha1.Objectives{RPO: lasting(0), RTO: lasting(time.Second)},
		m).Verdict).
		To(Equal(v1alpha1.VerdictPassed), "the group's goals are for its faults")
}

// How long clients went without an acknowledgement is told against how long they do though nothing is done.
func TestServiceAgainstTheBaseline(t *testing.T) {
	g := NewWithT(t)
	m := good()
	undisturbed := 240 * time.Millisecond
	m.History.Undisturbed = []history.ClientFigures{{Client: "quincy", RTO: &undisturbed}, {Client: "tukwila"}}
	spec := v1alpha1.DrillSpec{Objectives: goals()}
	told := ContainElement(And(HaveField("Name", "rto"), HaveField("Verdict", v1alpha1.VerdictPassed),
		HaveField("Evidence", ContainSubstring("longest between two acknowledgements without a fault 240ms"))))
	g.Expect(verdict.Judge(spec, nil, m).Objectives).To(told)
	m.History.Undisturbed[0].RTO = nil
	g.Expect(verdict.Judge(spec, nil, m).Objectives).NotTo(told)
}

// One copy is equal to none: the sentences say that it was one.
func TestOneCopyAlone(t *testing.T) {
	g := NewWithT(t)
	m := good()
	m.Read = m.Read[:1]
	m.History.Contents = history.Contents{Copies: 1, Tables: 2}
	j := verdict.Judge(v1alpha1.DrillSpec{Objectives: goals()}, nil, m)
	g.Expect(j.Objectives).To(ContainElement(And(HaveField("Name", "consistency"),
		HaveField("Goal", Not(ContainSubstring("equal copies"))),
		HaveField("Evidence", ContainSubstring("one copy alone was read, tukpub-0: nothing is said of others")))))
	g.Expect(j.Objectives).To(ContainElement(And(HaveField("Name", "lostRows"),
		HaveField("Evidence", "rows of tukpub-0 alone"))))
}
