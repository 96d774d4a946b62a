// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// What a Subscription waits for changes with every look while it is not registered: the log reader is not stopped and
// started for that.
func TestALogReaderIsSeldomStartedAnew(t *testing.T) {
	kept := &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	compared := &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	register := func(w *world) {
		w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
			{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Status: 2},
			{Article: "dbo.Attachment", Subscriber: "dubsub-0", Database: "Content", Status: 2}}
	}
	for name, c := range map[string]struct {
		method *v1alpha1.Initialization
		// then is what the Subscription waits for once the log reader has the right.
		then  string
		every func(w *world, passed time.Duration)
		ends  string
	}{
		"a snapshot is made, since tables differ": {compared, v1alpha1.ReasonSnapshotRunning,
			func(w *world, passed time.Duration) {
				if passed == 50*time.Minute {
					register(w)
				}
			}, v1alpha1.ReasonPublished},
		"a snapshot that takes hours": {compared, v1alpha1.ReasonSnapshotRunning, func(*world, time.Duration) {},
			v1alpha1.ReasonPublished},
		"the registration fails": {kept, v1alpha1.ReasonApplyFailed, func(*world, time.Duration) {},
			v1alpha1.ReasonSetUpFailed},
		"the comparison fails": {compared, v1alpha1.ReasonEngineNotAnswering, func(*world, time.Duration) {},
			v1alpha1.ReasonSetUpFailed},
		"the primary comes and goes": {kept, v1alpha1.ReasonNoPrimary, func(w *world, passed time.Duration) {
			w.elect("")
			if passed%(10*time.Second) == 0 {
				w.elect(publisher)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := reading(t)
			one := v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{Database: "Content", Initialization: c.method}}
			one.Name, one.Spec.Subscriber.Server = "dublin", "dubsub"
			w.d.Subscriptions = []v1alpha1.Subscription{one}
			var p reconcile.Plan
			starts, reason := 0, v1alpha1.ReasonWaitingForLogReader
			for passed := time.Duration(0); passed <= 70*time.Minute; passed += 5 * time.Second {
				w.o.Now = start.Add(passed)
				c.every(w, passed)
				w.d.Awaiting = nil
				if reason == v1alpha1.ReasonWaitingForLogReader && len(w.o.Database.Publication.Subscriptions) == 0 {
					w.d.Awaiting = []string{"dublin"}
				}
				o := w.look()
				if o.primary(w.d) == "" {
					o.Database = Database{}
				}
				p = plan(w.d, o)
				w.d.Publication.Status.LogReaderRight = right(w.d, o)
				for _, s := range p.Steps {
					if strings.Contains(s.Describe(), "sp_start_job") {
						starts++
					}
					w.do(t, s)
				}
				if reason != v1alpha1.ReasonSnapshotRunning {
					reason = v1alpha1.ReasonWaitingForLogReader
				}
				if job := w.jobs[contentReader]; w.d.System.SetsUp(job) && job.Running {
					reason = c.then
				}
			}
			g.Expect(starts).To(Equal(2), "given once, and taken back once")
			if c.ends != "" {
				g.Expect(p.Outcome.Reason).To(Equal(c.ends), p.Outcome.Message)
			}
			g.Expect(w.d.System.SetsUp(w.jobs[contentReader])).To(BeFalse())
		})
	}
}

// A log reader that was stopped to take the right from it is started again, whatever the Publication waits for, and
// whatever step was the last one of a process.
func TestALogReaderFromWhichTheRightWasTakenRunsOn(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a profile is missing": func(w *world) { w.d.MissingProfiles = []string{"AgentProfile fast"} },
		"no primary":           func(w *world) { w.elect("") },
		"somebody else's publication": func(w *world) {
			w.o.Database.Publication.Description = "nightly"
		},
		"a filter is refused": func(w *world) { w.d.Publication.Spec.Articles[0].Filter = "1 = 1; DROP TABLE x" },
		"a reference is missing": func(w *world) {
			w.d.Missing, w.d.Publication.Status.LogReaderRight = []string{"SQLServer tukpub"}, held(setUpFor)
			w.elect("")
			w.o.Database = Database{}
		},
		"the Distributor is being deleted": func(w *world) { w.d.Ending = true },
		"it goes on":                       func(*world) {},
	} {
		for most := range 3 {
			for report := range 2 {
				t.Run(fmt.Sprintf("%s, %d steps, reported %d", name, most, report), func(t *testing.T) {
					g := NewWithT(t)
					w := reading(t)
					raise(w)
					change(w)
					job := w.jobs[contentReader]
					for i := range 6 {
						w.o.Now = w.o.Now.Add(time.Minute)
						job.Started += time.Minute
						o := w.look()
						p := plan(w.d, o)
						if i > 0 || report > 0 {
							w.d.Publication.Status.LogReaderRight = right(w.d, o)
						}
						for at, s := range p.Steps {
							if i == 0 && at >= most {
								break
							}
							w.do(t, s)
							if strings.Contains(s.Describe(), "sp_start_job") {
								job.Started = 0
							}
						}
						g.Expect(job.Running || w.d.Publication.Status.LogReaderRight != nil).
							To(BeTrue(), "the record is there until it runs")
					}
					g.Expect(w.d.System.SetsUp(job)).To(BeFalse())
					g.Expect(job.Running).To(BeTrue())
					g.Expect(w.d.Publication.Status.LogReaderRight).To(BeNil())
				})
			}
		}
	}
}

// Its former run may take a while to stop: it is started once that is over.
func TestALogReaderThatStopsSlowlyIsStartedAgain(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	raise(w)
	w.d.MissingProfiles = []string{"AgentProfile fast"}
	job := w.jobs[contentReader]
	for _, s := range plan(w.d, w.look()).Steps {
		w.do(t, s)
	}
	for _, stopped := range []bool{false, true} {
		job.Running, job.Started = !stopped, 0
		w.o.Now = w.o.Now.Add(time.Second)
		p := plan(w.d, w.look())
		w.recordRight()
		if !stopped {
			g.Expect(described(p)).To(BeEmpty())
			continue
		}
		g.Expect(described(p)).To(HaveExactElements(ContainSubstring("sp_start_job")))
	}
}

// A profile that is not there for a while leaves its parameters to the log reader from which the right is taken.
func TestALoweredLogReaderKeepsItsProfile(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	size, level := int32(500), int32(2)
	profile := &v1alpha1.AgentProfileSpec{ReadBatchSize: &size, EncryptionLevel: &level}
	raise(w)
	job := w.jobs[contentReader]
	job.Command = w.d.System.LogReaderCommand("tukpub-0", "Content", profile, true).Text()
	w.d.Publication.Spec.LogReaderProfile, w.d.MissingProfiles = "fast", []string{"AgentProfile fast"}
	for range 3 {
		for _, s := range plan(w.d, w.look()).Steps {
			g.Expect(s.Describe()).NotTo(ContainSubstring("secret"))
			w.do(t, s)
		}
		w.recordRight()
	}
	g.Expect(job.Command).To(Equal(w.d.System.LogReaderCommand("tukpub-0", "Content", profile, false).Text()))
	g.Expect(job.Running).To(BeTrue())
}

// A right that no record tells of is recorded before it is taken: a log reader is not left stopped.
func TestARightThatNobodyRecordedIsTakenBack(t *testing.T) {
	for name, change := range map[string]func(*world){
		"nobody needs it": func(*world) {},
		"its login became somebody else's": func(w *world) {
			w.o.At.SetUpLogin = &mssql.SetUpLogin{SID: []byte{1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := reading(t)
			raise(w)
			change(w)
			w.d.Publication.Status.LogReaderRight = nil
			p := plan(w.d, w.look())
			g.Expect(p.Note).To(Equal(recording{}))
			g.Expect(p.Steps).To(BeEmpty())
			w.settle(t, all)
			g.Expect(w.d.System.SetsUp(w.jobs[contentReader])).To(BeFalse())
			g.Expect(w.jobs[contentReader].Running).To(BeTrue())
			g.Expect(w.d.Publication.Status.LogReaderRight).To(BeNil())
		})
	}
}

// What is copied by a schedule has no log reader, and leaves that of the streamed ones beside it alone.
func TestAPublicationOfSnapshotsLeavesTheLogReaderAlone(t *testing.T) {
	for name, claims := range map[string][]string{"it is needed": {"orders"}, "its record was not seen yet": nil} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := reading(t)
			raise(w)
			w.d.Publication.Status.LogReaderRight = nil
			w.d.Publication.Spec.Type, w.d.Publication.Spec.Schedule = v1alpha1.PublicationSnapshot, "0 3 * * *"
			w.d.Claims = claims
			for range 3 {
				p := plan(w.d, w.look())
				w.recordRight()
				g.Expect(described(p)).To(BeEmpty(), p.Outcome.Message)
				g.Expect(p.Note).To(BeNil())
			}
			w.d.Suspended = "spec.suspend is true"
			g.Expect(described(planYield(w.d, w.look()))).To(BeEmpty())
			w.d.Suspended = ""
			g.Expect(w.d.Publication.Status.LogReaderRight).To(BeNil())
		})
	}
}

// A subscriber that is registered in the moment when the right ends has the log reader fail for it: more is to be set
// up than was left. It is given for another hour; what was left by then, or is less, is not given it again.
func TestARightThatEndedTooEarlyIsGivenAgain(t *testing.T) {
	for name, hour := range map[string]time.Duration{"nobody needed it": time.Minute, "its hour was over": setUpFor} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := reading(t)
			w.d.Awaiting = []string{"dublin"}
			raise(w)
			w.d.Publication.Status.LogReaderRight = held(hour)
			w.o.Pending = 26
			if hour < setUpFor {
				w.d.Awaiting, w.o.Pending = nil, 0
			}
			left := w.o.Pending
			w.recordRight()
			w.jobs[contentReader].Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, false).Text()
			record := func() *v1alpha1.LogReaderRight { return w.d.Publication.Status.LogReaderRight }
			g.Expect(record().Ended).NotTo(BeNil())
			g.Expect(record().Left).To(BeEquivalentTo(left))
			w.d.Awaiting = nil
			a := w.o.At.LogReader
			a.Failure, a.ErrorCode, a.ErrorCodes = mssql.RunRetrying, "21089", []string{"21089"}
			a.Time, a.ErrorTime = w.o.Now, w.o.Now
			w.recordRight()
			g.Expect(setsUp(w.d, w.look())).To(BeFalse(), "no more is to be set up than was left")
			if left > 0 {
				w.o.Pending = 13
				w.recordRight()
				g.Expect(record().Left).To(BeEquivalentTo(13), "less is left")
			}
			w.o.Pending += 13
			w.recordRight()
			g.Expect(setsUp(w.d, w.look())).To(BeTrue())
			g.Expect(record().Since.Time).To(BeTemporally("~", w.o.Now, time.Second), "for an hour from now on")
		})
	}
}

// A right that was recorded, and not given before nobody needed it any more, leaves no record: the log reader runs as
// it did. One that was stopped for it, or given it since, has to be started first.
func TestARightThatWasNeverGivenLeavesNoRecord(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		left   bool
	}{
		"it runs since before":         {func(*world) {}, false},
		"the Publication is suspended": {func(w *world) { w.d.Suspended = "spec.suspend is true" }, false},
		"something is to be set up":    {func(w *world) { w.o.Pending = 13 }, false},
		"it runs only since then":      {func(w *world) { w.jobs[contentReader].Started = 0 }, true},
		"it was stopped":               {func(w *world) { w.jobs[contentReader].Running = false }, true},
		"it was stopped, with something to set up": {func(w *world) {
			w.jobs[contentReader].Running, w.o.Pending = false, 13
		}, true},
		"it is disabled": {func(w *world) {
			w.jobs[contentReader].Running, w.jobs[contentReader].Enabled = false, false
		}, false},
		"it has it": {func(w *world) { raise(w); w.jobs[contentReader].Started = 0 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := reading(t)
			w.jobs[contentReader].Started = time.Hour
			w.d.Publication.Status.LogReaderRight = held(10 * time.Minute)
			c.change(w)
			w.recordRight()
			if !c.left {
				g.Expect(w.d.Publication.Status.LogReaderRight).To(BeNil())
				return
			}
			g.Expect(w.d.Publication.Status.LogReaderRight.Ended).NotTo(BeNil())
		})
	}
}

// The hour is one with the right, not one of waiting for it: what keeps the Publication from giving it may last.
func TestTheHourBeginsWithTheRight(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	job := w.jobs[contentReader]
	job.Started = time.Hour
	w.d.Awaiting = []string{"dublin"}
	w.elect("")
	look := func(passed time.Duration) {
		w.o.Now = start.Add(passed)
		w.recordRight()
	}
	for passed := time.Duration(0); passed < 3*time.Hour; passed += time.Minute {
		job.Started = time.Hour + passed
		before := w.d.Publication.Status.LogReaderRight
		look(passed)
		g.Expect(setsUp(w.d, w.look())).To(BeTrue())
		if before != nil && passed%countsAgain != 0 {
			g.Expect(w.d.Publication.Status.LogReaderRight).To(Equal(before), "status is not written at every look")
		}
	}
	since := w.d.Publication.Status.LogReaderRight
	raise(w)
	w.d.Publication.Status.LogReaderRight, job.Started = since, 0
	look(3*time.Hour + 50*time.Minute)
	g.Expect(setsUp(w.d, w.look())).To(BeTrue())
	look(4*time.Hour + time.Minute)
	g.Expect(setsUp(w.d, w.look())).To(BeFalse())
}
