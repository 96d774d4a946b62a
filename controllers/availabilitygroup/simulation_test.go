// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// environ is the world around a group, in memory: engines that take the statements that plans send, refuse what SQL
// Server refuses, and do by themselves what it does by itself; voters; and agents that do what they are ordered.
type environ struct {
	t   testing.TB
	d   Desired
	now time.Time
	// up is for how long the manager's process runs, which differs from now when its clock is set.
	up       time.Duration
	absences lasting
	unseeded lasting
	servers  map[v1alpha1.ServerName]*engine
	leases   map[v1alpha1.SiteName]*votes.Record
	orders   map[v1alpha1.ServerName]*orders.Group
	// cut sites and silent servers do not answer.
	cut    map[v1alpha1.SiteName]bool
	silent map[v1alpha1.ServerName]bool
	// deaf are the servers whose agents still go by these orders, nil for none.
	deaf map[v1alpha1.ServerName]*orders.Group
	// unaware agents are of a release that does not change voters.
	unaware bool
	// configurations of voters that were made.
	configurations []votes.Configuration
	// firstPod is the UID of the first primary's pod.
	firstPod string
	// notReady is what the hub thinks of servers.
	notReady map[v1alpha1.ServerName]string
	// group as its configuration says; nil when there is none.
	group *configuration
	// done are the descriptions of the steps that were done, history of every commit rule with the number of replicas.
	done    []string
	history []rule
}

type rule struct{ required, synchronous int }

type configuration struct {
	id        string
	required  int
	replicas  map[string]*mssql.GroupReplica
	databases []string
	listeners []mssql.GroupListener
	primary   v1alpha1.ServerName
}

type engine struct {
	mirroring mssql.Mirroring
	logins    map[string]mssql.Login
	joined    bool
	granted   bool
	// lag is for how many rounds each database is still behind.
	lag map[string]int
	// flag is trace flag 1448.
	flag bool
}

var begin = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// declared is a group over three sites: two synchronous replicas and a configuration-only one.
func declared() *v1alpha1.AvailabilityGroup {
	return &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{
				{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
			},
			InitialPrimary: "tukpub",
			Databases:      []v1alpha1.DatabaseName{"Content"},
			Voters:         []v1alpha1.SiteName{"tukwila", "quincy", "dublin"},
		},
	}
}

var homes = map[v1alpha1.ServerName]v1alpha1.SiteName{
	"tukpub":   "tukwila",
	"quisec":   "quincy",
	"dubcfg":   "dublin",
	"dubthird": "dublin",
}

func newEnviron(t testing.TB, group *v1alpha1.AvailabilityGroup) *environ {
	e := &environ{
		t:       t,
		now:     begin,
		servers: map[v1alpha1.ServerName]*engine{},
		leases:  map[v1alpha1.SiteName]*votes.Record{},
		orders:  map[v1alpha1.ServerName]*orders.Group{},
		cut:     map[v1alpha1.SiteName]bool{},
		silent:  map[v1alpha1.ServerName]bool{},
	}
	e.d = Desired{Group: group, Sites: homes, Timings: ballot.DefaultTimings()}
	for name := range homes {
		e.servers[name] = &engine{logins: map[string]mssql.Login{}, lag: map[string]int{}, mirroring: mssql.Mirroring{
			Certificates: map[string]mssql.Certificate{}, Users: map[string]string{}, Connectors: map[string]bool{},
			Databases: map[string]mssql.Database{}}}
	}
	return e
}

var errSilent = errors.New("no answer")

// observe is what the controller would read.
func (e *environ) observe() Observed {
	o := Observed{
		Now:        e.now,
		Instances:  map[v1alpha1.ServerName]Instance{},
		Agents:     map[v1alpha1.ServerName]Orders{},
		ListenerIP: "10.96.7.7",
		NotReady:   e.notReady,
		FirstPod:   e.firstPod,
	}
	for _, name := range append(e.d.servers(), e.d.former()...) {
		s, ok := e.servers[name]
		if !ok {
			o.Missing = append(o.Missing, name)
			continue
		}
		if e.silent[name] || e.cut[e.d.Sites[name]] {
			o.Instances[name] = Instance{Err: errSilent}
		} else {
			i := Instance{Mirroring: s.mirroring, Logins: s.logins, Group: e.view(name, s)}
			if e.d.Group.Spec.OnDeadReplica == v1alpha1.DeadReplicaDemoteToAsync && i.Group != nil && i.Group.Role == "PRIMARY" {
				on := s.flag
				i.IgnoresAsynchronous = &on
			}
			o.Instances[name] = i
		}
		told := e.orders[name]
		o.Agents[name] = e.agent(name, told)
		if e.cut[e.d.Sites[name]] {
			o.Agents[name] = Orders{Err: errSilent}
		}
	}
	e.observeVotes(&o)
	key := types.NamespacedName{Namespace: "web", Name: e.d.name()}
	o.AwayFor, o.UnseededFor = e.absences.note(key, o.away(e.d), begin.Add(e.up)),
		e.unseeded.note(key, o.awaitSeeding(e.d), begin.Add(e.up))
	return o
}

// view is the group as one instance knows it.
func (e *environ) view(name v1alpha1.ServerName, s *engine) *mssql.Group {
	if !s.joined {
		return nil
	}
	g := &mssql.Group{Role: "RESOLVING", ClusterType: "EXTERNAL"}
	if e.group == nil {
		return g
	}
	c := e.group
	g.ID, g.RequiredSynchronizedSecondaries, g.Databases, g.Listeners = c.id, c.required, slices.Clone(c.databases),
		slices.Clone(c.listeners)
	switch {
	case c.primary == name:
		g.Role = "PRIMARY"
	case c.replicas[host(name)] != nil && c.primary != "":
		g.Role = "SECONDARY"
	}
	for server, r := range c.replicas {
		row := *r
		row.Connected, row.Health, row.Role = "CONNECTED", "HEALTHY", "SECONDARY"
		if serverOf(server) == c.primary {
			row.Role = "PRIMARY"
		}
		if other := e.servers[serverOf(server)]; !other.joined || e.silent[serverOf(server)] ||
			e.cut[homes[serverOf(server)]] {
			row.Connected, row.Health = "DISCONNECTED", "NOT_HEALTHY"
		}
		g.Replicas = append(g.Replicas, row)
		for _, database := range c.databases {
			d, there := e.servers[serverOf(server)].mirroring.Databases[database]
			if !there || !d.InGroup || r.Mode == "CONFIGURATION_ONLY" || g.Role != "PRIMARY" && server != host(name) {
				continue
			}
			state := "SYNCHRONIZED"
			if r.Mode == "ASYNCHRONOUS_COMMIT" && serverOf(server) != c.primary {
				state = "SYNCHRONIZING"
			}
			if e.servers[serverOf(server)].lag[database] > 0 {
				state = "SYNCHRONIZING"
			}
			if row.Connected != "CONNECTED" {
				state = "NOT SYNCHRONIZING"
			}
			g.States = append(
				g.States,
				mssql.GroupDatabaseState{Server: server, Database: database, Local: server == host(name), State: state,
					FailoverReady: state == "SYNCHRONIZED"},
			)
		}
	}
	return g
}

// catchesUp is for how many rounds a replica that was seeded lags.
const catchesUp = 3

// work is what engines and agents do by themselves.
func (e *environ) work() {
	first := e.d.Group.Spec.InitialPrimary
	voted := 0
	for _, r := range e.leases {
		if r.Holder.Server == "" && e.orders[first] != nil && e.d.fenced() {
			*r = votes.Record{
				Term:           1,
				State:          votes.StateClaimed,
				Holder:         votes.Holder{Server: host(first), PodUID: e.firstPod},
				InitialPrimary: host(first),
				Voters:         r.Voters,
			}
		}
		if r.Holder.Server == host(first) {
			voted++
		}
	}
	c := e.group
	if c == nil || c.primary == "" {
		return
	}
	for _, r := range e.leases {
		if r.State == votes.StateClaimed && serverOf(r.Holder.Server) == c.primary {
			r.State = votes.StateHeld
		}
	}
	for server, r := range c.replicas {
		s := e.servers[serverOf(server)]
		if serverOf(server) == c.primary || !s.joined || !s.granted || r.Mode == "CONFIGURATION_ONLY" {
			continue
		}
		for _, database := range c.databases {
			if s.lag[database] > 0 && !e.silent[serverOf(server)] {
				s.lag[database]--
			}
			if _, exists := s.mirroring.Databases[database]; !exists {
				s.lag[database] = catchesUp
				s.mirroring.Databases[database] = mssql.Database{
					Name:          database,
					State:         "ONLINE",
					RecoveryModel: "FULL",
					InGroup:       true,
					LogChain:      true,
					Owner:         "geosql_operator",
				}
			}
		}
	}
	e.changeVoters()
	// The controller's status follows.
	e.d.Group.Status = describe(e.d.Group.Status, e.d, e.observe())
}

// do carries out a step as clusters and engines would.
func (e *environ) do(step reconcile.Step) error {
	e.done = append(e.done, step.Describe())
	switch s := step.(type) {
	case CreateMasterKey:
		e.servers[s.Server].mirroring.MasterKey = true
	case CreatePartnerLogin:
		e.servers[s.Server].logins[s.Login] = mssql.Login{SID: credentials.SID("web", s.Login)}
	case CreateLease:
		if e.leases[s.Site] == nil {
			record := vote(e.t, s.InitialPrimary, s.Configuration)
			e.leases[s.Site] = &record
		}
	case RemoveVotes:
		delete(e.leases, s.Site)
	case GiveOrders:
		told := e.observe().Orders
		for _, list := range [][]orders.Voter{told.Voters, told.Joining} {
			for i, v := range list {
				old := e.orders[s.Server]
				switch had := old != nil && reaches(*old, []string{v.Site}); {
				case !e.cut[v1alpha1.SiteName(v.Site)] || had:
					list[i].Token = "token"
				case !s.New && (old == nil || !slices.ContainsFunc(old.Reached(),
					func(o orders.Voter) bool { return o.Site == v.Site })):
					return errSilent
				}
			}
		}
		e.orders[s.Server] = &told
	case TakeOrders, MarkEnding:
		e.order(s)
	case mssql.Execute:
		if e.silent[s.Server] || e.cut[e.d.Sites[s.Server]] {
			return errSilent
		}
		return e.execute(s)
	default:
		e.t.Fatalf("step %T is not known", step)
	}
	return nil
}

var (
	name   = regexp.MustCompile(`\[([^\]]+)\]`)
	quoted = regexp.MustCompile(`N'([^']*)'`)
)

// execute understands the statements by their text, as an engine does.
func (e *environ) execute(s mssql.Execute) error {
	t, text, engine := e.t, s.Statement.Text, e.servers[s.Server]
	var names, strs []string
	for _, m := range name.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		strs = append(strs, m[1])
	}
	if strings.Contains(text, "AVAILABILITY GROUP [") {
		return e.executeGroup(s, engine, names, strs)
	}
	m := &engine.mirroring
	switch {
	case strings.HasPrefix(text, "DBCC TRACE"):
		if s.Role != credentials.RoleSA {
			return errors.New("2571: no permission to run DBCC TRACEON")
		}
		engine.flag = strings.HasPrefix(text, "DBCC TRACEON (1448")
	case strings.Contains(text, "FROM BINARY"):
		if m.Users[names[1]] == "" {
			return fmt.Errorf("15151: no user %s", names[1])
		}
		m.Certificates[names[0]] = mssql.Certificate{
			Name:    names[0],
			Login:   names[1],
			DER:     []byte(names[0]),
			Expires: e.now.Add(certificateLife),
		}
	case strings.Contains(text, "CREATE CERTIFICATE"):
		if !m.MasterKey {
			return errors.New("15581: no master key")
		}
		m.Certificates[names[0]] = mssql.Certificate{
			Name:    names[0],
			Expires: e.now.Add(certificateLife),
			DER:     []byte(names[0]),
		}
	case strings.Contains(text, "DROP CERTIFICATE"):
		delete(m.Certificates, names[0])
	case strings.Contains(text, "CREATE ENDPOINT"):
		m.Endpoint = &mssql.Endpoint{Name: names[0], State: "STARTED", Port: MirroringPort, Certificate: names[1]}
	case strings.Contains(text, "ALTER ENDPOINT") && strings.Contains(text, "CERTIFICATE"):
		m.Endpoint.Certificate = names[1]
	case strings.Contains(text, "ALTER ENDPOINT"):
		m.Endpoint.State = "STARTED"
	case strings.Contains(text, "CREATE USER"):
		m.Users[names[0]] = names[1]
	case strings.Contains(text, "GRANT CONNECT ON ENDPOINT"):
		m.Connectors[names[1]] = true
	case strings.Contains(text, "CREATE DATABASE"):
		if _, exists := m.Databases[names[0]]; !exists {
			m.Databases[names[0]] = mssql.Database{
				Name:          names[0],
				State:         "ONLINE",
				RecoveryModel: "SIMPLE",
				Owner:         s.Role.Login(),
			}
		}
	case strings.Contains(text, "SET RECOVERY FULL"):
		d := m.Databases[names[0]]
		d.RecoveryModel = "FULL"
		m.Databases[names[0]] = d
	case strings.HasPrefix(text, "BACKUP DATABASE"):
		d := m.Databases[names[0]]
		if d.Owner != s.Role.Login() && s.Role != credentials.RoleSA {
			return errors.New("262: BACKUP DATABASE permission denied")
		}
		d.LogChain = d.RecoveryModel == "FULL"
		m.Databases[names[0]] = d
	default:
		t.Fatalf("statement %q is not known", text)
	}
	return nil
}

// executeGroup is execute for AVAILABILITY GROUP statements.
func (e *environ) executeGroup(s mssql.Execute, engine *engine, names, strs []string) error {
	text := s.Statement.Text
	switch {
	case strings.HasPrefix(text, "CREATE"):
		return e.create(s, engine, names, strs)
	case strings.HasPrefix(text, "DROP"):
		engine.joined, engine.granted = false, false
		if e.group != nil && e.group.primary == s.Server {
			e.group = nil
		}
		return nil
	case strings.Contains(text, " JOIN "):
		if engine.mirroring.Endpoint == nil {
			return errors.New("35250: the connection to the primary is not active")
		}
		engine.joined = true
		return nil
	case strings.Contains(text, "GRANT CREATE ANY DATABASE"):
		if !engine.joined {
			return errors.New("15151: no such group")
		}
		engine.granted = true
		return nil
	}
	c := e.group
	if c == nil || c.primary != s.Server {
		return errors.New("41140: not the primary")
	}
	switch {
	case strings.Contains(text, "ADD REPLICA"):
		c.replicas[strs[0]] = parseReplica(text, strs[0])
	case strings.Contains(text, "REMOVE REPLICA"):
		delete(c.replicas, strs[0])
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "AVAILABILITY_MODE"):
		mode := parseReplica(text, strs[0]).Mode
		if (mode == "CONFIGURATION_ONLY") != (c.replicas[strs[0]].Mode == "CONFIGURATION_ONLY") {
			return errors.New("47112: a configuration-only replica is not made of one with data, nor the other way")
		}
		c.replicas[strs[0]].Mode = mode
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "ALLOW_CONNECTIONS"):
		c.replicas[strs[0]].Connections = parseReplica(text, strs[0]).Connections
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "SESSION_TIMEOUT"):
		c.replicas[strs[0]].SessionTimeout = parseReplica(text, strs[0]).SessionTimeout
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "SEEDING_MODE"):
		if c.replicas[strs[0]] == nil {
			return errors.New("41190: no such replica")
		}
	case strings.Contains(text, "ADD DATABASE"):
		d := engine.mirroring.Databases[names[1]]
		if d.RecoveryModel != "FULL" || !d.LogChain {
			return errors.New("1475: no full backup")
		}
		d.InGroup = true
		engine.mirroring.Databases[names[1]] = d
		c.databases = append(c.databases, names[1])
	case strings.Contains(text, "REMOVE DATABASE"):
		d := engine.mirroring.Databases[names[1]]
		d.InGroup = false
		engine.mirroring.Databases[names[1]] = d
		c.databases = slices.DeleteFunc(c.databases, func(n string) bool { return n == names[1] })
	case strings.Contains(text, "REQUIRED_SYNCHRONIZED"):
		n := number(text, "TO_COMMIT = ")
		for _, r := range c.replicas {
			if r.Mode == "CONFIGURATION_ONLY" && n > 0 {
				return errors.New("47108: with a configuration-only replica the number must be 0")
			}
		}
		c.required = n
	case strings.Contains(text, "ADD LISTENER"):
		c.listeners = append(c.listeners, mssql.GroupListener{Name: strs[0], IP: strs[1], Port: number(text, "PORT = ")})
	case strings.Contains(text, "MODIFY LISTENER"):
		c.listeners[0].Port = number(text, "PORT = ")
	case strings.Contains(text, "REMOVE LISTENER"):
		c.listeners = slices.DeleteFunc(c.listeners, func(l mssql.GroupListener) bool { return l.Name == strs[0] })
	default:
		e.t.Fatalf("statement %q is not known", text)
	}
	e.note()
	return nil
}

func (e *environ) note() {
	synchronous := 0
	for _, r := range e.group.replicas {
		if r.Mode == "SYNCHRONOUS_COMMIT" {
			synchronous++
		}
	}
	e.history = append(e.history, rule{e.group.required, synchronous})
}

var replicaClause = regexp.MustCompile(`N'([^']+)' WITH \(ENDPOINT_URL = N'[^']+', [^\n]*`)

func (e *environ) create(s mssql.Execute, engine *engine, names, _ []string) error {
	text := s.Statement.Text
	if e.group != nil {
		return errors.New("41042: the group exists")
	}
	if e.d.fenced() &&
		!strings.Contains(text, fmt.Sprintf("WRITE_LEASE_VALIDITY = %d", e.d.timings().WriteLease/time.Second)) {
		e.t.Fatal("a group with CLUSTER_TYPE EXTERNAL was created without its write lease")
	}
	for _, r := range e.leases {
		if e.d.fenced() && (r.Holder.Server != host(s.Server) || r.Term != 1) {
			e.t.Fatal("the group was created before its first primary held the votes")
		}
	}
	c := &configuration{
		id:       "6a8b",
		replicas: map[string]*mssql.GroupReplica{},
		primary:  s.Server,
		required: number(text, "TO_COMMIT = "),
	}
	for _, m := range replicaClause.FindAllStringSubmatch(text, -1) {
		c.replicas[m[1]] = parseReplica(m[0], m[1])
	}
	for _, database := range names[1:] {
		d := engine.mirroring.Databases[database]
		if d.RecoveryModel != "FULL" || !d.LogChain {
			return errors.New("1475: no full backup")
		}
		d.InGroup = true
		engine.mirroring.Databases[database] = d
		c.databases = append(c.databases, database)
	}
	e.group, engine.joined = c, true
	e.note()
	return nil
}

func parseReplica(text, server string) *mssql.GroupReplica {
	r := &mssql.GroupReplica{Server: server, Connections: "NO", SessionTimeout: 10 * time.Second}
	for _, mode := range []string{"ASYNCHRONOUS_COMMIT", "CONFIGURATION_ONLY", "SYNCHRONOUS_COMMIT"} {
		if strings.Contains(text, "AVAILABILITY_MODE = "+mode) {
			r.Mode = mode
		}
	}
	if strings.Contains(text, "ALLOW_CONNECTIONS = ALL") {
		r.Connections = "ALL"
	}
	if strings.Contains(text, "SESSION_TIMEOUT = ") {
		r.SessionTimeout = time.Duration(number(text, "SESSION_TIMEOUT = ")) * time.Second
	}
	return r
}

func number(text, after string) int {
	_, rest, _ := strings.Cut(text, after)
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, _ := strconv.Atoi(rest[:end])
	return n
}

// settle plans and does until nothing is left, and returns the last plan. most is how many steps of each plan are done
// before the manager ends.
func (e *environ) settle(most func() int) reconcile.Plan {
	e.t.Helper()
	for range 300 {
		o := e.observe()
		p := plan(e.d, o)
		if len(p.Steps) == 0 && p.Outcome.Reason != "" &&
			(p.Outcome.Ready == metav1.ConditionTrue || p.Outcome.Progress == "Stuck") {
			e.d.Group.Status = describe(e.d.Group.Status, e.d, o)
			return p
		}
		limit := most()
		for i, s := range p.Steps {
			if i == limit {
				break
			}
			if err := e.do(s); err != nil {
				break
			}
		}
		e.work()
		e.pass(time.Second)
	}
	p := plan(e.d, e.observe())
	e.t.Fatalf("the plan does not come to an end: %+v\nlast steps: %q", p.Outcome, e.done[max(0, len(e.done)-8):])
	return p
}

// pass lets time pass, by the wall clock and by the process's own.
func (e *environ) pass(d time.Duration) { e.now, e.up = e.now.Add(d), e.up+d }

func everything() int { return 1 << 20 }
