// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/tsql/tsqltest"
)

const distributor, publisher, secondary v1alpha1.ServerName = "dist", "tukpub", "quisec"

func declared() Desired {
	object := &v1alpha1.Distributor{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"},
		Spec:       v1alpha1.DistributorSpec{Server: distributor},
	}
	d := Desired{
		Distributor: object,
		System:      replication.SystemOf(object),
		Publishers:  []v1alpha1.ServerName{secondary, publisher},
	}
	d.System.AgentPassword, d.System.LinkPassword = "agent-secret", "link-secret"
	return d
}

// world is what the servers would answer. It takes statements as engines take them, with the preconditions that matter.
type world struct {
	d Desired
	o Observed
	// passwords of the agents' login and of the link, by server.
	login, link map[v1alpha1.ServerName]string
	// configured is set by sp_configure until RECONFIGURE.
	configured bool
}

func newWorld(d Desired) *world {
	w := &world{
		d:     d,
		o:     Observed{Servers: map[v1alpha1.ServerName]replication.Server{}, SetUp: reconcile.Read(SetUp{})},
		login: map[v1alpha1.ServerName]string{},
		link:  map[v1alpha1.ServerName]string{},
	}
	for _, name := range []v1alpha1.ServerName{distributor, publisher, secondary} {
		w.o.Servers[name] = replication.Server{State: &mssql.ReplicationServer{
			Sysadmin: true, LargestReplicated: tsql.MaxTextRepl, Linked: map[string]bool{},
			Databases: map[string]mssql.ReplicationDatabase{}}}
	}
	return w
}

func (w *world) server(name v1alpha1.ServerName) *mssql.ReplicationServer {
	return w.o.Servers[name].State
}

// has gives the distributor's server a distributor that somebody made.
func (w *world) has(name string) {
	w.server(distributor).HasDistributor, w.server(distributor).Distributor = true, name
}

// fatal is what tests and rapid have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (w *world) do(t fatal, step replication.Step) {
	t.Helper()
	s := step.(replication.Execute)
	at := w.server(s.Server)
	c, isCall := tsqltest.Read(s.Statement.Text)
	if !isCall {
		w.ddl(t, s, at)
		return
	}
	a := c.Arguments
	dist := w.server(distributor)
	switch c.Procedure {
	case "sp_adddistributor":
		if s.Server != distributor && (dist.Publisher(string(s.Server)+"-0") == nil || w.link[distributor] != a["password"]) {
			t.Fatalf("%s is linked before the distributor admits it with that password", s.Server)
		}
		at.HasDistributor, at.Distributor, w.link[s.Server] = true, a["distributor"], a["password"]
	case "sp_adddistributiondb":
		retention, _ := strconv.Atoi(a["max_distretention"])
		history, _ := strconv.Atoi(a["history_retention"])
		at.Distribution = append(
			at.Distribution,
			mssql.DistributionDatabase{Name: a["database"], Retention: retention, HistoryRetention: history},
		)
		at.Databases[a["database"]] = mssql.ReplicationDatabase{Name: a["database"], State: "ONLINE"}
	case "sp_changedistributiondb":
		hours, _ := strconv.Atoi(a["value"])
		if a["property"] == "max_distretention" {
			at.Distribution[0].Retention = hours
		} else {
			at.Distribution[0].HistoryRetention = hours
		}
	case "sp_adddistpublisher":
		at.Publishers = append(at.Publishers, mssql.DistributionPublisher{
			Name: a["publisher"], Database: a["distribution_db"], WorkingDirectory: a["working_directory"], Login: a["login"]})
	case "sp_changedistpublisher":
		if a["property"] == "working_directory" {
			at.Publisher(a["publisher"]).WorkingDirectory = a["value"]
		}
	case "sp_configure":
		w.configured = a["configname"] == "max text repl size (B)" && a["configvalue"] == "-1"
	case "sp_changedistributor_password":
		w.link[s.Server] = a["password"]
	default:
		t.Fatalf("procedure %s is not known", c.Procedure)
	}
}

func (w *world) ddl(t fatal, s replication.Execute, at *mssql.ReplicationServer) {
	t.Helper()
	switch text := s.Statement.Text; {
	case text == "RECONFIGURE":
		if w.configured {
			at.LargestReplicated = -1
		}
	case strings.Contains(text, "CREATE LOGIN"):
		at.LoginSID, at.PasswordRight = w.d.System.SID, true
		w.login[s.Server] = w.d.System.AgentPassword
	case strings.HasPrefix(text, "ALTER LOGIN"):
		at.PasswordRight = true
		w.login[s.Server] = w.d.System.AgentPassword
	case strings.Contains(text, "CREATE USER"):
		w.o.Owner.User = w.d.System.Login
	case strings.HasPrefix(text, "ALTER ROLE"):
		w.o.Owner.IsOwner = true
	default:
		t.Fatalf("statement %q is not known", text)
	}
}

// settle plans and does until nothing is left. Only the first steps of each plan are done, as many as most says: every
// step may be the last of a process.
func (w *world) settle(t fatal, most func() int) reconcile.Plan {
	t.Helper()
	for range 200 {
		p := plan(w.d, w.o)
		if len(p.Steps) == 0 {
			return p
		}
		n := most()
		for i, s := range p.Steps {
			if i == n {
				break
			}
			w.do(t, s)
		}
	}
	t.Fatalf("the plan does not come to an end")
	return reconcile.Plan{}
}

func all() int { return 1000 }

// crashes ends the process some times, after some steps, and then no more.
func crashes(t *rapid.T) func() int {
	left := rapid.IntRange(0, 12).Draw(t, "crashes")
	return func() int {
		if left--; left < 0 {
			return all()
		}
		return rapid.IntRange(0, 4).Draw(t, "steps until the crash")
	}
}

// Every publisher takes large values, the secondaries as well; a bound that somebody has set stays.
func TestPublishersReplicateLargeValues(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.server(secondary).LargestReplicated = 1 << 20
	w.settle(t, all)
	for server, want := range map[v1alpha1.ServerName]int{publisher: -1, secondary: 1 << 20,
		distributor: tsql.MaxTextRepl} {
		g.Expect(w.server(server).LargestReplicated).To(Equal(want), string(server))
	}
}

func TestDistributorFromNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	p := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
	g.Expect(configured(w.d, w.o)).To(Equal([]string{"quisec-0", "tukpub-0"}))
	g.Expect(w.server(distributor).Publisher("TUKPUB-0").WorkingDirectory).To(Equal("//dist-0/ReplData"))
	g.Expect(w.link).To(HaveLen(3), "one password on every server")
}

// Whatever step is the last one of a process, the end is the same.
func TestEveryStepMayBeTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(declared())
		p := w.settle(t, crashes(t))
		if p.Outcome.Reason != v1alpha1.ReasonConfigured || len(configured(w.d, w.o)) != 2 {
			t.Fatalf("ended as %+v", p.Outcome)
		}
		// New passwords, with crashes in between.
		w.d.System.AgentPassword, w.d.System.LinkPassword = "agent-secret-2", "link-secret-2"
		for name := range w.login {
			w.server(name).PasswordRight = false
		}
		w.settle(t, crashes(t))
		for name := range w.login {
			if w.login[name] != "agent-secret-2" || w.link[name] != "link-secret-2" {
				t.Fatalf("%s keeps an old password", name)
			}
		}
	})
}

func TestDistributorPlan(t *testing.T) {
	somebody := []byte{1, 2, 3}
	for name, c := range map[string]struct {
		change func(*world)
		reason string
		words  string
		ready  metav1.ConditionStatus
	}{
		"does not answer": {func(w *world) {
			w.o.Servers[distributor] = replication.Server{Err: &mssql.Error{Class: mssql.Unknown}}
		}, v1alpha1.ReasonEngineNotAnswering, "", metav1.ConditionUnknown},
		"no rights yet": {func(w *world) { w.server(distributor).Sysadmin = false },
			v1alpha1.ReasonWaitingForServer, "sysadmin", metav1.ConditionFalse},
		"a server that can only subscribe": {func(w *world) { w.d.SubscribeOnly = []v1alpha1.ServerName{distributor} },
			v1alpha1.ReasonEditionSubscribesOnly, "raise spec.edition", metav1.ConditionFalse},
		"somebody's distributor": {func(w *world) { w.has("dist-0") }, v1alpha1.ReasonDistributorConflict,
			"geosql.dev/adopt", metav1.ConditionFalse},
		"distributes elsewhere": {func(w *world) { w.has("other-0") }, v1alpha1.ReasonDistributorConflict, "other-0",
			metav1.ConditionFalse},
		"login of somebody else's": {func(w *world) { w.server(distributor).LoginSID = somebody },
			v1alpha1.ReasonLoginConflict, "another SID", metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			c.change(w)
			p := plan(w.d, w.o)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason))
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.words))
			g.Expect(p.Steps).To(BeEmpty())
		})
	}
}

func TestAdoptedDistributor(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.has("DIST-0")
	w.link[distributor] = "link-secret"
	w.d.Distributor.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	g.Expect(w.settle(t, all).Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
}

func TestDriftOfADistributor(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	at := w.server(distributor)
	at.Distribution[0].Retention, at.Publishers[0].WorkingDirectory, w.o.Owner.IsOwner = 1, "/tmp", false
	g.Expect(w.settle(t, all).Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
	g.Expect(at.Distribution[0].Retention).To(Equal(72))
	g.Expect(at.Publishers[0].WorkingDirectory).To(Equal("//dist-0/ReplData"))
	g.Expect(w.o.Owner.IsOwner).To(BeTrue())
}

// A publisher that does not answer holds up no other, and is not taken for well.
func TestDistributorWithASilentPublisher(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.o.Servers[secondary] = replication.Server{Err: &mssql.Error{Class: mssql.Unknown}}
	p := w.settle(t, all)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionUnknown))
	g.Expect(configured(w.d, w.o)).To(Equal([]string{"tukpub-0"}))
}

// Agents log in to a publisher with a SQL login that is kept right, unless the link is one of Windows authentication.
func TestThePublishersLogin(t *testing.T) {
	for mode, steps := range map[int]int{0: 2, 1: 0} {
		w := newWorld(declared())
		w.settle(t, all)
		at := w.server(distributor)
		at.Publishers[0].SecurityMode, at.Publishers[0].Login = mode, "somebody"
		p := plan(w.d, w.o)
		NewWithT(t).Expect(p.Steps).To(HaveLen(steps), "%v", p.Steps)
	}
}

func TestNoSecretInAPlan(t *testing.T) {
	w := newWorld(declared())
	for range 50 {
		p := plan(w.d, w.o)
		for _, s := range p.Steps {
			NewWithT(t).Expect(s.Describe()).NotTo(ContainSubstring("secret"))
			w.do(t, s)
		}
	}
}
