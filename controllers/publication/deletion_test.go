// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// publishedAndDeleted has a publication that is being deleted with reclaimPolicy Delete.
func publishedAndDeleted(t *testing.T) *world {
	w := newWorld(declared(false))
	w.settle(t, all)
	w.d.Publication.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	return w
}

// A database or a distributor that was not read proves nothing: the deletion does nothing, waits and says for which
// server.
func TestDeletionWaitsForWhatWasNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		hide func(*Observed)
		says string
	}{
		"the published database starts": {func(o *Observed) {
			o.Servers[publisher].State.Databases["content"] = replicationDatabase("Content", "RECOVERY_PENDING")
			o.Database = Database{}
		}, "tukpub-0"},
		"the published database is damaged": {func(o *Observed) {
			o.Servers[publisher].State.Databases["content"] = replicationDatabase("Content", "SUSPECT")
			o.Database = Database{}
		}, "it is suspect. If it does not become online, restore or drop it there; reclaimPolicy Retain"},
		"the distribution database starts": {func(o *Observed) {
			o.Servers[distributor].State.Databases["distribution"] = replicationDatabase("distribution", "RECOVERING")
			o.At, o.LogReaderJob, o.SnapshotJob = replication.AtDistributor{}, nil, nil
		}, "dist-0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			o := w.look()
			c.hide(&o)
			p := planDelete(w.d, o)
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
		})
	}
}

// A database that its server does not list is gone: nothing of the publication can be there.
func TestDeletionEndsWithTheDatabase(t *testing.T) {
	g := NewWithT(t)
	w := publishedAndDeleted(t)
	delete(w.o.Servers[publisher].State.Databases, "content")
	w.o.Database = Database{}
	p := planDelete(w.d, w.look())
	for _, s := range p.Steps {
		w.do(t, s)
	}
	g.Expect(planDelete(w.d, w.look()).Done).To(BeTrue())
}

// A distributor that lost its databases knows of no publication; the published database still has another one,
// which goes on being published.
func TestDeletionLeavesPublishingToOthers(t *testing.T) {
	for name, others := range map[string][]string{"another": {"articles", "orders"}, "none": {"articles"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			w.o.At, w.o.Database.Publications = replication.AtDistributor{}, others
			ends := false
			for _, s := range planDelete(w.d, w.look()).Steps {
				ends = ends || strings.Contains(s.Describe(), "sp_replicationdboption")
			}
			g.Expect(ends).To(Equal(len(others) == 1))
		})
	}
}

// An agent's profile is for making agents. That it went first does not turn Delete into Retain.
func TestDeletionNeedsNoProfile(t *testing.T) {
	g := NewWithT(t)
	w := publishedAndDeleted(t)
	w.d.MissingProfiles = []string{"AgentProfile fast"}
	p := planDelete(w.d, w.look())
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).NotTo(BeEmpty())
	g.Expect(plan(w.d, w.look()).Outcome.Message).
		To(ContainSubstring("AgentProfile fast"), "what is not being deleted waits for it")
}

func replicationDatabase(name, state string) mssql.ReplicationDatabase {
	return mssql.ReplicationDatabase{Name: name, State: state, Published: true}
}
