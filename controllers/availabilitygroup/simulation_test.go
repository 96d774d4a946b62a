// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
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
	unheard  lasting
	restarts attempts
	servers  map[v1alpha1.ServerName]*engine
	leases   map[v1alpha1.SiteName]*votes.Record
	orders   map[v1alpha1.ServerName]*orders.Group
	// cut sites and silent servers do not answer.
	cut    map[v1alpha1.SiteName]bool
	silent map[v1alpha1.ServerName]bool
	// lost is a site that a person has called lost.
	lost v1alpha1.SiteName
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
	// nextID is that of the replica that is added next.
	nextID int
}

type rule struct{ required, synchronous int }

type configuration struct {
	id        string
	required  int
	replicas  map[string]*mssql.GroupReplica
	databases []string
	listeners []mssql.GroupListener
	primary   v1alpha1.ServerName
	// ids of the replicas, anew with each ADD; in says which have joined.
	ids map[string]int
	in  map[string]bool
}

type engine struct {
	// id is the replica's as the engine joined.
	id        int
	mirroring mssql.Mirroring
	logins    map[string]mssql.Login
	joined    bool
	granted   bool
	// lag is for how many rounds each database is still behind.
	lag map[string]int
	// flag is trace flag 1448.
	flag bool
	// remembers is the group that the engine goes by instead of the primary's, until it is dropped there.
	remembers *mssql.Group
	// deaf replicas have no connection to the primary until their endpoint, or the primary's, is restarted as often.
	deaf        int
	deafPrimary bool
	// refuses are the error numbers of listeners that the engine does not take, by address/mask.
	refuses map[string]int32
	// lacks are the databases that are never seeded to it.
	lacks map[string]bool
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
			Databases:      []v1alpha1.Database{{Name: "Content"}},
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
			if e.lost == e.d.Sites[name] {
				o.Instances[name] = Instance{Err: sites.ErrSiteLost}
			}
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
	o.UnheardFor, o.Restarted = e.unheard.note(key, o.unheard(e.d), begin.Add(e.up)),
		e.restarts.note(key, o.unheard(e.d), begin.Add(e.up))
	return o
}

// view is the group as one instance knows it.
func (e *environ) view(name v1alpha1.ServerName, s *engine) *mssql.Group {
	if !s.joined {
		return nil
	}
	if s.remembers != nil {
		return s.remembers
	}
	g := &mssql.Group{Role: "RESOLVING", ClusterType: "external", ReplicaIDs: map[string]string{}}
	if e.group == nil {
		return g
	}
	c := e.group
	g.ID, g.RequiredSynchronizedSecondaries, g.Databases, g.Listeners = c.id, c.required, slices.Clone(c.databases),
		slices.Clone(c.listeners)
	switch {
	case c.primary == name:
		g.Role = "PRIMARY"
	case c.replicas[host(name)] != nil && c.primary != "" && c.ids[host(name)] == s.id && !e.silent[c.primary]:
		g.Role = "SECONDARY"
	}
	for server, r := range c.replicas {
		row := *r
		g.ReplicaIDs[server] = fmt.Sprintf("id %d of %s", c.ids[server], server)
		if server == host(name) {
			g.ReplicaIDs[server] = fmt.Sprintf("id %d of %s", s.id, server)
		}
		row.Connected, row.Health, row.Role = "CONNECTED", "HEALTHY", "SECONDARY"
		if credentials.ServerOf(server) == c.primary {
			row.Role = "PRIMARY"
		}
		if other := e.servers[credentials.ServerOf(server)]; !other.joined || other.deaf > 0 || other.id != c.ids[server] ||
			other.remembers != nil || e.silent[credentials.ServerOf(server)] ||
			e.cut[homes[credentials.ServerOf(server)]] {
			row.Connected, row.Health = "DISCONNECTED", "NOT_HEALTHY"
		}
		joined := 0
		for _, database := range c.databases {
			d, there := e.servers[credentials.ServerOf(server)].mirroring.Databases[database]
			if r.Mode == "CONFIGURATION_ONLY" || g.Role != "PRIMARY" && server != host(name) {
				continue
			}
			if !there || !d.InGroup {
				g.Unjoined = append(g.Unjoined, mssql.Copy{Server: server, Database: database})
				continue
			}
			joined++
			state := "SYNCHRONIZED"
			if r.Mode == "ASYNCHRONOUS_COMMIT" && credentials.ServerOf(server) != c.primary {
				state = "SYNCHRONIZING"
			}
			if e.servers[credentials.ServerOf(server)].lag[database] > 0 {
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
		// The engine calls a replica so that has joined no database, or fewer than the group has.
		if r.Mode != "CONFIGURATION_ONLY" && (joined == 0 || joined < len(c.databases)) {
			row.Health = "NOT_HEALTHY"
		}
		g.Replicas = append(g.Replicas, row)
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
		if e.group == nil && r.Holder.Server == "" && e.orders[first] != nil && e.d.fenced() {
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
		if r.State == votes.StateClaimed && credentials.ServerOf(r.Holder.Server) == c.primary {
			r.State = votes.StateHeld
		}
	}
	for server, r := range c.replicas {
		s := e.servers[credentials.ServerOf(server)]
		if credentials.ServerOf(server) == c.primary || !s.joined || !s.granted || r.Mode == "CONFIGURATION_ONLY" {
			continue
		}
		if e.silent[credentials.ServerOf(server)] || s.id != c.ids[server] {
			for _, database := range c.databases {
				if s.lag[database] < catchesUp {
					s.lag[database] = catchesUp
				}
			}
			continue
		}
		for _, database := range c.databases {
			if s.lag[database] > 0 && !e.silent[credentials.ServerOf(server)] {
				s.lag[database]--
			}
			if _, exists := s.mirroring.Databases[database]; !exists && !s.lacks[database] && e.opens(s, database) {
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
	case CopyKey:
		return e.copyKey(s)
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
	case databases.MakeRestore:
		e.d.Restores = append(e.d.Restores, *s.Restore)
	case RestartEndpoint:
		e.restarts.add(types.NamespacedName{Namespace: "web", Name: e.d.name()}, s.For, begin.Add(e.up))
		if err := e.send(s.statement()); err != nil {
			return err
		}
		if replica := e.servers[s.For]; replica.deaf > 0 && replica.deafPrimary == (s.Server != s.For) {
			replica.deaf--
		}
	case AddListener:
		return firstTaken(s.forms(), e.send)
	case mssql.Execute:
		return e.send(s)
	default:
		e.t.Fatalf("step %T is not known", step)
	}
	return nil
}

// send is a statement to a server that may not answer.
func (e *environ) send(s mssql.Execute) error {
	if e.silent[s.Server] || e.cut[e.d.Sites[s.Server]] {
		return errSilent
	}
	return e.execute(s)
}

// settle plans and does until nothing is left, and returns the last plan. most is how many steps of each plan are done
// before the manager ends.
func (e *environ) settle(most func() int) reconcile.Plan {
	e.t.Helper()
	for range 300 {
		o := e.observe()
		p := plan(e.d, o)
		if len(p.All()) == 0 && p.Outcome.Reason != "" &&
			(p.Outcome.Ready == metav1.ConditionTrue || p.Outcome.Progress == "Stuck") {
			e.d.Group.Status = describe(e.d.Group.Status, e.d, o)
			return p
		}
		limit := most()
		for i, s := range p.All() {
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
