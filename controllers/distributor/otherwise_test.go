// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// An engine may look for the snapshot folder without the map of UNC names. Then the publisher is admitted with the path
// under which distributor and subscribers have the folder; status says so, and nothing is changed back.
func TestSnapshotFolderThatTheEngineFindsByItsPath(t *testing.T) {
	const local = "/var/opt/mssql-backup/mirror/dist-0"
	g := NewWithT(t)
	d := declared()
	step := admit(d.System, "tukpub-0", d.System.WorkingDirectory)
	g.Expect(step.Statement.Text).To(ContainSubstring("N'//dist-0/ReplData'"))
	var ways []mssql.Instead
	for _, way := range step.Instead {
		if way.On == 21037 {
			ways = append(ways, way)
		}
	}
	g.Expect(ways).To(HaveLen(1))
	g.Expect(ways[0].Steps).To(HaveLen(1))
	g.Expect(ways[0].Steps[0].Statement.Text).To(ContainSubstring("N'" + local + "'"))
	for _, way := range ways[0].Steps[0].Instead {
		g.Expect(way.On).NotTo(BeEquivalentTo(21037), "once")
	}

	w := newWorld(d)
	w.settle(t, all)
	for name, c := range map[string]struct {
		back string
		says bool
	}{
		"as it was given":        {"//dist-0/ReplData", false},
		"with other slashes":     {`\\dist-0\ReplData`, false},
		"with one at the end":    {"//dist-0/ReplData/", false},
		"in capitals":            {"//DIST-0/REPLDATA", false},
		"the path":               {local, true},
		"the path with one more": {local + "/", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w.server(distributor).Publisher("tukpub-0").WorkingDirectory = c.back
			p := plan(w.d, w.o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
			if c.says {
				g.Expect(p.Outcome.Message).To(And(ContainSubstring(local), ContainSubstring("tukpub-0")))
			} else {
				g.Expect(p.Outcome.Message).NotTo(ContainSubstring("snapshot folder"))
			}
		})
	}
}

// A person may ask for the path: it is what publishers get then, and sidecars mirror it all the same.
func TestSnapshotFolderThatIsDeclaredAsItsPath(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Distributor.Spec.SnapshotFolder = "/var/opt/mssql-backup/mirror/dist-0"
	passwords := w.d.System
	w.d.System = replication.SystemOf(w.d.Distributor)
	w.d.System.AgentPassword, w.d.System.LinkPassword = passwords.AgentPassword, passwords.LinkPassword
	g.Expect(w.d.System.Mirrored()).To(BeTrue())
	p := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
	g.Expect(w.server(distributor).Publisher("tukpub-0").WorkingDirectory).To(Equal(w.d.Distributor.Spec.SnapshotFolder))
}

// The engine's own job keeps the distribution database small; that it fails shows nowhere else until the volume is
// full.
func TestCleanupThatFails(t *testing.T) {
	job := func(enabled bool, outcome int) reconcile.Reading[*mssql.MaintenanceJob] {
		return reconcile.Read(&mssql.MaintenanceJob{Name: "Distribution clean up: distribution", Enabled: enabled,
			Outcome: outcome, Message: "it could not remove a folder"})
	}
	for name, c := range map[string]struct {
		read   reconcile.Reading[*mssql.MaintenanceJob]
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		"it ends well": {job(true, 1), metav1.ConditionTrue, v1alpha1.ReasonCleanedUp, ""},
		"it fails":     {job(true, 0), metav1.ConditionFalse, v1alpha1.ReasonCleanupFailed, "could not remove a folder"},
		"stopped":      {job(true, 3), metav1.ConditionFalse, v1alpha1.ReasonCleanupFailed, "has failed"},
		"disabled":     {job(false, 1), metav1.ConditionFalse, v1alpha1.ReasonCleanupFailed, "disabled"},
		"not run":      {job(true, 5), "", "", ""},
		"none": {reconcile.Read[*mssql.MaintenanceJob](nil), metav1.ConditionFalse, v1alpha1.ReasonCleanupFailed,
			"has no job"},
		"silent": {reconcile.NotRead[*mssql.MaintenanceJob](errors.New("no route")), metav1.ConditionUnknown,
			v1alpha1.ReasonCleanupUnknown, "no route"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			g.Expect(cleanedUp(w.d, w.o)).To(BeNil(), "there is nothing to clean up yet")
			w.settle(t, all)
			for _, jobs := range [][2]reconcile.Reading[*mssql.MaintenanceJob]{{c.read, job(true, 1)}, {job(true, 1), c.read}} {
				w.o.Cleanup, w.o.History = jobs[0], jobs[1]
				got := cleanedUp(w.d, w.o)
				if c.status == "" {
					g.Expect(got).To(BeNil())
					continue
				}
				g.Expect(got.Status).To(Equal(c.status))
				g.Expect(got.Reason).To(Equal(c.reason))
				g.Expect(got.Message).To(ContainSubstring(c.says))
			}
		})
	}
}

// What was said of the clean-up is taken back when nobody knows any more: the last word would stand for ever.
func TestCleanupOfWhichNobodyKnows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		says   string
	}{
		"the server does not answer": {func(w *world) {
			w.o.Servers[distributor] = replication.Server{Err: errors.New("i/o timeout")}
		}, "i/o timeout"},
		"it was not asked":     {func(w *world) { w.o.Servers[distributor] = replication.Server{} }, "not asked"},
		"the database is gone": {func(w *world) { w.server(distributor).Distribution = nil }, "does not list"},
		"the job was made anew": {func(w *world) {
			w.o.Cleanup = reconcile.Read(&mssql.MaintenanceJob{Enabled: true, Outcome: mssql.JobNeverRan})
		}, "has not run since it was made"},
		"the history's was made anew": {func(w *world) {
			w.o.History = reconcile.Read(&mssql.MaintenanceJob{Enabled: true, Outcome: mssql.JobNeverRan})
		}, "has not run since it was made"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			well := reconcile.Read(&mssql.MaintenanceJob{Enabled: true, Outcome: mssql.JobSucceeded})
			w.o.Cleanup, w.o.History = well, well
			c.change(w)
			g.Expect(cleanedUp(w.d, w.o)).To(BeNil(), "nothing was said before")
			w.d.Distributor.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionCleanedUp, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCleanedUp}}
			got := cleanedUp(w.d, w.o)
			g.Expect(got).NotTo(BeNil())
			g.Expect(got.Status).To(Equal(metav1.ConditionUnknown))
			g.Expect(got.Reason).To(Equal(v1alpha1.ReasonCleanupUnknown))
			g.Expect(got.Message).To(ContainSubstring(c.says))
		})
	}
}
