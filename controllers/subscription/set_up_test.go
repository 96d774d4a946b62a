// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"fmt"
	"testing"
	"time"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// unregistered is a subscription that begins without a snapshot and is not registered yet, whose log reader the
// operator has made.
func unregistered(t *testing.T) *world {
	t.Helper()
	w := newWorld(declared())
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	w.o.LogReaderJob.Description = replication.Description("web", "log reader of Content")
	w.o.LogReaderJob.Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, false).Text()
	for range 10 {
		p := plan(w.d, w.look())
		if p.Outcome.Reason == v1alpha1.ReasonWaitingForLogReader {
			return w
		}
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	t.Fatal("nothing waits for the log reader")
	return nil
}

// A log reader without the right would fail at the registration of a subscriber that begins without a snapshot
// (docs/relational-databases/system-stored-procedures/sp-addsubscription-transact-sql.md, "Remarks").
func TestARegistrationWithoutSnapshotWaitsForTheLogReader(t *testing.T) {
	setsUp := func(w *world) {
		w.o.LogReaderJob.Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, true).Text()
	}
	for name, c := range map[string]struct {
		change    func(*world)
		registers bool
	}{
		"as it runs always":       {func(*world) {}, false},
		"with the right":          {setsUp, true},
		"with the right, stopped": {func(w *world) { setsUp(w); w.o.LogReaderJob.Running = false }, false},
		"there is none":           {func(w *world) { w.o.LogReaderJob = nil }, false},
		"somebody else's":         {func(w *world) { w.o.LogReaderJob.Description = "nightly" }, true},
		"by a snapshot":           {func(w *world) { w.d.Publication.Spec.Initialization = nil }, true},
		"the folder was missing": {func(w *world) {
			w.d.Subscription.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady,
				Reason: v1alpha1.ReasonSnapshotFolderMissing}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := unregistered(t)
			c.change(w)
			p := plan(w.d, w.look())
			g.Expect(registers(p)).To(Equal(c.registers), p.Outcome.Message)
			if !c.registers {
				g.Expect(p.Steps).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForLogReader))
				g.Expect(p.Outcome.Message).To(And(ContainSubstring(w.d.System.SetUpLogin), ContainSubstring("sysadmin")))
			}
		})
	}
}

// Tables are compared once the log reader can set the subscriber up, so that no row of them is read for nothing.
func TestAComparisonWaitsForTheLogReader(t *testing.T) {
	g := NewWithT(t)
	w := unregistered(t)
	w.d.Publication.Spec.Initialization = nil
	w.d.Subscription.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForLogReader))
	w.o.LogReaderJob.Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, true).Text()
	p = plan(w.d, w.look())
	g.Expect(p.Outcome.Message).To(ContainSubstring("being compared"))
	w.o.Comparison = &replication.Comparison{Equal: true, Steady: true}
	g.Expect(registers(plan(w.d, w.look()))).To(BeTrue())
}

// A snapshot that is made since tables differ may take longer than the log reader has the right, and takes none.
func TestASubscriptionThatWaitsForASnapshotAsksForNoRight(t *testing.T) {
	g := NewWithT(t)
	w := unregistered(t)
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	w.d.System.Retention, w.o.At.SnapshotAge = 72, 71*time.Hour
	w.o.At.Snapshot = &mssql.Agent{Status: mssql.RunInProgress}
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForLogReader), "it may be equal")
	w.o.LogReaderJob.Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, true).Text()
	w.o.Comparison = &replication.Comparison{Difference: "other rows", Steady: true}
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotRunning))
	w.d.Subscription.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: p.Outcome.Reason}}
	w.o.LogReaderJob.Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, false).Text()
	w.o.Comparison = nil
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotRunning))
	w.o.At.SnapshotAge = time.Minute
	p = plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForLogReader), "what is equal by now is kept")
	g.Expect(p.Steps).To(BeEmpty())
}

// Whoever waits for a right that is not given again says since when.
func TestASubscriptionWhoseHourIsOverSaysSo(t *testing.T) {
	g := NewWithT(t)
	w := unregistered(t)
	since, ended := metav1.NewTime(start), metav1.NewTime(start.Add(time.Hour))
	w.d.Publication.Status.LogReaderRight = &v1alpha1.LogReaderRight{Since: &since, Ended: &ended}
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForLogReader))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("from 2026-11-20T10:00:00Z to 2026-11-20T11:00:00Z"),
		ContainSubstring("Publication articles says what helps")))
}

// A publisher that runs since before the Publication was declared does not map the folder yet: that is said, with what
// helps.
func TestAPublisherThatCannotWriteScripts(t *testing.T) {
	g := NewWithT(t)
	w := unregistered(t)
	refused := fmt.Errorf("subscribe: %w", &mssql.Error{Class: mssql.Refused, Err: driver.Error{Number: 21330}})
	o := outcome(w.d, w.look(), plan(w.d, w.look()), refused)
	g.Expect(o.Reason).To(Equal(v1alpha1.ReasonSnapshotFolderMissing))
	g.Expect(o.Message).To(ContainSubstring("kubectl geosql restart tukpub -n web"))
	w.d.System.WorkingDirectory = "/mnt/share"
	o = outcome(w.d, w.look(), plan(w.d, w.look()), refused)
	g.Expect(o.Message).To(ContainSubstring("make the folder there"))
	o = outcome(w.d, w.look(), plan(w.d, w.look()), errors.New("it fails"))
	g.Expect(o.Reason).NotTo(Equal(v1alpha1.ReasonSnapshotFolderMissing))
}
