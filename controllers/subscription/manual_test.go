// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

func manual() *v1alpha1.Initialization {
	return &v1alpha1.Initialization{Method: v1alpha1.InitializeManual,
		Manual: &v1alpha1.ManualInitialization{Folder: "disks/articles"}}
}

// stuck carries plans out until nothing is left to do, while the sidecar says the same all the time.
func (w *world) stuck(t *testing.T) {
	t.Helper()
	for range 30 {
		for _, s := range plan(w.d, w.look()).Steps {
			w.do(t, s)
		}
	}
}

// While a person brings files nothing is applied, and the condition says where they are, where they go, and which are
// missing; as status.copy does.
func TestFilesThatAPersonBrings(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.d.Subscription.Spec.Initialization = manual()
	w.d.Publication.Status.Size = &v1alpha1.CopySize{Rows: 12, Bytes: 125_000_000}
	w.d.Route = replication.Route{Site: "dublin", Links: []replication.Link{{From: "tukwila", To: "dublin",
		Bandwidth: "1Gbit"}}}
	w.stuck(t)
	g.Expect(w.o.Mirror.Told.Manual).To(Equal("disks/articles"))
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForFiles))
	g.Expect(p.Outcome.Message).To(ContainSubstring("begins to look for the files"))
	for i := range w.o.Publication.Subscriptions {
		w.o.Publication.Subscriptions[i].Status = 2
	}

	w.mirrors(files.Status{State: files.Awaiting, Bytes: 300, Total: 1000, ReusedBytes: 300, Brought: &files.Brought{
		Folder: "unc/TUKPUB-0_Content_articles/20261120", Manifest: "0123abc", Files: 8, LackingFiles: 7,
		Lacking: []files.Lack{{File: "a.bcp", Why: files.Differs}, {File: "b.bcp", Why: files.Missing}}}})
	p = plan(w.d, w.look())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForFiles))
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
	g.Expect(p.Outcome.Message).To(Equal("snapshot 20261120: 300 of 1000 bytes are at the subscriber's site; a person " +
		"brings 7 of 8 files from /var/opt/mssql-backup/ReplData/unc/TUKPUB-0_Content_articles/20261120 of dist-0 to " +
		"/var/opt/mssql-backup/brought/disks/articles of dubsub-0: a.bcp (Differs), b.bcp (Missing), and 5 more. The " +
		"list of all has the SHA-256 0123abc. Nothing is applied before all are there; the snapshot is made anew once " +
		"three quarters of the Distributor's retention of 72 hours have gone by"))
	g.Expect(w.jobs[subscriber][jobOfAll].Enabled).To(BeFalse())
	got := w.copied(time.Second)
	g.Expect(got).To(And(HaveField("Phase", v1alpha1.CopyTransfer), HaveField("PresentBytes", int64(300)),
		HaveField("Bytes", int64(1000)), HaveField("ExpectedSeconds", BeNil())))
	g.Expect(got.Brought).To(HaveValue(Equal(v1alpha1.BroughtCopy{Server: "dist-0",
		Source: "/var/opt/mssql-backup/ReplData/unc/TUKPUB-0_Content_articles/20261120",
		Folder: "/var/opt/mssql-backup/brought/disks/articles", Manifest: "0123abc", Files: 8, LackingFiles: 7,
		Lacking: []v1alpha1.LackingFile{{File: "a.bcp", Why: "Differs"}, {File: "b.bcp", Why: "Missing"}}})))

	w.mirrors(files.Status{State: files.Verified, Bytes: 1000, Total: 1000, ReusedBytes: 1000, Seconds: 100,
		Brought: &files.Brought{Folder: "unc/TUKPUB-0_Content_articles/20261120", Manifest: "0123abc", Files: 8}})
	p, _ = w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
}

// A snapshot that was made for others is brought by nobody: an agent that fails does so for something else, unless a
// new copy is under way.
func TestASnapshotThatNobodyBrings(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.d.Subscription.Spec.Initialization = manual()
	w.settle(t, all)
	w.d.Subscription.Status.MirroredSnapshot = w.o.At.LastSnapshot
	w.o.At.LastSnapshot, w.o.Mirror.Status = "2026-11-20T11:00:00", nil
	w.stuck(t)
	g.Expect(w.o.Mirror.Told.Generation).To(Equal(w.o.At.LastSnapshot))
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	g.Expect(copyAwaited(w.d, w.look())).To(BeFalse(), "it may never come")
	w.fails(mssql.RunRetrying, 30*time.Second)
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonAgentRetrying))
	now := metav1.NewTime(w.o.Now)
	w.d.Subscription.Status.Copy = &v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyTransfer, Again: true, Started: &now,
		PhaseStarted: &now}
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForFiles))
	g.Expect(copyAwaited(w.d, w.look())).To(BeTrue())
}

// How its files come is edited as the methods that copy are: nothing is copied for it, and the mirror is told.
func TestAnotherWayOfTheFiles(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	dropped := w.dropped
	w.d.Subscription.Spec.Initialization = manual()
	_, done := w.settle(t, all)
	g.Expect(done).To(HaveExactElements("tell the sidecar of dubsub-0 to take the snapshot of 2026-11-20T10:00:00 of " +
		"tukpub-0_Content_articles from folder disks/articles, to which a person brings it, as dist-0 lists it"))
	g.Expect(w.o.Mirror.Told.Manual).To(Equal("disks/articles"))
	w.d.Subscription.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	_, done = w.settle(t, all)
	g.Expect(done).To(BeEmpty(), "a comparison does not have files fetched")
	g.Expect(w.d.cost()).To(ContainSubstring("a person brings its files to /var/opt/mssql-backup/brought/disks/articles"))
	w.d.Subscription.Annotations = nil
	w.d.Subscription.Spec.Initialization.Method = v1alpha1.InitializeCompressedSnapshot
	w.settle(t, all)
	g.Expect(w.o.Mirror.Told.Manual).To(BeEmpty())
	g.Expect(w.o.Mirror.Reader.Packed).To(BeTrue())
	w.d.Subscription.Spec.Initialization = nil
	w.settle(t, all)
	g.Expect(w.o.Mirror.Reader.Packed).To(BeFalse())
	g.Expect(w.dropped).To(Equal(dropped))
}
