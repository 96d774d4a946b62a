// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	testengine "geosql.dev/operator/test/support/engine"
	"geosql.dev/operator/test/support/ports"
)

// leaseServer is as much of an API server as a voter needs: one Lease that is read and replaced by its resourceVersion.
type leaseServer struct {
	*httptest.Server
	mu      sync.Mutex
	lease   coordinationv1.Lease
	closing chan struct{}
	// mute are the tokens whose requests get no answer.
	mute map[string]bool
}

// cut lets requests with a token have no answer, or have one again.
func (v *leaseServer) cut(token string, on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mute == nil {
		v.mute = map[string]bool{}
	}
	v.mute[token] = on
}

func newLeaseServer(t *testing.T) *leaseServer {
	v := &leaseServer{
		lease:   *votes.NewLease("web", "content", "tukpub-0", votes.Configuration{}),
		closing: make(chan struct{}),
	}
	v.lease.UID, v.lease.ResourceVersion = "1", "1"
	v.Server = httptest.NewTLSServer(http.HandlerFunc(v.serve))
	t.Cleanup(func() { close(v.closing); v.Close() })
	return v
}

func (v *leaseServer) serve(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	mute := v.mute[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	v.mu.Unlock()
	if mute {
		// A server sees that its client has gone only once the body is read.
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-v.closing:
		}
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	code := http.StatusOK
	var answer any = &v.lease
	if r.Method == http.MethodPut {
		var next coordinationv1.Lease
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, &next)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if next.ResourceVersion != v.lease.ResourceVersion {
			code, answer = http.StatusConflict, &metav1.Status{
				Status: metav1.StatusFailure,
				Code:   http.StatusConflict,
				Reason: metav1.StatusReasonConflict,
			}
		} else {
			v.replace(next)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// replace gives the Lease its next version; v.mu is held.
func (v *leaseServer) replace(next coordinationv1.Lease) {
	version, _ := strconv.Atoi(v.lease.ResourceVersion)
	next.ResourceVersion = strconv.Itoa(version + 1)
	v.lease = next
}

func (v *leaseServer) get() coordinationv1.Lease {
	v.mu.Lock()
	defer v.mu.Unlock()
	return *v.lease.DeepCopy()
}

func (v *leaseServer) record() votes.Record {
	lease := v.get()
	r, _ := votes.DecodeLease(&lease)
	return r
}

// member is one server: an engine with its sidecar.
type member struct {
	name   string
	engine *testengine.Engine
	db     *mssql.DB
	sa     *sql.DB
	port   int
	// agent and elections are where the sidecar answers everybody, and other sidecars.
	agent, elections string
	state            string
	told             retold
	part             *holder.Holder
	stop             func()
}

// Run and Kill make the engine's process what holder.Process wants.
func (m *member) Run() (string, error) {
	if pid := m.engine.PID(); pid != 0 {
		return fmt.Sprint("pid", pid), nil
	}
	return "", nil
}

func (m *member) Kill() error { m.engine.End(); return nil }

// ordered tells one set of orders, once.
type ordered map[string][]byte

func (o ordered) Watch(ctx context.Context, update func(map[string][]byte)) error {
	update(o)
	<-ctx.Done()
	return ctx.Err()
}

// retold tells orders, and others later.
type retold chan map[string][]byte

func (o retold) Watch(ctx context.Context, update func(map[string][]byte)) error {
	for {
		select {
		case data := <-o:
			update(data)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// trio is three servers, three voters and a group over them.
type trio struct {
	t       *testing.T
	g       *WithT
	voters  []*leaseServer
	members []*member
	// second is the mode of the second server's replica; the others are synchronous.
	second tsql.AvailabilityMode
	// answers are those of all engines, and atFailover is the role of the other replicas at FAILOVER.
	answers    []string
	atFailover ballot.Role
	// apart is a server whose agent and those of the others do not reach each other, empty for none; void is where they
	// come to instead: it takes connections and says nothing.
	apart, void string

	mu    sync.Mutex
	acked []int
	last  time.Time
}

func newTrio(t *testing.T, second tsql.AvailabilityMode, change ...func(*trio)) *trio {
	c := &trio{t: t, g: NewWithT(t), second: second}
	for _, do := range change {
		do(c)
	}
	authority, err := credentials.NewAuthority(time.Now())
	c.g.Expect(err).NotTo(HaveOccurred())
	agreement, err := credentials.Agree(nil, nil, false)
	c.g.Expect(err).NotTo(HaveOccurred())
	for _, server := range []v1alpha1.ServerName{"tukpub", "quisec", "dubsec"} {
		c.voters = append(c.voters, newLeaseServer(t))
		certificate, err := authority.Issue(credentials.CertificateNames("web", server, nil), time.Now())
		c.g.Expect(err).NotTo(HaveOccurred())
		engine := testengine.StartWith(t, "web", server, agreement.Passwords, certificate, authority,
			testengine.Answers(c.answers...))
		m := &member{name: credentials.HostName(server), state: t.TempDir(), engine: engine}
		m.port, m.agent, m.elections = ports.Free(t), ports.Address(t), ports.Address(t)
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		c.prepare(m)
	}
	c.trust()
	for _, m := range c.members {
		c.startAgent(m)
	}
	c.group()
	return c
}

func (c *trio) exec(m *member, text string) {
	c.t.Helper()
	_, err := m.sa.ExecContext(c.t.Context(), text)
	c.g.Expect(err).NotTo(HaveOccurred(), m.name+": "+text)
}

// prepare makes the agent's login as the operator does, and the endpoint.
func (c *trio) prepare(m *member) {
	db, err := m.engine.Connector(c.t).Open(c.t.Context(), m.engine.Target(credentials.RoleSA))
	c.g.Expect(err).NotTo(HaveOccurred())
	m.db, m.sa = db, db.Handle()
	role := credentials.RoleAgent
	c.g.Expect(db.Exec(c.t.Context(),
		tsql.CreateLogin(tsql.Login{Name: role.Login(), SID: credentials.SID("web", role.Login()),
			Password: m.engine.Access.Passwords.Of(role)}))).
		To(Succeed())
	for _, p := range []tsql.ServerPermission{tsql.ViewServerState, tsql.ViewServerPerformanceState,
		tsql.ViewAnyDefinition, tsql.AlterAnyAvailabilityGroup, tsql.AlterAnyDatabase, tsql.AlterAnyConnection,
		tsql.AlterAnyEndpoint} {
		c.g.Expect(db.Exec(c.t.Context(), tsql.GrantServerPermission(p, role.Login()))).To(Succeed())
	}
	c.exec(m, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password'")
	c.exec(m, fmt.Sprintf("CREATE CERTIFICATE [%s] WITH SUBJECT = N'%s', EXPIRY_DATE = N'2099-12-31'", m.name, m.name))
	c.exec(m, fmt.Sprintf("CREATE ENDPOINT [Hadr] STATE = STARTED AS TCP (LISTENER_PORT = %d, LISTENER_IP = (127.0.0.1)) "+
		"FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE [%s], ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = ALL)", m.port,
		m.name))
}

// trust exchanges the endpoints' certificates.
func (c *trio) trust() {
	for _, m := range c.members {
		for _, p := range c.members {
			if p == m {
				continue
			}
			var der []byte
			c.g.Expect(p.sa.QueryRowContext(c.t.Context(), fmt.Sprintf("SELECT CERTENCODED(CERT_ID('%s'))", p.name)).Scan(&der)).
				To(Succeed())
			c.exec(
				m,
				fmt.Sprintf(
					"CREATE LOGIN [%[1]s_login] WITH PASSWORD = N'P4rtner-Password'; CREATE USER [%[1]s_user] FOR LOGIN [%[1]s_login]",
					p.name,
				),
			)
			c.exec(m, fmt.Sprintf("CREATE CERTIFICATE [%[1]s] AUTHORIZATION [%[1]s_user] FROM BINARY = 0x%x", p.name, der))
			c.exec(m, fmt.Sprintf("GRANT CONNECT ON ENDPOINT::[Hadr] TO [%s_login]", p.name))
		}
	}
}

func (c *trio) startAgent(m *member) {
	password := filepath.Join(m.state, "agent-password")
	c.g.Expect(os.WriteFile(password, []byte(m.engine.Access.Passwords.Of(credentials.RoleAgent)), 0o600)).To(Succeed())
	options := agent.DefaultOptions()
	options.ServerName, options.Namespace, options.Listen, options.Engine = m.name, "web", m.agent, m.engine.Address
	options.Elections = m.elections
	options.TLSDir, options.PasswordFile, options.StateDir = m.engine.TLSDir, password, m.state
	log := slog.New(slog.NewTextHandler(c.t.Output(), nil)).With("server", m.name)
	a, err := agent.New(options, log)
	c.g.Expect(err).NotTo(HaveOccurred())
	m.told = make(retold, 1)
	c.tell(m, orders.Group{Voters: c.reached(m, c.voters...)})
	part, err := holder.New(holder.Options{
		Target: mssql.Target{Namespace: "web", Server: m.engine.Server, Role: credentials.RoleAgent}, PodUID: m.name + "-pod",
		Connector: a.NewConnector("election"), Process: m, Source: m.told, StateDir: m.state,
		TLSDir: m.engine.TLSDir, Log: log,
		PeerAddresses: func(server string) []string { return c.addresses(m.name, server) },
	})
	c.g.Expect(err).NotTo(HaveOccurred())
	m.part = part
	a.HandlePeers(holder.Pattern, part)
	a.Add(part)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := a.Run(ctx)
		if ctx.Err() == nil {
			c.t.Errorf("the sidecar of %s has ended by itself: %v", m.name, err)
		}
		done <- err
	}()
	var once sync.Once
	m.stop = func() {
		once.Do(func() {
			m.engine.End()
			cancel()
			c.g.Eventually(done, busy).Should(Receive())
		})
	}
	c.t.Cleanup(m.stop)
}

// tell gives a server's sidecar its orders.
func (c *trio) tell(m *member, group orders.Group) {
	group.Name, group.Namespace, group.Automatic = "content", "web", true
	group.RoleAtFailover = c.atFailover
	data, err := group.Encode()
	c.g.Expect(err).NotTo(HaveOccurred())
	m.told <- map[string][]byte{orders.Key("content"): data}
}

// reached is how a server's sidecar reaches voters; those that are not the trio's are further sites.
func (c *trio) reached(m *member, servers ...*leaseServer) (voters []orders.Voter) {
	for _, v := range servers {
		site := slices.Index(c.voters, v)
		if site < 0 {
			site = len(c.voters)
		}
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw})
		voters = append(voters, orders.Voter{Site: fmt.Sprint("site", site), Server: v.URL, CA: ca, Token: m.name,
			Issued: time.Now(), Expires: time.Now().Add(time.Hour)})
	}
	return voters
}

// addresses are where a server's sidecar answers another one.
func (c *trio) addresses(from, server string) []string {
	c.mu.Lock()
	apart, void := c.apart, c.void
	c.mu.Unlock()
	if apart != "" && (apart == from || apart == server) {
		return []string{void}
	}
	for _, m := range c.members {
		if m.name == server {
			return []string{m.elections, m.agent}
		}
	}
	return []string{""}
}

// group makes the group once the initial primary has the first term, as the manager does.
func (c *trio) group() {
	for _, v := range c.voters {
		c.g.Eventually(func() string { return v.record().Holder.Server }, busy).Should(Equal("tukpub-0"))
	}
	first := c.members[0]
	c.exec(first, "CREATE DATABASE [Content]")
	c.exec(first, "ALTER DATABASE [Content] SET RECOVERY FULL")
	c.exec(first, "CREATE TABLE [Content].dbo.t (id int NOT NULL PRIMARY KEY)")
	c.exec(first, "BACKUP DATABASE [Content] TO DISK = N'content.bak'")
	spec := tsql.Group{
		Name:                            "content",
		ClusterType:                     tsql.ClusterExternal,
		WriteLease:                      6 * time.Second,
		RequiredSynchronizedSecondaries: c.copies() - 2,
		Databases:                       []string{"Content"},
	}
	for i, m := range c.members {
		mode := tsql.SynchronousCommit
		if i == 1 {
			mode = c.second
		}
		spec.Replicas = append(
			spec.Replicas,
			tsql.Replica{Server: m.name, EndpointURL: fmt.Sprintf("TCP://127.0.0.1:%d", m.port),
				Mode: mode, Readable: true, SessionTimeout: 5 * time.Second},
		)
	}
	c.g.Expect(first.db.Exec(c.t.Context(), tsql.CreateGroup(spec))).To(Succeed())
	for _, m := range c.members[1:] {
		c.g.Expect(m.db.Exec(c.t.Context(), tsql.JoinGroup("content", tsql.ClusterExternal))).To(Succeed())
		if m != c.members[1] || c.second != tsql.ConfigurationOnly {
			c.g.Expect(m.db.Exec(c.t.Context(), tsql.GrantCreateAnyDatabase("content"))).To(Succeed())
		}
	}
	c.synchronized(0)
}

// copies is how many of the servers have the database.
func (c *trio) copies() int {
	if c.second == tsql.ConfigurationOnly {
		return 2
	}
	return 3
}

// busy is how long a loaded machine may take.
const busy = 90 * time.Second

// synchronized waits until a server is the primary of record and sees all copies synchronized.
func (c *trio) synchronized(primary int) {
	c.t.Helper()
	m := c.members[primary]
	c.g.Eventually(func() (int, error) {
		if r := c.voters[0].record(); r.State != votes.StateHeld || r.Holder.Server != m.name {
			return 0, fmt.Errorf("the votes say %s %s", r.State, r.Holder.Server)
		}
		var n int
		err := m.sa.QueryRowContext(c.t.Context(),
			"SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state_desc = N'SYNCHRONIZED'").
			Scan(&n)
		return n, err
	}, busy, 50*time.Millisecond).Should(Equal(c.copies()), "copies synchronized behind "+m.name)
}

// write inserts numbers at whichever server takes them, until ctx ends.
func (c *trio) write(ctx context.Context) {
	pools := make([]*sql.DB, len(c.members))
	for i, m := range c.members {
		target := m.engine.Target(credentials.RoleSA)
		target.Database = "Content"
		db, err := m.engine.Connector(c.t).Open(ctx, target)
		c.g.Expect(err).NotTo(HaveOccurred())
		pools[i] = db.Handle()
	}
	at := 0
	for id := 1; ctx.Err() == nil; id++ {
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		_, err := pools[at].ExecContext(bounded, "INSERT INTO dbo.t (id) VALUES (@p1)", id)
		cancel()
		c.mu.Lock()
		if err == nil {
			c.acked, c.last = append(c.acked, id), time.Now()
		} else {
			at = (at + 1) % len(pools)
		}
		c.mu.Unlock()
	}
}

// writing begins to write and returns once writes are acknowledged; stop returns once none is under way any more.
func (c *trio) writing() (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var all sync.WaitGroup
	all.Go(func() { c.write(ctx) })
	stop = func() { cancel(); all.Wait() }
	c.t.Cleanup(stop)
	c.g.Eventually(c.count, busy).Should(BeNumerically(">", 20))
	return stop
}

func (c *trio) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acked)
}

// gap does something and returns how long no write was acknowledged because of it.
func (c *trio) gap(do func(), until func()) time.Duration {
	do()
	c.mu.Lock()
	before, n := c.last, len(c.acked)
	c.mu.Unlock()
	until()
	c.g.Eventually(c.count, busy, time.Millisecond).Should(BeNumerically(">", n+3))
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Sub(before)
}

func (c *trio) ask(r votes.Request) {
	v := c.voters[rand.IntN(len(c.voters))]
	v.mu.Lock()
	defer v.mu.Unlock()
	next := *v.lease.DeepCopy()
	r.Issued = time.Now()
	r.Annotate(next.Annotations)
	v.replace(next)
}

// switchOver asks for a primary until it is there. A claim that was handed over goes back to a replica that turns out
// to have more, and the request has failed then: a person asks again. It returns the ID of the last request.
func (c *trio) switchOver(id string, to int) (last string) {
	c.t.Helper()
	m, asked := c.members[to], time.Time{}
	c.g.Eventually(func() bool {
		r := c.voters[0].record()
		if r.State == votes.StateHeld && r.Holder.Server == m.name {
			return true
		}
		if r.State == votes.StateHeld && time.Since(asked) > 10*time.Second {
			asked = time.Now()
			last = fmt.Sprintf("%s-%d", id, asked.UnixNano())
			c.ask(votes.Request{ID: last, Kind: votes.RequestSwitchover, To: m.name})
		}
		return false
	}, busy, 20*time.Millisecond).Should(BeTrue(), "switched over to "+m.name)
	return last
}

// primaryOtherThan waits until another server than the given one holds the votes and returns its number.
func (c *trio) primaryOtherThan(server string) int {
	found := -1
	c.g.Eventually(func() int {
		r := c.voters[0].record()
		found = slices.IndexFunc(c.members, func(m *member) bool { return m.name == r.Holder.Server })
		if r.State != votes.StateHeld || r.Holder.Server == server {
			found = -1
		}
		return found
	}, busy, 10*time.Millisecond).ShouldNot(Equal(-1), "another primary than "+server)
	return found
}

// Three engines with their sidecars elect by themselves: the engine of the primary is killed and another takes its
// place, the old one rejoins, and a switchover brings the primary back. No acknowledged write is lost.
func TestGroupFailsOverAndBack(t *testing.T) {
	c := newTrio(t, tsql.SynchronousCommit)
	stop := c.writing()
	for round := range 2 {
		next := -1
		took := c.gap(func() { c.members[0].engine.Kill(t) }, func() { next = c.primaryOtherThan("tukpub-0") })
		t.Logf("round %d: no acknowledgement for %s after the engine was killed", round, took)
		c.members[0].engine.Launch(t)
		c.synchronized(next)
		id := fmt.Sprint("back", round)
		took = c.gap(func() {}, func() {
			id = c.switchOver(id, 0)
			c.synchronized(0)
		})
		t.Logf("round %d: switched back within %s", round, took)
		// The new primary waits for a majority of the voters alone: this one may come to know a renewal later.
		c.g.Eventually(func() (votes.Answer, error) {
			answer, _, err := votes.ParseAnswer(c.voters[0].get().Annotations)
			return answer, err
		}, busy, 100*time.Millisecond).Should(And(HaveField("ID", id), HaveField("Outcome", votes.OutcomeDone)))
	}
	stop()
	c.check()
	lease := c.voters[0].get()
	lines, err := votes.ParseTimelines(lease.Annotations)
	c.g.Expect(err).NotTo(HaveOccurred())
	causes := map[votes.Cause]int{}
	for _, l := range lines {
		causes[l.Cause]++
	}
	c.g.Expect(slices.Collect(maps.Keys(causes))).To(ContainElements(votes.CauseAutomatic, votes.CauseSwitchover))
}

// check compares what was acknowledged with the rows of every copy.
func (c *trio) check() {
	for _, m := range c.members {
		c.g.Eventually(func() ([]int, error) {
			rows, err := m.sa.QueryContext(c.t.Context(), "SELECT id FROM [Content].dbo.t")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			have := map[int]bool{}
			for rows.Next() {
				var id int
				if err := rows.Scan(&id); err != nil {
					return nil, err
				}
				have[id] = true
			}
			var lost []int
			for _, id := range c.acked {
				if !have[id] {
					lost = append(lost, id)
				}
			}
			return lost, rows.Err()
		}, busy, 100*time.Millisecond).Should(BeEmpty(), "acknowledged and lost on "+m.name)
	}
	c.t.Logf("%d writes acknowledged, none lost", len(c.acked))
}
