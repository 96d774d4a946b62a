// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql/tsqltest"
)

const distributor, publisher, secondary v1alpha1.ServerName = "dist", "tukpub", "quisec"

var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// declared is a publication of a group, or of a server alone.
func declared(group bool) Desired {
	object := &v1alpha1.Distributor{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"},
		Spec:       v1alpha1.DistributorSpec{Server: distributor},
	}
	d := Desired{
		Publication: &v1alpha1.Publication{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "articles"},
			Spec: v1alpha1.PublicationSpec{Database: "Content", Distributor: "main", Articles: []v1alpha1.Article{
				{Table: "dbo.Article"},
				{
					Table:           "dbo.Attachment",
					DataCompression: v1alpha1.CompressionPage,
					Columns:         []string{"Id", "Body"},
					Filter:          "Id > 7",
				},
			}},
		},
		System: replication.SystemOf(object),
		Publisher: replication.Party{
			Name:    "SQLServer tukpub",
			Servers: []v1alpha1.ServerName{publisher},
			Address: "tukpub-0",
		},
	}
	if group {
		d.Publisher = replication.Party{
			Name:    "AvailabilityGroup content",
			Group:   "content",
			Servers: []v1alpha1.ServerName{publisher, secondary},
			Address: "content",
		}
	}
	d.System.AgentPassword, d.System.LinkPassword = "agent-secret", "link-secret"
	return d
}

// world is what the servers would answer. It takes statements as engines take them, with the preconditions that matter.
type world struct {
	// kept are columns beside the primary key's that an article of some columns begins with: those that may be NULL and
	// have no default.
	kept []string
	d    Desired
	o    Observed
	// theirs are the tables of subscribers, by server.
	theirs map[string]map[string]mssql.Table
	// jobs at the distributor; attached is the one that an agent was given.
	jobs     map[string]*mssql.Job
	attached map[*mssql.Agent]*mssql.Job
	// marked tells that a snapshot of what is copied by a schedule is for those alone that wait for it (R-D29); has is
	// when that was begun which each subscriber has of an article.
	marked bool
	has    map[string]time.Time
}

func newWorld(d Desired) *world {
	w := &world{
		d:        d,
		jobs:     map[string]*mssql.Job{},
		attached: map[*mssql.Agent]*mssql.Job{},
		o:        Observed{Now: start, Servers: map[v1alpha1.ServerName]replication.Server{}},
	}
	at := &mssql.ReplicationServer{
		Sysadmin:  true,
		Databases: map[string]mssql.ReplicationDatabase{"distribution": {Name: "distribution", State: "ONLINE"}},
	}
	for _, name := range d.Publisher.Servers {
		state := &mssql.ReplicationServer{
			Sysadmin:       true,
			LoginSID:       d.System.SID,
			PasswordRight:  true,
			HasDistributor: true,
			Distributor:    "dist-0",
			Databases:      map[string]mssql.ReplicationDatabase{},
		}
		role := ""
		if d.Publisher.Group != "" {
			role = "SECONDARY"
			state.Databases["content"] = mssql.ReplicationDatabase{
				Name:          "Content",
				State:         "ONLINE",
				RecoveryModel: "FULL",
				LogChain:      true,
			}
		}
		w.o.Servers[name] = replication.Server{State: state, Role: role}
		at.Publishers = append(
			at.Publishers,
			mssql.DistributionPublisher{Name: string(name) + "-0", Database: "distribution"},
		)
	}
	w.o.Servers[distributor] = replication.Server{State: at}
	if d.Publisher.Group != "" {
		w.elect(publisher)
	}
	w.o.Database.Tables = map[string]mssql.Table{
		"dbo.article":    {Schema: "dbo", Name: "Article", PrimaryKey: []string{"Id"}, Compression: "NONE"},
		"dbo.attachment": {Schema: "dbo", Name: "Attachment", PrimaryKey: []string{"Id"}, Compression: "NONE"},
	}
	w.o.Database.Sizes = map[string]mssql.TableSize{"dbo.article": {}, "dbo.attachment": {}}
	return w
}

func (w *world) elect(primary v1alpha1.ServerName) {
	for _, name := range w.d.Publisher.Servers {
		s := w.o.Servers[name]
		s.Role = "SECONDARY"
		if name == primary {
			s.Role = "PRIMARY"
		}
		w.o.Servers[name] = s
	}
}

// look completes the observation as the reader would.
func (w *world) look() Observed {
	o := w.o
	for _, agent := range []**mssql.Agent{&o.At.LogReader, &o.At.Snapshot} {
		if *agent != nil && w.attached[*agent] == nil {
			w.attached[*agent] = w.jobs[(*agent).Job]
		}
		if *agent != nil && w.jobs[(*agent).Job] != w.attached[*agent] {
			// One of the same name that was made since is another job.
			detached := **agent
			detached.Job, *agent = "", &detached
		}
	}
	if a := o.At.Snapshot; a != nil && !a.Time.IsZero() {
		a.Age = o.Now.Sub(a.Time)
	}
	if o.Database.Publication != nil {
		// Subscribers answer, and have what is told of them.
		theirs := map[receiver]reconcile.Reading[map[string]mssql.Table]{}
		for _, who := range o.lacking() {
			theirs[who.receiver] = reconcile.Read(w.theirs[who.server])
		}
		maps.Copy(theirs, w.o.Theirs)
		o.Theirs = theirs
	}
	o.LogReaderJob, o.SnapshotJob = w.jobs[logReaderJob(w.d, o).Name], w.jobs[snapshotJob(w.d, o).Name]
	return o
}

// fatal is what tests and rapid have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (w *world) do(t fatal, step replication.Step) {
	t.Helper()
	s := step.(replication.Execute)
	c, isCall := tsqltest.Read(s.Statement.Text)
	switch {
	case !isCall:
		w.ddl(t, s)
	case strings.HasPrefix(c.Procedure, "sp_add_job") || strings.HasSuffix(c.Procedure, "_job") ||
		c.Procedure == "sp_update_jobstep":
		if s.Server != distributor {
			t.Fatalf("jobs of a publication are the distributor's, not of %s", s.Server)
		}
		w.job(t, c.Procedure, c.Arguments)
	case c.Procedure == "sp_redirect_publisher":
		if w.o.At.Original != c.Arguments["original_publisher"] {
			t.Fatalf("redirected %s instead of %s", c.Arguments["original_publisher"], w.o.At.Original)
		}
		w.o.At.RedirectedTo = c.Arguments["redirected_publisher"]
	default:
		if s.Server != w.o.primary(w.d) {
			t.Fatalf("%s runs on %s, which takes no writes", c.Procedure, s.Server)
		}
		w.publish(t, c.Procedure, c.Arguments)
	}
}

func (w *world) job(t fatal, procedure string, a map[string]string) {
	t.Helper()
	j := w.jobs[a["job_name"]]
	if (j == nil) != (procedure == "sp_add_job") {
		t.Fatalf("%s %s: %+v", procedure, a["job_name"], j)
	}
	switch procedure {
	case "sp_add_job":
		w.jobs[a["job_name"]] = &mssql.Job{Enabled: a["enabled"] == "1", Description: a["description"]}
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
			if w.jobs[now] != nil {
				t.Fatalf("job %s is there already", now)
			}
			delete(w.jobs, a["job_name"])
			w.jobs[now] = j
			for _, agent := range []*mssql.Agent{w.o.At.LogReader, w.o.At.Snapshot} {
				if agent != nil && agent.Job == a["job_name"] {
					agent.Job = now
				}
			}
		}
		if description, told := a["description"]; told {
			j.Description = description
			break
		}
		j.Enabled = a["enabled"] == "1"
	case "sp_start_job":
		j.Running = true
		if w.o.At.Snapshot != nil && a["job_name"] == snapshotJob(w.d, w.look()).Name {
			j.Running = false
			w.o.Database.Publication.SnapshotReady, w.o.At.LastSnapshot = true, "2026-11-20T10:00:00"
		}
	case "sp_stop_job":
		j.Running = false
	case "sp_delete_job":
		delete(w.jobs, a["job_name"])
	}
}

func (w *world) publish(t fatal, procedure string, a map[string]string) {
	t.Helper()
	b := &w.o.Database
	host := string(w.o.primary(w.d)) + "-0"
	needs := func(ok bool, what string) {
		if !ok {
			t.Fatalf("%s: %s", procedure, what)
		}
	}
	article := func() mssql.PublishedArticle { return b.Publication.Articles[strings.ToLower(a["article"])] }
	put := func(x mssql.PublishedArticle) {
		x.LeftOut = nil
		for _, column := range []string{"Id", "Title", "Body"} {
			if !slices.Contains(x.Columns, column) {
				x.LeftOut = append(x.LeftOut, column)
			}
		}
		b.Publication.Articles[strings.ToLower(x.Name)] = x
		b.Publication.SnapshotReady = false
	}
	switch procedure {
	case "sp_replicationdboption":
		for _, name := range w.d.Publisher.Servers {
			database := w.o.Servers[name].State.Databases["content"]
			database.Published = a["value"] == "true"
			w.o.Servers[name].State.Databases["content"] = database
		}
	case "sp_addlogreader_agent":
		needs(w.jobs[a["job_name"]] != nil, "its job is not there")
		if w.o.At.LogReader != nil {
			return // refused with 21831, also when its job was deleted
		}
		w.o.At.Original = host
		w.o.At.LogReader = &mssql.Agent{ID: 1, Name: "agent 1", Job: a["job_name"], Publisher: host, Status: mssql.RunIdle}
	case "sp_addpublication":
		needs(w.o.At.LogReader != nil || a["repl_freq"] == "snapshot", "it would make a log reader of its own")
		if w.o.At.Original == "" {
			w.o.At.Original = host
		}
		b.Publication = &mssql.Publication{Description: a["description"], Scheduled: a["repl_freq"] == "snapshot",
			Articles: map[string]mssql.PublishedArticle{}}
		w.o.At.Known = true
	case "sp_changepublication":
		b.Publication.Description = a["value"]
	case "sp_grant_publication_access":
		w.o.At.Access = append(w.o.At.Access, a["login"])
	case "sp_addpublication_snapshot":
		needs(w.jobs[a["snapshot_job_name"]] != nil, "its job is not there")
		if w.o.At.Snapshot != nil {
			return // refused with 14101, also when its job was deleted
		}
		w.o.At.Snapshot = &mssql.Agent{ID: 2, Name: "agent 2", Job: a["snapshot_job_name"], Publisher: host}
	case "sp_addarticle":
		table := b.Tables[strings.ToLower(a["article"])]
		needs(table.Name == a["source_object"] && (len(table.PrimaryKey) > 0 || w.d.scheduled()),
			"error 14088: no primary key")
		option, _ := strconv.ParseInt(a["schema_option"], 0, 64)
		needs(w.d.scheduled() == (option&2 == 0), "error 21143, or no procedures")
		x := mssql.PublishedArticle{
			Name:         a["article"],
			Schema:       a["source_owner"],
			Table:        a["source_object"],
			SchemaOption: option,
			Columns:      []string{"Id", "Title", "Body"},
		}
		if a["vertical_partition"] == "true" {
			x.Columns = append(append([]string{}, table.PrimaryKey...), w.kept...)
		}
		put(x)
	case "sp_changearticle":
		x := article()
		x.SchemaOption, _ = strconv.ParseInt(a["value"], 0, 64)
		put(x)
	case "sp_articlecolumn":
		x := article()
		needs(slices.Contains(x.Columns, a["column"]) == (a["operation"] != "add"), a["operation"]+" of "+a["column"])
		if a["operation"] == "add" {
			x.Columns = append(append([]string{}, x.Columns...), a["column"])
		} else {
			var rest []string
			for _, c := range x.Columns {
				if c != a["column"] {
					rest = append(rest, c)
				}
			}
			x.Columns = rest
		}
		put(x)
	case "sp_articlefilter":
		x := article()
		x.Filter = a["filter_clause"]
		put(x)
	case "sp_articleview":
		x := article()
		x.Limited = true
		put(x)
	case "sp_dropsubscription":
		var rest []mssql.ArticleSubscription
		for _, s := range b.Publication.Subscriptions {
			if a["article"] != "all" && !strings.EqualFold(s.Article, a["article"]) ||
				a["subscriber"] != "all" && !strings.EqualFold(s.Subscriber, a["subscriber"]) {
				rest = append(rest, s)
			}
		}
		b.Publication.Subscriptions = rest
	case "sp_replrestart":
		needs(!w.look().LogReaderJob.Running, "error 18752: a log reader has the log")
		b.LogEnd = append([]byte{}, w.o.At.Newest...)
	case "sp_repldone":
		needs(w.o.At.LogReader == nil, "error 18752: a log reader has the log")
	case "sp_droparticle":
		for _, s := range b.Publication.Subscriptions {
			needs(!strings.EqualFold(s.Article, a["article"]), "error 14046: it has subscriptions")
		}
		delete(b.Publication.Articles, strings.ToLower(a["article"]))
		b.Publication.SnapshotReady = false
	case "sp_startpublication_snapshot":
		needs(
			len(b.Publication.Articles) > 0 && w.look().At.Snapshot.Job != "",
			"nothing to take a snapshot of, or no job of the agent",
		)
		b.Publication.SnapshotReady, w.o.At.LastSnapshot = true, "2026-11-20T10:00:00"
		w.snapshotOfAll()
	case "sp_reinitsubscription":
		for i := range b.Publication.Subscriptions {
			if s := &b.Publication.Subscriptions[i]; s.Subscriber == a["subscriber"] && s.Database == a["destination_db"] {
				s.Status = mssql.SubscriptionWaiting
			}
		}
		b.Publication.SnapshotReady = false
	case "sp_addsubscription":
		needs(a["article"] == "all", "error 14122: not all articles of an immediate_sync publication")
		for _, one := range w.d.Publication.Spec.Articles {
			x, published := b.Publication.Articles[strings.ToLower(one.Table)]
			needs(!published || len(one.Columns) == 0 || len(x.LeftOut) > 0, "columns that are left out would be delivered")
		}
		for _, x := range b.Publication.Articles {
			b.Publication.Subscriptions = append(
				b.Publication.Subscriptions,
				mssql.ArticleSubscription{Article: x.Name, Subscriber: a["subscriber"], Database: a["destination_db"]},
			)
		}
	case "sp_refreshsubscriptions":
		if w.d.scheduled() {
			w.refresh()
			return
		}
		if slices.ContainsFunc(b.Publication.Subscriptions, func(s mssql.ArticleSubscription) bool { return !s.Pull }) {
			return
		}
		for _, x := range b.Publication.Articles {
			b.Publication.Subscriptions = append(
				b.Publication.Subscriptions,
				mssql.ArticleSubscription{Article: x.Name, Subscriber: "dubsub-0", Database: "Content", Pull: true},
			)
		}
	case "sp_droppublication":
		needs(len(b.Publication.Subscriptions) == 0, "error 14005: it has subscriptions")
		b.Publication, w.o.At.Snapshot, w.o.At.Known = nil, nil, false
	default:
		t.Fatalf("procedure %s is not known", procedure)
	}
}

func (w *world) ddl(t fatal, s replication.Execute) {
	t.Helper()
	databases := w.o.Servers[s.Server].State.Databases
	switch text := s.Statement.Text; {
	case strings.Contains(text, "CREATE DATABASE"):
		databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE", RecoveryModel: "FULL"}
	case strings.Contains(text, "SET RECOVERY FULL"):
	case strings.HasPrefix(text, "BACKUP "):
		d := databases["content"]
		d.LogChain = true
		databases["content"] = d
	case strings.Contains(text, "CREATE LOGIN ["+w.d.System.SetUpLogin+"]"):
		w.o.At.SetUpLogin = &mssql.SetUpLogin{SID: w.d.System.SetUpSID, PasswordRight: true}
	case strings.HasPrefix(text, "ALTER SERVER ROLE [sysadmin] ADD MEMBER ["+w.d.System.SetUpLogin+"]"):
		w.o.At.SetUpLogin.Sysadmin = true
	case strings.Contains(text, "CREATE USER"):
		w.o.Database.Owner.User = w.d.System.Login
	case strings.Contains(text, "DROP USER"):
		w.o.Database.Owner = replication.Owner{}
	case strings.HasPrefix(text, "ALTER ROLE"):
		w.o.Database.Owner.IsOwner = true
	case strings.Contains(text, " REBUILD "):
		for key, table := range w.o.Database.Tables {
			if strings.Contains(text, "["+table.Name+"] REBUILD") {
				_, compression, _ := strings.Cut(text, "DATA_COMPRESSION = ")
				compression, _, _ = strings.Cut(compression, ",")
				table.Compression = strings.TrimSuffix(compression, ")")
				w.o.Database.Tables[key] = table
			}
		}
	default:
		t.Fatalf("statement %q is not known", text)
	}
}

// settle plans, records and does until nothing is left. Only the first steps of each plan are done, as many as most
// says.
func (w *world) settle(t fatal, most func() int) (reconcile.Plan, []string) {
	t.Helper()
	var done []string
	for range 200 {
		o := w.look()
		p := plan(w.d, o)
		w.d.Publication.Status.Reinitialized = reinitialized(w.d, o, p)
		w.d.Publication.Status.LogReaderRight = right(w.d, o)
		if len(p.Steps) == 0 && p.Note == nil {
			return p, done
		}
		n := most()
		for i, s := range p.Steps {
			if i == n {
				break
			}
			done = append(done, s.Describe())
			w.do(t, s)
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
