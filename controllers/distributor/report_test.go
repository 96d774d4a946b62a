// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"errors"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// The folder that an engine wants is the sidecar's to make, or the user's who declared another one: the condition says
// whose.
func TestMissingSnapshotFolder(t *testing.T) {
	refused := &mssql.Error{Server: "dist-0", Class: mssql.Refused, Err: driver.Error{Number: 21037}}
	for name, c := range map[string]struct {
		folder string
		failed error
		reason string
		words  []string
	}{
		"the sidecar's": {failed: refused, reason: v1alpha1.ReasonWaitingForServer,
			words: []string{"sidecar of server dist-0", "/var/opt/mssql-backup/ReplData", "its log"}},
		"declared": {folder: "/mnt/share", failed: refused, reason: v1alpha1.ReasonWaitingForServer,
			words: []string{"/mnt/share", "make it there", "spec.snapshotFolder"}},
		"another error": {failed: errors.New("no disk"), reason: v1alpha1.ReasonApplyFailed, words: []string{"no disk"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared()
			d.Distributor.Spec.SnapshotFolder = c.folder
			d.System = replication.SystemOf(d.Distributor)
			got := outcome(d, reconcile.Plan{}, c.failed)
			g.Expect(got.Reason).To(Equal(c.reason))
			for _, word := range c.words {
				g.Expect(got.Message).To(ContainSubstring(word))
			}
		})
	}
}

// A build whose sp_adddistributor ends in a fatal assertion is not asked for a distributor: not for one of its own, and
// not for a link to another's. One that has its distributor already goes on.
func TestBuildOfABrokenProcedure(t *testing.T) {
	const build = "16.0.4265.3"
	t.Run("the distributor", func(t *testing.T) {
		g := NewWithT(t)
		w := newWorld(declared())
		w.server(distributor).ProductVersion = build
		p := w.settle(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonNotSupported))
		g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
		g.Expect(p.Outcome.Message).To(And(ContainSubstring(build), ContainSubstring("SQLServer dist an image")))
		g.Expect(w.server(distributor).HasDistributor).To(BeFalse())
	})
	t.Run("a publisher", func(t *testing.T) {
		g := NewWithT(t)
		w := newWorld(declared())
		w.server(publisher).ProductVersion = build
		p := w.settle(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonNotSupported))
		g.Expect(p.Outcome.Message).To(ContainSubstring("SQLServer tukpub an image"))
		g.Expect(w.server(publisher).HasDistributor).To(BeFalse())
		g.Expect(w.server(secondary).HasDistributor).To(BeTrue(), "it holds up no other")
	})
	t.Run("one that is configured", func(t *testing.T) {
		g := NewWithT(t)
		w := newWorld(declared())
		w.settle(t, all)
		w.server(distributor).ProductVersion, w.server(publisher).ProductVersion = build, build
		g.Expect(w.settle(t, all).Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
	})
}

// How large the distribution database is goes to the status when it has changed by a fiftieth of what it could be; what
// nobody knows stays as it was said.
func TestTheSizeOfTheDistributionDatabase(t *testing.T) {
	g := NewWithT(t)
	size := func(n int64) Observed { return Observed{Size: reconcile.Read(n)} }
	g.Expect(room(nil, Desired{}, Observed{})).To(BeNil())
	g.Expect(room(nil, Desired{}, size(0))).To(BeNil(), "there is none")
	first := room(nil, Desired{Free: ptr.To[int64](600)}, size(400))
	g.Expect(first).To(Equal(&v1alpha1.DatabaseRoom{Used: 400, Free: ptr.To[int64](600)}))
	g.Expect(room(first, Desired{Free: ptr.To[int64](590)}, size(410))).To(BeIdenticalTo(first))
	g.Expect(room(first, Desired{Free: ptr.To[int64](590)}, Observed{})).To(BeIdenticalTo(first))
	g.Expect(room(first, Desired{Free: ptr.To[int64](590)}, size(420)).Used).To(BeEquivalentTo(420))
	g.Expect(*room(first, Desired{Free: ptr.To[int64](500)}, size(401)).Free).To(BeEquivalentTo(500))
	g.Expect(room(first, Desired{}, size(401)).Free).To(BeNil(), "the server does not say any more")
}
