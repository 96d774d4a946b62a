// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const readerJob, snapshotsJob = "geosql-tukpub-0-Content-logreader", "geosql-tukpub-0-Content-articles-snapshot"

func described(p reconcile.Plan) []string {
	var lines []string
	for _, s := range p.Steps {
		lines = append(lines, s.Describe())
	}
	return lines
}

// A job that was deleted is made again and runs, although the engine attaches no second one to its agent; the plan
// ends.
func TestDeletedJobs(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.settle(t, all)
	delete(w.jobs, readerJob)
	delete(w.jobs, snapshotsJob)
	p, done := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(w.jobs[readerJob].Running).To(BeTrue())
	g.Expect(w.jobs[snapshotsJob].Enabled).To(BeTrue())
	g.Expect(done).
		NotTo(ContainElement(Or(ContainSubstring("sp_addlogreader_agent"), ContainSubstring("sp_addpublication_snapshot"))),
			"refused for ever")

	w.o.Database.Publication.SnapshotReady, w.o.Now = false, start.Add(time.Hour)
	p, done = w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(done).
		To(ConsistOf(And(ContainSubstring("sp_start_job"), ContainSubstring(snapshotsJob))),
			"the publisher's procedure would not find the job")
}

// byHand gives the log reader a job that somebody else had replication make: the agent is its second step.
func byHand(w *world) *mssql.Job {
	job := &mssql.Job{
		Enabled:   true,
		HasServer: true,
		Scheduled: true,
		Running:   true,
		Step:      2,
		Command:   "-Publisher [tukpub-0] -PublisherDB [Content] -ReadBatchSize 5000 -Continuous",
	}
	delete(w.jobs, readerJob)
	w.jobs["TUKPUB-0-Content-1"] = job
	reader := *w.o.At.LogReader
	reader.Job, w.o.At.LogReader = "TUKPUB-0-Content-1", &reader
	return job
}

// Nothing of what somebody else made is changed before a person says so: not the log reader either.
func TestLogReaderOfSomebodyElse(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.settle(t, all)
	w.o.Database.Publication.Description = "made by hand"
	before := *byHand(w)
	p := plan(w.d, w.look())
	g.Expect(described(p)).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublicationConflict))

	w = newWorld(declared(false))
	w.settle(t, all)
	job := byHand(w)
	p, _ = w.settle(t, all)
	g.Expect(*job).To(Equal(before), "it reads for another publication of the database, too")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	job.Running = false
	p = plan(w.d, w.look())
	g.Expect(described(p)).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonLogReaderNotRunning))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))

	w.d.Publication.Annotations = map[string]string{"geosql.dev/adopt": "true"}
	p, _ = w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(job.Command).To(ContainSubstring("-PublisherLogin"))
	g.Expect(job.Running).To(BeTrue())
	g.Expect(w.jobs).To(And(HaveKeyWithValue(readerJob, job), HaveLen(2)), "who ends or moves it finds it by its name")
	w.d.Publication.Annotations = nil
	job.Command = "changed"
	w.settle(t, all)
	g.Expect(job.Command).To(ContainSubstring("-PublisherLogin"), "it stays taken over")
}

// A job of the operator's name that is attached to nothing would read the log beside the one that is attached.
func TestJobBesideTheAttachedOne(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.settle(t, all)
	own := *w.jobs[readerJob]
	job := byHand(w)
	w.jobs[readerJob], job.Description = &own, own.Description
	o := w.look()
	o.LogReaderBeside = &own
	p := plan(w.d, o)
	g.Expect(described(p)).To(HaveExactElements(ContainSubstring("sp_stop_job"), ContainSubstring("sp_delete_job"),
		And(ContainSubstring("@new_name = N'"+readerJob+"'"), ContainSubstring("TUKPUB-0-Content-1"))))
}

// SQL Server Agent that is down is told, whatever job is to be started: the engine refuses that with the number of a
// job that runs already. What is to be started stays so, and goes on once Agent is up.
func TestAgentThatIsDown(t *testing.T) {
	for name, stop := range map[string]func(w *world){
		"log reader": func(w *world) { w.jobs[readerJob].Running = false },
		"snapshot": func(w *world) {
			w.o.Database.Publication.SnapshotReady, w.o.Now = false, start.Add(time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(false))
			w.settle(t, all)
			stop(w)
			w.o.Servers[distributor].State.AgentDown = true
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonAgentNotRunning))
			g.Expect(p.Outcome.Message).To(ContainSubstring("dist-0"))
			g.Expect(described(p)).To(ConsistOf(ContainSubstring("start")))
			w.o.Servers[distributor].State.AgentDown = false
			p, _ = w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
		})
	}
}
