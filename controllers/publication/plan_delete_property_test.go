// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql/tsqltest"
)

// sight is how much of a world is seen.
type sight struct {
	// Servers that do not answer, and those that nobody expects back, whether they answer or not.
	silent, gone map[v1alpha1.ServerName]bool
	// States of the distribution database and of the published one, empty where there is none.
	distribution, database string
	// Questions to each that had no answer.
	atFails, databaseFails bool
}

func drawSight(t *rapid.T) sight {
	s := sight{silent: map[v1alpha1.ServerName]bool{}, gone: map[v1alpha1.ServerName]bool{}}
	for _, name := range []v1alpha1.ServerName{distributor, publisher, dublin} {
		how := rapid.SampledFrom([]string{"answers", "answers", "lost", "silent", "answers though gone"}).
			Draw(t, string(name))
		s.silent[name], s.gone[name] = how == "lost" || how == "silent", how == "lost" || how == "answers though gone"
	}
	states := rapid.SampledFrom([]string{"ONLINE", "ONLINE", "", "RECOVERING"})
	s.distribution, s.database = states.Draw(t, "distribution"), states.Draw(t, "database")
	s.atFails = rarely(t, "the question to the distributor fails")
	s.databaseFails = rarely(t, "the question to the database fails")
	return s
}

// rarely draws what is not so most of the time: the interesting end of a deletion is where little is wrong.
func rarely(t *rapid.T, what string) bool { return rapid.IntRange(0, 5).Draw(t, what) == 5 }

// lost tells that a server is not expected back and does not answer.
func (s sight) lost(name v1alpha1.ServerName) bool { return s.silent[name] && s.gone[name] }

// of is what the reader would see of a world.
func (s sight) of(w *world) Observed {
	timeout := &mssql.Error{Class: mssql.Unknown, Err: errors.New("i/o timeout")}
	why := map[v1alpha1.ServerName]string{}
	o := w.look()
	o.Servers = maps.Clone(o.Servers)
	in := func(server v1alpha1.ServerName, name, state string) {
		copied := *o.Servers[server].State
		copied.Databases = maps.Clone(copied.Databases)
		have := copied.Databases[strings.ToLower(name)]
		if have.Name, have.State = name, state; state == "" {
			delete(copied.Databases, strings.ToLower(name))
		} else {
			copied.Databases[strings.ToLower(name)] = have
		}
		o.Servers[server] = replication.Server{State: &copied}
	}
	in(distributor, "distribution", s.distribution)
	in(publisher, "Content", s.database)
	o.Servers[dublin] = replication.Server{State: &mssql.ReplicationServer{Sysadmin: true}}
	for name := range s.silent {
		if why[name] = ""; s.gone[name] {
			why[name] = "Site tukwila is declared lost"
		}
		if s.silent[name] {
			o.Servers[name] = replication.Server{Err: timeout}
		}
	}
	w.d.Gone = sites.GoneFor(why)
	switch {
	case s.silent[distributor]:
		o.At, o.LogReaderJob, o.SnapshotJob = replication.AtDistributor{}, nil, nil
	case s.distribution != "ONLINE":
		o.At = replication.AtDistributor{}
		o.LogReaderJob, o.SnapshotJob = w.jobs[readerJob], w.jobs[snapshotsJob]
	}
	if !s.silent[distributor] && (s.atFails || s.distribution == "RECOVERING") {
		o.At, o.LogReaderJob, o.SnapshotJob, o.AtErr = replication.AtDistributor{}, nil, nil, timeout
	}
	if s.silent[publisher] || s.database != "ONLINE" || s.databaseFails {
		if o.Database = (Database{}); !s.silent[publisher] && s.databaseFails {
			o.DatabaseErr = timeout
		}
	}
	return o
}

// drawDeleted is a publication that is being deleted, or one of its name, and what there is beside it.
func drawDeleted(t *rapid.T) *world {
	d := declared(false)
	if rapid.Bool().Draw(t, "it is copied by a schedule") {
		d = nightly(false)
	}
	w := newWorld(d)
	w.settle(t, all)
	w.d.System.SetUpPassword = "set-up-secret"
	if !d.scheduled() && rapid.Bool().Draw(t, "the log reader has the right to set up") {
		raise(w)
	}
	w.d.Publication.Spec.ReclaimPolicy = rapid.SampledFrom([]v1alpha1.ReclaimPolicy{
		v1alpha1.ReclaimDelete, v1alpha1.ReclaimDelete, v1alpha1.ReclaimRetain}).Draw(t, "reclaimPolicy")
	w.d.Publication.DeletionTimestamp = &metav1.Time{Time: start}
	if rarely(t, "another Publication needs the right") {
		w.d.Claims = []string{"orders"}
	}
	b, at := &w.o.Database, &w.o.At
	b.Publications = []string{"articles"}
	if rarely(t, "the publication is somebody else's") {
		b.Publication.Description = "made by hand"
	}
	if rarely(t, "there is another publication") {
		b.Publications, at.Others = append(b.Publications, "orders"), true
		if w.jobs[readerJob] == nil {
			// It is streamed, and its log is read for it alone.
			at.LogReader = &mssql.Agent{ID: 1, Job: readerJob, Publisher: "tukpub-0"}
			w.jobs[readerJob] = &mssql.Job{Enabled: true, Running: true, Description: w.d.description()}
		}
	}
	if rarely(t, "the distributor was made anew") {
		w.o.At = replication.AtDistributor{}
	}
	for name, job := range w.jobs {
		if rarely(t, name+" is somebody else's") {
			job.Description = "made by hand"
		}
	}
	host := rapid.SampledFrom([]string{"", "", "dubsub-0", "LEGACY"}).Draw(t, "subscriber")
	if host != "" {
		b.Publication.Subscriptions = []mssql.ArticleSubscription{
			{Article: "dbo.Article", Subscriber: host, Database: "Copy"}}
	}
	if host != "" && rarely(t, "its Subscription is declared") {
		one := v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{Publication: "articles", Database: "Copy",
			Subscriber: v1alpha1.ServerOrGroup{Server: dublin}}}
		one.Name = "dublin"
		w.d.Subscriptions = append(w.d.Subscriptions, one)
	}
	return w
}

// givesBack tells that a step takes the right back from the log reader, or starts that again afterwards.
func givesBack(w *world, s sight, c tsqltest.Call) bool {
	job := w.jobs[c.Arguments["job_name"]]
	own := c.Arguments["job_name"] == readerJob && job != nil && replication.Described(job.Description) &&
		len(w.d.Claims) == 0 && !s.atFails && s.distribution != "RECOVERING" &&
		w.d.Publication.Status.LogReaderRight != nil
	switch c.Procedure {
	case "sp_stop_job":
		return own && w.d.System.SetsUp(job)
	case "sp_update_jobstep":
		return own && w.d.System.SetsUp(job) && c.Arguments["command"] ==
			w.d.System.LogReaderCommand("tukpub-0", "Content", nil, false).Text()
	case "sp_start_job":
		return own && !w.d.System.SetsUp(job) && !job.Running
	}
	return false
}

// evident fails when a step takes something away without the evidence that it needs.
func evident(t *rapid.T, w *world, s sight, o Observed, step replication.Step) {
	x := step.(replication.Execute)
	b := w.o.Database
	needs := func(ok bool, what string) {
		if !ok {
			t.Fatalf("%s: %s", step.Describe(), what)
		}
	}
	needs(!s.silent[x.Server], "the server does not answer")
	c, isCall := tsqltest.Read(x.Statement.Text)
	if givesBack(w, s, c) {
		return
	}
	needs(w.d.Publication.Spec.ReclaimPolicy == v1alpha1.ReclaimDelete, "the policy says Retain")
	needs(!s.atFails && s.distribution != "RECOVERING" || s.lost(distributor), "the distributor was not read")
	needs(!s.databaseFails && s.database != "RECOVERING" || s.lost(publisher), "the published database was not read")
	if !isCall {
		needs(strings.Contains(x.Statement.Text, "DROP USER"), "it is not known")
	}
	ours := b.Publication == nil || b.Publication.Description == w.d.description()
	others := slices.Contains(b.Publications, "orders")
	forgotten := s.lost(distributor) || !s.silent[distributor] && s.distribution == ""
	if c.Arguments["ignore_distributor"] == "1" {
		needs(forgotten || !o.At.Known, "the distributor knows the publication")
	} else if isCall && x.Server == publisher {
		needs(!forgotten, "the distributor cannot be told")
	}
	switch c.Procedure {
	case "sp_droppublication":
		needs(b.Publication != nil && ours, "it is somebody else's")
	case "sp_dropsubscription":
		needs(ours, "the publication is somebody else's")
		needs(c.Arguments["subscriber"] == "dubsub-0" && s.lost(dublin), "its server is expected back")
		needs(len(w.d.Subscriptions) == 0, "it is declared")
	case "sp_delete_job", "sp_stop_job", "sp_update_job":
		name := c.Arguments["job_name"]
		own := replication.Described(w.jobs[name].Description)
		needs(own || c.Procedure != "sp_delete_job", "it is somebody else's")
		needs(name != snapshotsJob || ours || s.silent[publisher] || s.database == "", "it is of somebody's publication")
		if name == readerJob {
			needs(!forgotten || !s.silent[publisher], "nobody knows what else it reads for")
			needs(!o.At.Others, "it reads for another publication")
			needs(s.silent[publisher] || s.database == "" || ours && !others, "it reads for another publication")
		}
	case "sp_replicationdboption", "":
		needs(ours && !others, "the database has another publication")
	default:
		t.Fatalf("procedure %s is not known", c.Procedure)
	}
}

// Whatever was read, and was not: nothing is taken away without the evidence for it, and a deletion ends, or waits and
// says how it goes on, wherever a process may have ended before. No log reader keeps the right to set subscribers up,
// whatever the policy is, and one that stays runs on without.
func TestDeletionOfWhateverIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, s := drawDeleted(t), drawSight(t)
		if s.database == "" {
			w.o.Database, w.o.Servers[publisher].State.Databases = Database{}, map[string]mssql.ReplicationDatabase{}
		}
		most := crashes(t)
		had := w.d.Publication.Status.LogReaderRight != nil
		for range 60 {
			o := s.of(w)
			p := planDelete(w.d, o)
			recorded := right(w.d, o)
			if len(p.Steps) == 0 && (p.Done || reflect.DeepEqual(recorded, w.d.Publication.Status.LogReaderRight)) {
				ended(t, w, s, p)
				noRight(t, w, s, p, had)
				return
			}
			n := min(most(), len(p.Steps))
			for i, step := range p.Steps[:n] {
				if i == 0 || !s.silent[publisher] {
					o = s.of(w)
				}
				evident(t, w, s, o, step)
				w.do(t, step)
			}
			if n == len(p.Steps) || rapid.Bool().Draw(t, "it reports") {
				w.d.Publication.Status.LogReaderRight = recorded
			}
		}
		t.Fatalf("the deletion does not end")
	})
}

// noRight fails when a log reader has the right still although its distributor told of it, or does not run although it
// is not the operator's to end.
func noRight(t *rapid.T, w *world, s sight, p reconcile.Plan, had bool) {
	job := w.jobs[readerJob]
	if job == nil || !replication.Described(job.Description) || len(w.d.Claims) > 0 || s.lost(distributor) {
		return
	}
	if told := !s.silent[distributor] && !s.atFails && s.distribution != "RECOVERING"; !told {
		if had && p.Done {
			t.Fatalf("it ended although nobody knows whether the log reader has the right")
		}
		return
	}
	if w.d.System.SetsUp(job) {
		t.Fatalf("the log reader has the right still: %+v", p)
	}
	if had && !job.Running {
		t.Fatalf("the log reader does not run")
	}
}

// ended judges the plan without steps that a deletion came to.
func ended(t *rapid.T, w *world, s sight, p reconcile.Plan) {
	if !p.Done {
		if !strings.HasPrefix(p.Outcome.Message, "deletion waits: ") || !strings.Contains(p.Outcome.Message, "Retain") {
			t.Fatalf("it waits without a way out: %+v", p.Outcome)
		}
		return
	}
	if w.d.Publication.Spec.ReclaimPolicy == v1alpha1.ReclaimRetain {
		return
	}
	for _, name := range []v1alpha1.ServerName{distributor, publisher} {
		said := strings.Contains(strings.Join(p.Left, "; "), string(name))
		if s.silent[name] && (!s.gone[name] || !said) {
			t.Fatalf("it ended without %s: %v", name, p.Left)
		}
	}
	have := w.o.Database.Publication
	if !s.silent[publisher] && have != nil && have.Description == w.d.description() {
		t.Fatalf("the publication is still there")
	}
}
