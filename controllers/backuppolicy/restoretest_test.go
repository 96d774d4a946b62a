// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// daily has the policy's backups tested each day at noon.
func daily(d *Desired) *Desired {
	d.Policy.UID, d.Policy.Spec.Stores = "p1", []v1alpha1.ObjectName{"bucket"}
	d.Policy.Spec.RestoreTest = &v1alpha1.RestoreTest{BackupTimes: v1alpha1.BackupTimes{Schedule: "0 12 * * *"},
		Server: "spare", HistoryLimit: 2}
	return d
}

// made is a Restore of the policy's test, in a phase.
func made(d Desired, due time.Time, database v1alpha1.DatabaseName, outcome v1alpha1.RestoreOutcome,
	reason string) v1alpha1.Restore {
	x := *d.testOf(metav1.NewTime(due), database)
	x.UID, x.CreationTimestamp = types.UID(x.Name), metav1.NewTime(due)
	x.Status.Phase = v1alpha1.RestoreRunning
	if outcome != "" {
		from, to := metav1.NewTime(due), metav1.NewTime(due.Add(time.Hour))
		x.Status = v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Outcome: outcome, Reason: reason,
			Message: "the words", Started: &from, Finished: &to, Checked: outcome == v1alpha1.RestoreSucceeded}
	}
	return x
}

// A test is written down when it is due, its databases are restored one after the other, and its end is that of all.
func TestATestGoesOnFromRoundToRound(t *testing.T) {
	g := NewWithT(t)
	d, o := *daily(func() *Desired { d := desired(); return &d }()), observed(t, noon)
	d.Databases = []v1alpha1.DatabaseName{"Content", "Orders"}
	round := func() (steps []string) {
		var p reconcile.Plan
		planTests(&p, d, o)
		d.Policy.Status.RestoreTest = tested(d, o)
		for _, s := range p.Steps {
			steps = append(steps, s.Describe())
		}
		return steps
	}
	status := func() *v1alpha1.RestoreTestStatus { return d.Policy.Status.RestoreTest }
	condition := func() metav1.Condition { return restoreTested(d, o, status()) }

	o.Now = noon.Add(-time.Hour)
	g.Expect(round()).To(BeEmpty())
	g.Expect(status()).To(And(HaveField("Due", BeNil()), HaveField("Next.Time", BeTemporally("==", noon))))
	g.Expect(condition()).To(And(HaveField("Status", metav1.ConditionUnknown),
		HaveField("Reason", v1alpha1.ReasonRestoreTestPending)))

	o.Now = noon.Add(time.Minute)
	g.Expect(round()).To(BeEmpty(), "it is written down first")
	g.Expect(status()).To(And(HaveField("Due.Time", BeTemporally("==", noon)), HaveField("Databases", HaveLen(2)),
		HaveField("Next.Time", BeTemporally("==", noon.Add(24*time.Hour)))))
	first := d.testOf(*status().Due, "Content")
	g.Expect(first.Spec).To(And(HaveField("Check", true), HaveField("Discard", true),
		HaveField("Target.Server", v1alpha1.ServerName("spare")),
		HaveField("Target.Database", v1alpha1.DatabaseName("Content_restoretest")),
		HaveField("Source.Policy", v1alpha1.ObjectName("nightly"))))
	g.Expect(round()).To(HaveExactElements(ContainSubstring(first.Name)))
	g.Expect(round()).To(HaveExactElements(ContainSubstring(first.Name)), "until it is seen")
	d.Tests = []v1alpha1.Restore{made(d, noon, "Content", "", "")}
	g.Expect(round()).To(BeEmpty(), "one after the other")
	d.Tests[0] = made(d, noon, "Content", v1alpha1.RestoreSucceeded, v1alpha1.ReasonRestored)
	second := d.testOf(*status().Due, "Orders").Name
	g.Expect(round()).To(HaveExactElements(ContainSubstring(second)))
	g.Expect(condition().Reason).To(Equal(v1alpha1.ReasonRestoreTestPending))
	d.Tests = append(d.Tests, made(d, noon, "Orders", v1alpha1.RestoreSucceeded, v1alpha1.ReasonRestored))
	g.Expect(round()).To(BeEmpty())
	g.Expect(status()).To(And(HaveField("Outcome", v1alpha1.RestoreTestPassed), HaveField("LastPassed", Not(BeNil())),
		HaveField("Databases", HaveEach(HaveField("Duration.Duration", time.Hour)))))
	g.Expect(condition().Status).To(Equal(metav1.ConditionTrue))
	d.Policy.Status.Conditions = []metav1.Condition{condition()}

	o.Now = noon.Add(24*time.Hour + time.Minute)
	round()
	g.Expect(status().Outcome).To(BeEmpty())
	g.Expect(condition().Status).To(Equal(metav1.ConditionTrue), "the last that is over counts")
	g.Expect(round()).To(HaveLen(1))
	d.Tests = append(d.Tests, made(d, noon.Add(24*time.Hour), "Content", v1alpha1.RestoreFailed,
		v1alpha1.ReasonCheckFailed))
	g.Expect(round()).To(HaveExactElements(ContainSubstring("202603021200"), ContainSubstring("beyond the history limit")))
	d.Tests = append(d.Tests, made(d, noon.Add(24*time.Hour), "Orders", v1alpha1.RestoreSucceeded,
		v1alpha1.ReasonRestored))
	round()
	g.Expect(condition()).To(And(HaveField("Status", metav1.ConditionFalse),
		HaveField("Reason", v1alpha1.ReasonRestoreTestFailed),
		HaveField("Message", ContainSubstring("Content: CheckFailed"))))
	g.Expect(status().LastPassed.Time).To(BeTemporally("==", noon.Add(time.Minute)))
	p := reconcile.Plan{}
	planTests(&p, d, o)
	g.Expect(p.Steps).To(HaveLen(2), "those of the newest test stay")
}

func TestWhatEndsAPartOfATest(t *testing.T) {
	for _, row := range []struct {
		why     string
		edit    func(*Desired, *Observed)
		outcome v1alpha1.RestoreTestOutcome
		reason  string
		next    time.Time
	}{
		{why: "it goes on", edit: func(d *Desired, _ *Observed) {
			d.Tests = []v1alpha1.Restore{made(*d, noon, "Content", "", "")}
		}, next: noon.Add(24 * time.Hour)},
		{why: "the next is due", edit: func(d *Desired, o *Observed) {
			d.Tests, o.Now = []v1alpha1.Restore{made(*d, noon, "Content", "", "")}, noon.Add(25*time.Hour)
		}, next: noon.Add(48 * time.Hour)},
		{why: "the schedule is another", edit: func(d *Desired, _ *Observed) {
			d.Policy.Generation, d.Policy.Spec.RestoreTest.Schedule = 2, "30 12 * * *"
		}, next: noon.Add(30 * time.Minute)},
		{why: "somebody deleted the Restore", edit: func(d *Desired, _ *Observed) {
			d.Policy.Status.RestoreTest.Databases[0].Restore = "one"
		}, outcome: v1alpha1.RestoreTestFailed, reason: v1alpha1.ReasonRestoreTestGone, next: noon.Add(24 * time.Hour)},
		{why: "the server has become a replica", edit: func(d *Desired, _ *Observed) { d.TestRefused = "it is one" },
			outcome: v1alpha1.RestoreTestFailed, reason: v1alpha1.ReasonRestoreRefused, next: noon.Add(24 * time.Hour)},
		{why: "an agent that checked nothing", edit: func(d *Desired, _ *Observed) {
			x := made(*d, noon, "Content", v1alpha1.RestoreSucceeded, v1alpha1.ReasonRestored)
			x.Status.Checked = false
			d.Tests = []v1alpha1.Restore{x}
		}, outcome: v1alpha1.RestoreTestFailed, reason: v1alpha1.ReasonRestored, next: noon.Add(24 * time.Hour)},
		{why: "no chain", edit: func(d *Desired, _ *Observed) {
			d.Tests = []v1alpha1.Restore{made(*d, noon, "Content", v1alpha1.RestoreRefused, v1alpha1.ReasonNoChain)}
		}, outcome: v1alpha1.RestoreTestFailed, reason: v1alpha1.ReasonNoChain, next: noon.Add(24 * time.Hour)},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := *daily(func() *Desired { d := desired(); return &d }()), observed(t, noon)
			at, next := metav1.NewTime(noon), metav1.NewTime(noon.Add(24*time.Hour))
			d.Policy.Status.RestoreTest = &v1alpha1.RestoreTestStatus{Due: &at, Started: &at, Next: &next,
				Databases: []v1alpha1.TestedDatabase{{Name: "Content"}}}
			row.edit(&d, &o)
			s := tested(d, o)
			g.Expect(s.Outcome).To(Equal(row.outcome))
			g.Expect(s.Databases[0].Reason).To(Equal(row.reason))
			g.Expect(s.Next.Time).To(BeTemporally("==", row.next))
			g.Expect(restoreTested(d, o, s).Reason == v1alpha1.ReasonRestoreTestLate).To(Equal(row.why == "the next is due"))
		})
	}
}

// What is not asked for is not, and nothing is begun with that nobody knows.
func TestNoTest(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t, noon)
	g.Expect(tested(d, o)).To(BeNil())
	d = *daily(&d)
	d.Databases, o.Servers = nil, nil
	past := metav1.NewTime(noon.Add(-time.Hour))
	d.Policy.Status.RestoreTest = &v1alpha1.RestoreTestStatus{Next: &past}
	g.Expect(tested(d, o)).To(HaveField("Due", BeNil()))
	d.Policy.Spec.RestoreTest.Databases = []v1alpha1.DatabaseName{"Content"}
	g.Expect(tested(d, o)).To(HaveField("Due", Equal(&past)))
	d.Missing = "there is no BackupStore"
	g.Expect(tested(d, o)).To(HaveField("Due", BeNil()))
}
