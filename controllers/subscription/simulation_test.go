// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql/tsqltest"
)

const distributor, publisher, secondary, subscriber v1alpha1.ServerName = "dist", "tukpub", "quisec", "dubsub"

var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func declared() Desired {
	object := &v1alpha1.Distributor{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"},
		Spec:       v1alpha1.DistributorSpec{Server: distributor},
	}
	d := Desired{
		Subscription: &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin"},
			Spec: v1alpha1.SubscriptionSpec{
				Publication: "articles",
				Subscriber:  v1alpha1.ServerOrGroup{Server: subscriber},
				Database:    "Content",
			},
		},
		Publication: &v1alpha1.Publication{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "web",
				Name:      "articles",
			}, Spec: v1alpha1.PublicationSpec{Database: "Content", Distributor: "main"},
		},
		System: replication.SystemOf(object),
		Publisher: replication.Party{
			Name:    "AvailabilityGroup content",
			Group:   "content",
			Servers: []v1alpha1.ServerName{publisher, secondary},
			Address: "content",
		},
		Subscriber: subscriber, Source: "dist-0.web.svc:8443", Token: "token-secret", CA: []byte("ca"),
	}
	d.System.AgentPassword, d.System.LinkPassword = "agent-secret", "link-secret"
	return d
}

func push(at v1alpha1.AgentPlace) Desired {
	d := declared()
	d.Subscription.Spec.Type, d.Subscription.Spec.AgentAt = v1alpha1.SubscriptionPush, at
	return d
}

// world is what servers and sidecars would answer. It takes statements as engines take them, with the preconditions
// that matter.
type world struct {
	d Desired
	o Observed
	// jobs by server and name.
	jobs map[v1alpha1.ServerName]map[string]*mssql.Job
	// tables that the snapshot replaced at the subscriber.
	dropped int
	// ahead is how much the publisher's clock is.
	ahead time.Duration
	// makes tells that the engine makes a job for the agent of a push subscription when that is registered.
	makes bool
}

// engineMade is the name of a job that the engine has made.
const engineMade = "TUKPUB-0-Content-articles-DUBSUB-0-7"

func newWorld(d Desired) *world {
	w := &world{
		d:    d,
		jobs: map[v1alpha1.ServerName]map[string]*mssql.Job{},
		o:    Observed{Now: start, Servers: map[v1alpha1.ServerName]replication.Server{}},
	}
	for _, name := range []v1alpha1.ServerName{distributor, publisher, secondary, subscriber} {
		w.jobs[name] = map[string]*mssql.Job{}
		w.o.Servers[name] = replication.Server{
			Role: map[v1alpha1.ServerName]string{publisher: "PRIMARY", secondary: "SECONDARY"}[name],
			State: &mssql.ReplicationServer{
				Sysadmin:  true,
				Linked:    map[string]bool{},
				Databases: map[string]mssql.ReplicationDatabase{},
			},
		}
	}
	w.o.Servers[distributor].State.Databases["distribution"] = mssql.ReplicationDatabase{
		Name:  "distribution",
		State: "ONLINE",
	}
	w.o.Servers[publisher].State.Databases["content"] = mssql.ReplicationDatabase{
		Name:      "Content",
		State:     "ONLINE",
		Published: true,
		Collation: "Latin1_General_100_CI_AS",
	}
	w.o.At = replication.AtDistributor{Original: "tukpub-0", Known: true, LastSnapshot: "2026-11-20T10:00:00",
		Snapshot: &mssql.Agent{
			ID:        2,
			Publisher: "tukpub-0",
			Job:       "snapshots",
			Status:    mssql.RunSucceeded,
			Age:       time.Hour,
		}, SnapshotAge: time.Hour,
		LogReader: &mssql.Agent{ID: 1, Publisher: "tukpub-0", Job: "reader", Status: mssql.RunIdle}}
	w.o.LogReaderJob = &mssql.Job{Enabled: true, Running: true}
	w.o.Publication = &mssql.Publication{
		Description:   "geosql.dev web/articles",
		SnapshotReady: true,
		Scheduled:     d.scheduled(),
		Articles: map[string]mssql.PublishedArticle{
			"dbo.article": {
				Name:   "dbo.Article",
				Schema: "dbo",
				Table:  "Article",
			}, "dbo.attachment": {Name: "dbo.Attachment", Schema: "dbo", Table: "Attachment"}},
	}
	w.o.Here.Tables = map[string]mssql.Table{}
	w.guarded()
	return w
}

// guarded has the subscriber's tables be read-only by guards.
func (w *world) guarded(guards ...mssql.Guard) {
	w.o.Guards = reconcile.Read(guards)
}

func (w *world) look() Observed {
	o := w.o
	o.Jobs = map[v1alpha1.ServerName]*mssql.Job{}
	for i := range o.Tokens {
		o.Tokens[i].Age = o.Now.Add(w.ahead).Sub(o.Tokens[i].Posted)
	}
	for _, name := range []v1alpha1.ServerName{distributor, subscriber} {
		o.Jobs[name] = w.jobs[name][job(w.d, o).Name]
	}
	return o
}

// run is what happens by itself: the sidecars copy, the agent applies.
func (w *world) run() {
	if told := w.o.Mirror.Told; told != nil && w.o.Mirror.Reader != nil && told.Generation != "" {
		w.o.Mirror.Status = &files.Status{Subscription: told.Subscription, Generation: told.Generation, State: files.Verified}
	}
	if w.o.Publication == nil {
		return
	}
	for i := range w.o.Publication.Subscriptions {
		if s := &w.o.Publication.Subscriptions[i]; s.Status == mssql.SubscriptionWaiting && w.o.At.LastSnapshot != "" {
			s.Status = 2
		}
	}
	o := w.look()
	j := o.Jobs[w.d.agentServer()]
	if j == nil || !j.Running || len(o.registrations(w.d)) == 0 {
		return
	}
	if w.o.here(w.d) == nil {
		w.o.Here.Subscriptions = append(
			w.o.Here.Subscriptions,
			mssql.SubscriptionHere{Publisher: "tukpub-0", PublisherDatabase: "Content", Publication: "articles"},
		)
	}
	if here := w.o.here(w.d); w.d.scheduled() && !w.o.registered(w.d, mssql.SubscriptionWaiting) {
		here.Applied, here.Transaction = true, w.o.Snapshot.Number
	} else if !here.Applied {
		here.Applied = true
		for i := range w.o.Publication.Subscriptions {
			w.o.Publication.Subscriptions[i].Status = 2
		}
		w.dropped += len(w.o.Here.Tables)
		for key, a := range w.o.Publication.Articles {
			w.o.Here.Tables[key] = mssql.Table{Schema: a.Schema, Name: a.Table}
		}
	}
	if w.o.Agent == nil {
		w.o.Agent = &mssql.Agent{ID: 1, Name: "agent 1"}
	}
	w.fails(0, 0)
}

// fails lets the agent be in another attempt after one that ended so, or go on (0).
func (w *world) fails(status mssql.RunStatus, since time.Duration) {
	a := w.o.Agent
	a.Status, a.Message, a.Time, a.Failure, a.FailureMessage, a.FailingFor, a.Unseen = mssql.RunIdle, "", w.o.Now, status,
		"", since, since
	if status != 0 {
		a.Status, a.Message, a.FailureMessage = mssql.RunStarted, "Starting agent.",
			"20598: the row was not found at the Subscriber"
	}
}

// fatal is what tests and rapid have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (w *world) do(t fatal, step replication.Step) {
	t.Helper()
	switch s := step.(type) {
	case GiveMirror:
		w.o.Mirror.Told, w.o.Mirror.Reader = &s.Mirror, &s.Reader
	case TakeMirror:
		w.o.Mirror = Mirror{}
	case replication.Execute:
		c, isCall := tsqltest.Read(s.Statement.Text)
		switch {
		case !isCall:
			w.ddl(t, s)
		case strings.HasPrefix(c.Procedure, "sp_add_job") || strings.HasSuffix(c.Procedure, "_job") ||
			c.Procedure == "sp_update_jobstep":
			w.job(t, s.Server, c.Procedure, c.Arguments)
		default:
			w.call(t, s, c.Procedure, c.Arguments)
		}
	}
}

func (w *world) job(t fatal, server v1alpha1.ServerName, procedure string, a map[string]string) {
	t.Helper()
	jobs := w.jobs[server]
	j := jobs[a["job_name"]]
	if (j == nil) != (procedure == "sp_add_job") {
		t.Fatalf("%s %s on %s: %+v", procedure, a["job_name"], server, j)
	}
	switch procedure {
	case "sp_add_job":
		jobs[a["job_name"]] = &mssql.Job{Enabled: a["enabled"] == "1", Description: a["description"]}
	case "sp_add_jobstep":
		j.Step, j.Command = 1, a["command"]
	case "sp_update_jobstep":
		if a["step_id"] != strconv.Itoa(j.Step) {
			t.Fatalf("step %s of job %s runs no agent", a["step_id"], a["job_name"])
		}
		j.Command = a["command"]
	case "sp_add_jobserver":
		j.HasServer = true
	case "sp_add_jobschedule":
		j.Scheduled = true
	case "sp_update_job":
		if now, told := a["new_name"]; told {
			if jobs[now] != nil {
				t.Fatalf("job %s is there already", now)
			}
			delete(jobs, a["job_name"])
			if jobs[now], j.Name = j, now; w.o.Agent != nil && w.o.Agent.Job == a["job_name"] {
				w.o.Agent.Job = now
			}
		}
		if description, told := a["description"]; told {
			j.Description = description
			break
		}
		j.Enabled = a["enabled"] == "1"
	case "sp_start_job":
		if status := w.o.Mirror.Status; w.o.mirrors(w.d) && !w.o.applied(w.d) &&
			(status == nil || status.State != files.Verified) {
			t.Fatalf("the agent is started before the snapshot is mirrored")
		}
		j.Running = true
	case "sp_stop_job":
		j.Running = false
	case "sp_delete_job":
		delete(jobs, a["job_name"])
	}
}

func (w *world) call(t fatal, s replication.Execute, procedure string, a map[string]string) {
	t.Helper()
	at := func(server v1alpha1.ServerName, database string) {
		if s.Server != server || s.Database != database {
			t.Fatalf("%s runs on %s in %s", procedure, s.Server, s.Database)
		}
	}
	switch procedure {
	case "sp_addlinkedserver":
		w.o.Servers[s.Server].State.Linked[a["server"]] = true
	case "sp_addsubscription":
		at(publisher, "Content")
		for _, x := range w.o.Publication.Articles {
			if a["article"] == "all" || a["article"] == x.Name {
				w.o.Publication.Subscriptions = append(w.o.Publication.Subscriptions, mssql.ArticleSubscription{
					Article: x.Name, Subscriber: a["subscriber"], Database: a["destination_db"],
					Pull: a["subscription_type"] == "pull", Status: map[bool]int{true: 1, false: 2}[w.o.At.LastSnapshot == ""],
					DataWasThere: a["sync_type"] == "replication support only"})
			}
		}
		if w.makes && a["subscription_type"] == "push" {
			w.jobs[distributor][engineMade] = &mssql.Job{Name: engineMade, Enabled: true, Step: 2, HasServer: true,
				Running: true, Command: "-DistributorSecurityMode 1"}
			w.o.Agent = &mssql.Agent{ID: 1, Name: "agent 1", Job: engineMade, Attached: true}
		}
	case "sp_reinitsubscription":
		at(publisher, "Content")
		for i := range w.o.Publication.Subscriptions {
			w.o.Publication.Subscriptions[i].Status = 1
		}
		w.o.here(w.d).Applied = false
	case "sp_dropsubscription":
		at(publisher, "Content")
		w.o.Publication.Subscriptions, w.o.Agent = nil, nil
	case "sp_addpullsubscription":
		at(subscriber, "Content")
		w.o.Here.Subscriptions = append(w.o.Here.Subscriptions, mssql.SubscriptionHere{
			Publisher: a["publisher"], PublisherDatabase: a["publisher_db"], Publication: a["publication"],
			Pull: a["subscription_type"] == "pull"})
	case "sp_addpullsubscription_agent":
		at(subscriber, "Content")
		if w.jobs[subscriber][a["job_name"]] == nil {
			t.Fatalf("its job is not there")
		}
		w.o.Here.Distributor = a["distributor"]
	case "sp_droppullsubscription", "sp_subscription_cleanup":
		at(subscriber, "Content")
		w.o.Here.Subscriptions, w.o.Here.Distributor = nil, ""
	case "sp_addpushsubscription_agent":
		at(publisher, "Content")
		if w.jobs[distributor][a["job_name"]] == nil {
			t.Fatalf("its job is not there")
		}
		if w.o.Agent != nil && w.o.Agent.Attached {
			return // refused with 21837
		}
		w.o.Agent = &mssql.Agent{ID: 1, Name: "agent 1", Job: a["job_name"], Attached: true}
	case "sp_startpublication_snapshot":
		at(publisher, "Content")
		w.o.At.LastSnapshot, w.o.At.SnapshotAge = w.o.Now.Format("2006-01-02T15:04:05"), 0
	case "sp_posttracertoken":
		at(publisher, "Content")
		one := int64(1)
		w.o.Tokens = append(
			[]Token{{Posted: w.o.Now.Add(w.ahead), Latency: mssql.TokenLatency{ToDistributor: &one, Overall: &one}}},
			w.o.Tokens...)
	default:
		t.Fatalf("procedure %s is not known", procedure)
	}
}

func (w *world) ddl(t fatal, s replication.Execute) {
	t.Helper()
	state := w.o.Servers[s.Server].State
	switch text := s.Statement.Text; {
	case strings.Contains(text, "CREATE LOGIN"):
		state.LoginSID, state.PasswordRight = w.d.System.SID, true
	case strings.Contains(text, "CREATE DATABASE"):
		_, collation, _ := strings.Cut(text, " COLLATE ")
		state.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE", Collation: collation}
	case strings.Contains(text, "CREATE USER"):
		w.o.Here.Owner.User = w.d.System.Login
	case strings.Contains(text, "DROP USER"):
		w.o.Here.Owner = replication.Owner{}
	case strings.Contains(text, "DROP TRIGGER IF EXISTS "):
		guards, err := w.o.Guards.Get()
		if err != nil {
			t.Fatalf("%s of what was not read: %v", text, err)
		}
		dropped := func(g mssql.Guard) bool { return strings.Contains(text, g.Name) }
		w.guarded(slices.DeleteFunc(slices.Clone(guards), dropped)...)
	case strings.HasPrefix(text, "ALTER ROLE"):
		w.o.Here.Owner.IsOwner = true
	default:
		t.Fatalf("statement %q is not known", text)
	}
}

// settle plans and does until nothing is left but what happens by itself, and that too.
func (w *world) settle(t fatal, most func() int) (reconcile.Plan, []string) {
	t.Helper()
	var done []string
	idle := 0
	for range 300 {
		o := w.look()
		p := plan(w.d, o)
		status := &w.d.Subscription.Status
		status.Initialization = initialization(w.d, o, p)
		if len(p.All()) == 0 {
			status.Reinitialization = reinitialization(w.d, o, p, nil)
			if idle++; idle > 3 {
				return p, done
			}
			w.run()
			continue
		}
		idle = 0
		n := most()
		for i, s := range p.All() {
			if i == n {
				break
			}
			done = append(done, s.Describe())
			w.do(t, s)
		}
		if n >= len(p.All()) {
			status.Reinitialization = reinitialization(w.d, o, p, nil)
		}
	}
	t.Fatalf("the plan does not come to an end: %q", done[len(done)-5:])
	return reconcile.Plan{}, nil
}

func all() int { return 1000 }

// crashes ends the process some times, after some steps, and then no more.
func crashes(t *rapid.T) func() int {
	left := rapid.IntRange(0, 20).Draw(t, "crashes")
	return func() int {
		if left--; left < 0 {
			return all()
		}
		return rapid.IntRange(0, 4).Draw(t, "steps until the crash")
	}
}
