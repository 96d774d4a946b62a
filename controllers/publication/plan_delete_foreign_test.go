// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
)

// A publication of the name that somebody else made keeps everything: itself, its jobs and what they publish.
func TestDeletionKeepsSomebodysPublication(t *testing.T) {
	g := NewWithT(t)
	w := publishedAndDeleted(t)
	w.o.Database.Publication.Description = "made by hand"
	for _, job := range w.jobs {
		job.Description = "made by hand"
	}
	p := planDelete(w.d, w.look())
	g.Expect(described(p)).To(BeEmpty())
	g.Expect(p.Done).To(BeTrue())
}

// A job that somebody else made stays when the publication ends that it served, and that is told.
func TestDeletionKeepsSomebodysJobs(t *testing.T) {
	for name, c := range map[string]struct {
		job func(*world) *mssql.Job
		at  string
	}{
		"the log reader": {byHand, "TUKPUB-0-Content-1"},
		"the snapshot agent": {func(w *world) *mssql.Job {
			w.jobs[snapshotsJob].Description = "made by hand"
			return w.jobs[snapshotsJob]
		}, snapshotsJob},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			job := c.job(w)
			var left []string
			for range 5 {
				p := planDelete(w.d, w.look())
				if left = p.Left; p.Done {
					break
				}
				for _, s := range p.Steps {
					w.do(t, s)
				}
			}
			g.Expect(w.jobs).To(HaveLen(1))
			g.Expect(w.jobs).To(HaveKeyWithValue(c.at, job))
			g.Expect(left).To(ConsistOf(And(ContainSubstring("dist-0"), ContainSubstring(c.at))))
		})
	}
}

// Whoever takes a publication over takes its snapshot agent's job over, too, and its end removes both.
func TestAdoptedSnapshotJobIsMarked(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.settle(t, all)
	w.o.Database.Publication.Description, w.jobs[snapshotsJob].Description = "made by hand", "made by hand"
	w.d.Publication.Annotations = map[string]string{"geosql.dev/adopt": "true"}
	w.settle(t, all)
	g.Expect(w.jobs[snapshotsJob].Description).To(Equal("geosql.dev web/articles"))
}
