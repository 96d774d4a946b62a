// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// silent is what a server that does not answer ends with.
var silent = &mssql.Error{Server: "quisub-0", Class: mssql.Unreachable, Err: errors.New("no route to host")}

func subscriptionOf(name string, server v1alpha1.ServerName) v1alpha1.Subscription {
	return v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
		Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: server}, Database: "Content"},
	}
}

// intoArchive is a second Subscription of the server that becomes the publisher.
func intoArchive() v1alpha1.Subscription {
	s := subscriptionOf("dublin-archive", "dubsub")
	s.Spec.Database = "Archive"
	return s
}

// lostSite is a publisher that is gone and fenced, two subscribers, and a distributor that lives elsewhere; the
// estimate is approved.
func lostSite() (Desired, Observed) {
	usable := replication.Server{
		State: &mssql.ReplicationServer{Sysadmin: true, Databases: map[string]mssql.ReplicationDatabase{}},
	}
	d := Desired{
		Move: &v1alpha1.PublisherMove{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "move"},
			Spec: v1alpha1.PublisherMoveSpec{
				Publication:   "articles",
				To:            "dubsub",
				Distributor:   "far",
				FencedServers: []v1alpha1.ServerName{"tukpub"},
				Approved:      true,
			},
			Status: v1alpha1.PublisherMoveStatus{
				From:            &v1alpha1.ServerOrGroup{Server: "tukpub"},
				FromDatabase:    "Content",
				FromDistributor: "main",
				ToSubscription:  "dublin",
				ToDatabase:      "Content",
				Original:        "tukpub-0",
				Estimate:        &v1alpha1.MoveEstimate{},
			}},
		Publication: &v1alpha1.Publication{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "articles"},
			Spec: v1alpha1.PublicationSpec{
				Publisher: v1alpha1.ServerOrGroup{Server: "tukpub"}, Database: "Content", Distributor: "main"},
		},
		From:         replication.Party{Name: "SQLServer tukpub", Servers: []v1alpha1.ServerName{"tukpub"}},
		FromDatabase: "Content", FromSystem: replication.System{Name: "main", Server: "dist"},
		Lost:   map[v1alpha1.ServerName]bool{},
		System: replication.System{Name: "far", Server: "far"}, FormerLogin: "geosql_replication_main",
		Subscriptions: []v1alpha1.Subscription{subscriptionOf("dublin", "dubsub"), subscriptionOf("quincy", "quisub")},
	}
	o := Observed{Now: noon, System: usable, To: usable, Copies: map[string]Copy{
		"dublin": {
			Here: &mssql.SubscriptionHere{
				Publisher:         "tukpub-0",
				PublisherDatabase: "Content",
				Publication:       "articles",
				Pull:              true,
				Last:              []byte{2},
				Time:              noon.Add(-time.Minute),
			},
		},
		"quincy": {
			Here: &mssql.SubscriptionHere{
				Publisher:         "tukpub-0",
				PublisherDatabase: "Content",
				Publication:       "articles",
				Pull:              true,
				Last:              []byte{1},
				Time:              noon.Add(-time.Hour),
			},
		},
	}}
	o.Old.Err = silent
	o.FormerRules, o.NewRules = reconcile.Read[[]mssql.TableRule](nil), reconcile.Read[[]mssql.TableRule](nil)
	o.Left.Here = o.Copies["dublin"].Here
	o.Begun = reconcile.Read(Begun{Noted: true})
	return d, o
}

// What speaks against a move is said, and nothing is done.
func TestMovesThatDoNotBegin(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*Desired, *Observed)
		reason string
		says   string
	}{
		"no publication": {func(d *Desired, _ *Observed) { d.Missing = []string{"Publication articles"} },
			v1alpha1.ReasonReferenceMissing, "Publication articles"},
		"another publication of that name": {func(d *Desired, _ *Observed) {
			d.Move.Status.PublicationUID,
				d.Publication.UID = "first", "second"
		},
			v1alpha1.ReasonPublicationReplaced, "make another"},
		"a publisher that is no more": {func(d *Desired, _ *Observed) {
			d.Publication.Spec.Publisher.Server, d.Publication.Spec.MovedBy = "dubsub", "other"
		}, v1alpha1.ReasonPublicationReplaced, "published by SQLServer dubsub"},
		"a database that is no more": {func(d *Desired, _ *Observed) {
			d.Publication.Spec.Database, d.Publication.Spec.MovedBy = "Archive", "other"
		}, v1alpha1.ReasonPublicationReplaced, "make another"},
		"another move": {func(d *Desired, _ *Observed) { d.Other = "first" }, v1alpha1.ReasonWaiting, "first"},
		"publisher answers": {func(d *Desired, o *Observed) { o.Answering = []string{"tukpub-0"}; d.Lost["tukpub"] = true },
			v1alpha1.ReasonPublisherAnswers, "tukpub-0 answers"},
		"silence alone": {func(d *Desired, _ *Observed) { d.Move.Spec.FencedServers = nil },
			v1alpha1.ReasonPublisherNotFenced, "lifecycle to Lost"},
		"one replica's end": {func(d *Desired, _ *Observed) { d.From.Servers = append(d.From.Servers, "quipub") },
			v1alpha1.ReasonPublisherNotFenced, "quipub-0"},
		"no subscriber": {func(d *Desired, _ *Observed) {
			d.Move.Spec.To, d.Move.Status.ToSubscription = "blusub", ""
		}, v1alpha1.ReasonNotSubscribed, "dubsub, quisub"},
		"two copies at one server": {func(d *Desired, _ *Observed) {
			d.Move.Status.ToSubscription = ""
			d.Subscriptions = append(d.Subscriptions, intoArchive())
		}, v1alpha1.ReasonNotSubscribed, "dublin (database Content), dublin-archive (database Archive)"},
		"the copy that was looked at is no more": {func(d *Desired, _ *Observed) {
			d.Subscriptions = []v1alpha1.Subscription{intoArchive()}
		}, v1alpha1.ReasonNotSubscribed, "Subscription dublin of SQLServer dubsub into database Content"},
		"its name is another copy's now": {func(d *Desired, _ *Observed) {
			d.Subscriptions[0].Spec.Database = "Archive"
		}, v1alpha1.ReasonNotSubscribed, "make another"},
		"a successor that can only subscribe": {func(d *Desired, o *Observed) {
			d.SubscribeOnly, o.Answering = []v1alpha1.ServerName{"dubsub"}, []string{"tukpub-0"}
		}, v1alpha1.ReasonEditionSubscribesOnly, "SQLServer dubsub has the edition Express or Web"},
		"silent successor": {func(_ *Desired, o *Observed) { o.To = replication.Server{Err: silent} },
			v1alpha1.ReasonEngineNotAnswering, "no route"},
		"silent distributor": {func(_ *Desired, o *Observed) { o.System = replication.Server{Err: silent} },
			v1alpha1.ReasonDistributorUnusable, "spec.distributor"},
		"refused distributor": {func(d *Desired, _ *Observed) { d.NotAdmitted = true }, v1alpha1.ReasonDistributorUnusable,
			"spec.publishers"},
		"other distributor": {func(_ *Desired, o *Observed) {
			o.To = replication.Server{State: &mssql.ReplicationServer{Sysadmin: true, Distributor: "other-0"}}
		}, v1alpha1.ReasonDistributorUnusable, "other-0"},
		"not approved": {func(d *Desired, _ *Observed) { d.Move.Spec.Approved = false }, v1alpha1.ReasonAwaitingApproval,
			"spec.approved"},
		"no estimate": {func(d *Desired, _ *Observed) { d.Move.Status.Estimate = nil }, v1alpha1.ReasonAwaitingApproval,
			"being estimated"},
		"not drained": {func(_ *Desired, o *Observed) {
			o.Old = Old{Asked: true, Pending: map[string]int64{"dublin": 7}}
		}, v1alpha1.ReasonDraining, "7 commands to dubsub-0"},
		"not counted in time": {func(_ *Desired, o *Observed) {
			o.Old = Old{Asked: true, Uncounted: map[string]error{"dublin": silent}}
		}, v1alpha1.ReasonDraining, "not counted in time"},
		"not drained, and one question to it failed": {func(_ *Desired, o *Observed) {
			o.Old, o.Copies["dublin"] = Old{Asked: true, Pending: map[string]int64{"dublin": 7}}, Copy{Err: silent}
		}, v1alpha1.ReasonDraining, "7 commands to dubsub-0"},
		"not drained, and silent now": {func(d *Desired, _ *Observed) {
			d.Move.Status.Estimate.Deliverable = ptr.To[int64](7)
		}, v1alpha1.ReasonEngineNotAnswering, "no route"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := lostSite()
			c.edit(&d, &o)
			p := plan(d, o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			g.Expect(p.Outcome.Ready).NotTo(Equal(metav1.ConditionTrue))
		})
	}
}

// A publisher that lives is moved from when it takes no writes by its own word, and the new one has all that it has.
func TestMoveFromAPublisherThatLives(t *testing.T) {
	differs := &replication.Comparison{Steady: true, Difference: "dbo.Article has 201 rows"}
	for name, c := range map[string]struct {
		edit   func(*Desired, *Observed)
		phase  v1alpha1.PublisherMovePhase
		reason string
	}{
		"equal": {func(*Desired, *Observed) {}, v1alpha1.MoveSwitching, v1alpha1.ReasonSwitching},
		"not approved": {func(d *Desired, _ *Observed) { d.Move.Spec.Approved = false },
			v1alpha1.MoveEstimated, v1alpha1.ReasonAwaitingApproval},
		"it takes writes again": {func(_ *Desired, o *Observed) { o.ReadOnly, o.Answering = "", []string{"tukpub-0"} },
			v1alpha1.MovePending, v1alpha1.ReasonPublisherAnswers},
		"another replica takes writes": {func(d *Desired, o *Observed) {
			d.From.Servers, o.Answering = append(d.From.Servers, "quipub"), []string{"quipub-0"}
		}, v1alpha1.MovePending, v1alpha1.ReasonPublisherAnswers},
		"another replica is silent": {func(d *Desired, _ *Observed) { d.From.Servers = append(d.From.Servers, "quipub") },
			v1alpha1.MovePending, v1alpha1.ReasonPublisherNotFenced},
		"it differs": {func(_ *Desired, o *Observed) { o.Comparison = differs }, v1alpha1.MovePending,
			v1alpha1.ReasonCopyDiffers},
		"it differs before the approval": {func(d *Desired, o *Observed) {
			d.Move.Spec.Approved, o.Comparison = false,
				differs
		},
			v1alpha1.MovePending, v1alpha1.ReasonCopyDiffers},
		"it differs, which nobody may skip": {func(d *Desired, o *Observed) {
			d.Move.Spec.SkipUndelivered,
				o.Comparison = true, differs
		},
			v1alpha1.MovePending, v1alpha1.ReasonCopyDiffers},
		"still on its way": {func(_ *Desired, o *Observed) {
			o.Comparison, o.Old = differs, Old{Asked: true, Pending: map[string]int64{"dublin": 7}}
		},
			v1alpha1.MoveDraining, v1alpha1.ReasonDraining},
		"not counted in time": {func(_ *Desired, o *Observed) {
			o.Comparison, o.Old = differs, Old{Asked: true, Uncounted: map[string]error{"dublin": silent}}
		},
			v1alpha1.MoveDraining, v1alpha1.ReasonDraining},
		"not comparable": {func(_ *Desired, o *Observed) { o.Comparison, o.ComparisonErr = nil, silent },
			v1alpha1.MovePending, v1alpha1.ReasonEngineNotAnswering},
		"still on its way to another": {func(_ *Desired, o *Observed) {
			o.Comparison, o.Old.Pending = nil,
				map[string]int64{"quincy": 7}
		},
			v1alpha1.MoveDraining, v1alpha1.ReasonDraining},
		"not compared yet": {func(_ *Desired, o *Observed) { o.Comparison = nil }, v1alpha1.MovePending,
			v1alpha1.ReasonDraining},
		"its Subscription is gone": {func(d *Desired, o *Observed) {
			d.Subscriptions, o.Comparison = d.Subscriptions[1:],
				nil
		},
			v1alpha1.MovePending, v1alpha1.ReasonNotSubscribed},
		"its Subscription goes": {func(d *Desired,
			_ *Observed) {
			d.Subscriptions[0].DeletionTimestamp = &metav1.Time{Time: noon}
		},
			v1alpha1.MovePending, v1alpha1.ReasonNotSubscribed},
		"the old way is ended": {func(d *Desired, o *Observed) {
			*d, o.Comparison = begun(*d), nil
		}, v1alpha1.MoveSwitching, v1alpha1.ReasonSwitching},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := lostSite()
			d.Move.Spec.FencedServers, o.ReadOnly, o.Comparison = nil, "tukpub", &replication.Comparison{
				Equal:  true,
				Steady: true,
				Rows:   200,
			}
			o.Old = Old{Asked: true, Pending: map[string]int64{"dublin": 0, "quincy": 0}}
			c.edit(&d, &o)
			p := plan(d, o)
			g.Expect(phaseOf(p)).To(Equal(c.phase))
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(len(p.Steps) > 0).To(Equal(d.drained() && c.phase == v1alpha1.MoveSwitching))
		})
	}
	g := NewWithT(t)
	d, o := lostSite()
	o.ReadOnly, o.Comparison = "tukpub", &replication.Comparison{Equal: true, Rows: 200}
	g.Expect(estimate(d, o)).
		To(And(HaveField("Lossless", true),
			HaveField("Summary",
				ContainSubstring("Nothing that is published is lost: the database of tukpub-0 is read-only, and dubsub-0 has "+
					"the same 200 rows"))))
	o.Comparison = differs
	g.Expect(estimate(d, o)).
		To(And(HaveField("Lossless", false),
			HaveField("Summary", Not(ContainSubstring("Nothing that is published is lost")))))
	o.Comparison, o.ReadOnly = &replication.Comparison{Equal: true, Rows: 200}, ""
	g.Expect(estimate(d, o).Lossless).To(BeFalse(), "what nobody says takes no writes")
}

// What was approved was about one Publication: nothing is done to another one that is declared under its name later.
func TestMoveOfAPublicationThatWasDeclaredAnew(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d.Publication.UID = "first"
	p := plan(d, o)
	g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveSwitching))
	d.Move.Status = describe(d, o, p)
	g.Expect(d.Move.Status.PublicationUID).To(BeEquivalentTo("first"))
	d.Publication.UID = "second"
	p = plan(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublicationReplaced))
	g.Expect(describe(d, o, p).PublicationUID).To(BeEquivalentTo("first"))
}

// begun is the move once the old way may be ended: that is on record before its first step.
func begun(d Desired) Desired {
	d.Move = d.Move.DeepCopy()
	d.Move.Status.Timeline = &v1alpha1.MoveTimeline{
		Approved: &metav1.MicroTime{Time: noon},
		Drained:  &metav1.MicroTime{Time: noon},
	}
	return d
}

// The other controllers make again what they miss, unless the status says that a move ends it: that is written one pass
// before the first step, so that no crash comes between.
func TestTheRecordComesBeforeTheFirstStep(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d.Publication.UID = "one"
	p := plan(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveSwitching))
	d.Move.Status = describe(d, o, p)
	g.Expect(d.Move.Status.Timeline.Drained).NotTo(BeNil())
	g.Expect(plan(d, o).Steps).NotTo(BeEmpty())
}

// Between the end of the old way and the Publication's new name nothing reads the former publisher's log. One that
// takes writes then is not told to wait for their arrival.
func TestWritesAfterTheOldWayHasEnded(t *testing.T) {
	g := NewWithT(t)
	d, o := living()
	o.ReadOnly, o.Answering = "", []string{"tukpub-0"}
	d = begun(d)
	p := plan(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublisherAnswers))
	g.Expect(p.Outcome.Message).
		To(And(ContainSubstring("arrives nowhere"), ContainSubstring("delete this PublisherMove"),
			ContainSubstring("SET READ_ONLY"),
			Not(ContainSubstring("wait until everything has arrived, and make")), Not(ContainSubstring("declared again"))))
	d.Subscriptions = d.Subscriptions[1:]
	g.Expect(plan(d, o).Outcome.Message).
		To(ContainSubstring("once Subscription dublin of SQLServer dubsub is declared again"))
}

func describeAll(steps []replication.Step) []string {
	var lines []string
	for _, s := range steps {
		lines = append(lines, s.Describe())
	}
	return lines
}

// The old way ends before anything is declared, the new publisher's Subscription before the Publication moves; what a
// Topology declares is changed there.
func TestStepsOfAMove(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d = begun(d)
	d.Topology = &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Name: "msdn"}}
	d.Publication.Labels = map[string]string{v1alpha1.LabelTopology: "msdn"}
	d.Subscriptions[0].Labels, d.Subscriptions[1].Labels = d.Publication.Labels, d.Publication.Labels
	d.Subscriptions[0].Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	shown := steps(d, o)

	p := plan(d, o)
	g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveSwitching))
	g.Expect(describeAll(p.Steps)).To(ConsistOf(ContainSubstring("sp_droppullsubscription")))
	done := describeAll(p.Steps)
	o.Left.Here = nil
	p = plan(d, o)
	g.Expect(p.Steps).To(ConsistOf(LetCompare{"quincy"}, KeepTables{"dublin", "msdn"}))
	done = append(done, describeAll(p.Steps)...)
	d.Subscriptions[1].Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	d.Subscriptions[0].Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
	p = plan(d, o)
	g.Expect(p.Steps).To(ConsistOf(EndSubscription{"dublin", "msdn"}))
	done = append(done, describeAll(p.Steps)...)
	now := metav1.NewTime(noon)
	d.Subscriptions[0].DeletionTimestamp = &now
	g.Expect(plan(d, o).Steps).To(BeEmpty(), "its end is waited for")
	d.Subscriptions = d.Subscriptions[1:]
	p = plan(d, o)
	g.Expect(p.Steps).
		To(ConsistOf(Switch{Publication: "articles", Topology: "msdn", Publisher: "dubsub", Database: "Content",
			Distributor: "far", Move: "move"}))
	done = append(done, describeAll(p.Steps)...)
	g.Expect(shown[:len(done)]).To(Equal(done), "what is shown before the approval is what is done")

	d.Publication.Spec.MovedBy, d.Publication.Generation = "move", 2
	g.Expect(phaseOf(plan(d, o))).To(Equal(v1alpha1.MovePublishing))
	d.Publication.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1},
	}
	g.Expect(phaseOf(plan(d, o))).To(Equal(v1alpha1.MovePublishing), "what was Ready was the former publisher's")
	d.Publication.Status.Conditions[0].ObservedGeneration = 2
	d.Publication.Status.Conditions[0].Status = metav1.ConditionFalse
	d.Publication.Status.Conditions[0].Reason = v1alpha1.ReasonPublishing
	g.Expect(plan(d, o).Outcome.Message).To(ContainSubstring("Publication articles is being published"))
	d.Publication.Status.Conditions[0].Reason = v1alpha1.ReasonMaintenanceJobMissing
	g.Expect(plan(d, o).Outcome.Message).To(ContainSubstring("subscribers are being brought to the new publisher"),
		"a job for its upkeep keeps nobody waiting")
	s := &d.Subscriptions[0].Status
	s.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDelivering},
	}
	s.Initialization = &v1alpha1.SubscriptionInitialization{Method: v1alpha1.InitializeSnapshot, Publisher: "tukpub-0"}
	g.Expect(phaseOf(plan(d, o))).To(Equal(v1alpha1.MovePublishing), "it still delivers from the former publisher")
	s.Initialization.Publisher = "dubsub-0"
	p = plan(d, o)
	g.Expect(p.Steps).To(ConsistOf(EndCompare{"quincy"}))
	d.Subscriptions[0].Annotations = nil
	p = plan(d, o)
	g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveCompleted))
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))

	// A silent subscriber keeps nobody waiting, and its mark.
	d.Subscriptions[0].Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	s.Conditions[0].Reason, o.Copies["quincy"] = v1alpha1.ReasonEngineNotAnswering, Copy{Err: silent}
	p = plan(d, o)
	g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveCompleted))
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(describe(d, o, p).Subscriptions[0].State).To(Equal(stateNotAnswering))
}

// The copy that was estimated and approved publishes, whatever other databases of its server receive: they go on as
// subscribers.
func TestTheCopyThatWasLookedAtPublishes(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d.Subscriptions = append(d.Subscriptions, intoArchive())
	o.Left = Left{}
	d = begun(d)
	var done []replication.Step
	for range 6 {
		p := plan(d, o)
		d.Move.Status = describe(d, o, p)
		for _, step := range p.Steps {
			switch s := step.(type) {
			case LetCompare:
				for i := range d.Subscriptions {
					if d.Subscriptions[i].Name == s.Subscription {
						d.Subscriptions[i].Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
					}
				}
			case EndSubscription:
				d.Subscriptions = slices.DeleteFunc(d.Subscriptions,
					func(x v1alpha1.Subscription) bool { return x.Name == s.Subscription })
			case Switch:
				d.Publication.Spec.MovedBy = s.Move
			}
		}
		done = append(done, p.Steps...)
	}
	g.Expect(done).
		To(HaveExactElements(LetCompare{"quincy"}, LetCompare{"dublin-archive"}, EndSubscription{Subscription: "dublin"},
			Switch{Publication: "articles", Publisher: "dubsub", Database: "Content", Distributor: "far", Move: "move"}))
	g.Expect(d.Move.Status.Subscriptions).
		To(ConsistOf(HaveField("Name", BeEquivalentTo("quincy")), HaveField("Name", BeEquivalentTo("dublin-archive"))))
}

// Jobs of the former publication go from a distributor that lives, but not those that others share.
func TestJobsOfTheOldWay(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d.Move.Spec.SkipUndelivered = true
	reader, snapshot := replication.LogReaderJob("tukpub-0", "Content"),
		replication.SnapshotJob("tukpub-0", "Content", "articles")
	o.Old = Old{Asked: true, Pending: map[string]int64{"dublin": 7},
		Jobs: map[string]*mssql.Job{reader: {Description: "geosql.dev web/log reader of Content"}, snapshot: {Enabled: true}}}
	status := describe(d, o, plan(d, o))
	g.Expect(status.Undelivered).To(HaveValue(BeEquivalentTo(7)), "what was given up is in the record")
	d = begun(d)
	p := plan(d, o)
	g.Expect(describeAll(p.Steps)).To(ContainElements(
		And(ContainSubstring("sp_delete_job"), ContainSubstring(reader)),
		And(ContainSubstring("disable job"), ContainSubstring(snapshot))))
	g.Expect(describeAll(p.Steps)).NotTo(ContainElement(
		And(ContainSubstring("sp_delete_job"), ContainSubstring(snapshot))), "somebody else made it")
	g.Expect(p.Outcome.Message).To(ContainSubstring("on dist-0 job " + snapshot + ", which somebody else made"))
	o.Old.At.Others = true
	g.Expect(describeAll(plan(d, o).Steps)).NotTo(ContainElement(ContainSubstring(reader)))
}

// Whether the old way has ended is known, or a person or a login that is gone says that it cannot come back, before the
// Publication is pointed elsewhere: nothing is looked for there afterwards.
func TestSwitchOnlyAfterTheOldWay(t *testing.T) {
	timeout := &mssql.Error{Server: "dist-0", Class: mssql.Unknown, Err: errors.New("deadline exceeded")}
	same := func(d *Desired) { d.Move.Spec.Distributor, d.System, d.FormerLogin = "", d.FromSystem, "" }
	for name, c := range map[string]struct {
		edit     func(*Desired, *Observed)
		switches bool
		says     string
	}{
		"the same distributor has not answered": {func(d *Desired, o *Observed) { same(d); o.Old.Err = timeout }, false,
			"deadline exceeded"},
		"the same distributor has none of it": {func(d *Desired, o *Observed) { same(d); o.Old = Old{Asked: true} }, true,
			""},
		"the same one does not answer although somebody says that it is gone": {func(d *Desired, o *Observed) {
			same(d)
			d.Lost["dist"], o.Old.Err = true, timeout
		}, false, "deadline exceeded"},
		"another one, whose login is gone": {func(d *Desired, o *Observed) { o.Old.Err = timeout }, true, ""},
		"another one, whose login something else needs": {func(d *Desired, o *Observed) {
			d.FormerLogin, o.Old.Err = "", timeout
		}, false, "spec.fencedServers"},
		"that one is at a lost site": {func(d *Desired, o *Observed) {
			d.FormerLogin, d.Lost["dist"], o.Old.Err = "", true, timeout
		}, true, ""},
		"that one is said to be gone": {func(d *Desired, o *Observed) {
			d.FormerLogin, d.Move.Spec.FencedServers, o.Old.Err = "", append(d.Move.Spec.FencedServers, "dist"), timeout
		}, true, ""},
		"nobody has said who the publisher was": {func(d *Desired, o *Observed) {
			d.Move.Status.Original = ""
			o.Copies = map[string]Copy{"dublin": {Err: timeout}}
		}, false, "deadline exceeded"},
		"nobody knows of a publisher": {func(d *Desired, o *Observed) { d.Move.Status.Original = "" }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := lostSite()
			d.Subscriptions, o.Left, o.Copies = nil, Left{}, map[string]Copy{"dublin": {}}
			c.edit(&d, &o)
			p := plan(begun(d), o)
			if c.switches {
				g.Expect(p.Steps).To(ConsistOf(BeAssignableToTypeOf(Switch{})))
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonEngineNotAnswering))
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionUnknown))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
		})
	}
	g := NewWithT(t)
	d, o := lostSite()
	d.Move.Status.Original, o.Left = "", Left{Login: true, Sessions: []int{61}}
	o.Copies = nil
	g.Expect(describeAll(plan(begun(d), o).Steps)).
		To(ContainElements(ContainSubstring("KILL 61"), ContainSubstring("DROP LOGIN")),
			"the former agents come in whoever they were of")
}

// The estimate says what is known, by whom, and what is not.
func TestEstimate(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	e := estimate(d, o)
	g.Expect(e.Best).To(BeEquivalentTo("dubsub"))
	g.Expect(e.NewestFrom).To(Equal(fromSubscriber))
	g.Expect(e.Deliverable).To(BeNil())
	g.Expect(e.Summary).
		To(And(ContainSubstring("No tracer token"),
			ContainSubstring("newest transaction that is known to have been replicated (0x02) was delivered"),
			ContainSubstring("nobody can tell")))

	seen := metav1.NewTime(noon.Add(-10 * time.Second))
	d.Publication.Status.Newest = &v1alpha1.ReplicatedTransaction{Transaction: "0x05", Time: &seen, Seen: &seen}
	d.Subscriptions[0].Status.Latency = &v1alpha1.LatencyStatus{PostedAt: ptr.To(metav1.NewTime(noon.Add(-time.Minute)))}
	e = estimate(d, o)
	g.Expect(e.NewestFrom).To(Equal(fromStatus))
	g.Expect(e.Summary).
		To(And(ContainSubstring("committed until 2026-03-01T11:59:00Z"), ContainSubstring("lacks transactions"),
			ContainSubstring("0x05 (2026-03-01T11:59:50Z)"),
			ContainSubstring("committed after 2026-03-01T11:59:50Z")))

	o.Old = Old{
		Asked:   true,
		At:      replication.AtDistributor{Newest: []byte{6}, NewestTime: noon},
		Pending: map[string]int64{"dublin": 12, "quincy": 40},
	}
	e = estimate(d, o)
	g.Expect(e.NewestFrom).To(Equal(fromDistributor))
	g.Expect(e.Deliverable).To(HaveValue(BeEquivalentTo(12)))
	g.Expect(e.Summary).To(ContainSubstring("12 commands for it, which are delivered first"))

	d, o = lostSite()
	d.Move.Spec.To, d.Move.Status.ToSubscription = "quisub", "quincy"
	e = estimate(d, o)
	g.Expect(e.Summary).To(And(ContainSubstring("lacks transactions"), ContainSubstring("More was delivered to dubsub-0")))
}
