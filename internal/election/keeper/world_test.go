// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// ballotOf is the ballot of a group that began with all of these voters.
func ballotOf(voters []votes.Voter, clock ballot.Clock, apiTimeout time.Duration) *ballot.Ballot {
	var began votes.Configuration
	for _, v := range voters {
		began.Voters = append(began.Voters, v.Name())
	}
	return ballot.New(began, voters, clock, apiTimeout)
}

// names of the simulated servers; the first is the initial primary.
var names = []string{"tukpub-0", "quisec-0", "dubsec-0"}

// world is three voters, three servers with the runs of their engines, and a clock that only the test moves.
type world struct {
	now     time.Duration
	voters  []*leaseStore
	servers []*server
	nonces  int
	timings ballot.Timings
	// reading is for how long a process stands still each time that it has read a clock; passing guards now meanwhile.
	reading atomic.Int64
	passing sync.Mutex
	breaks  breaks
	voter   func(s *server, i int) votes.Voter

	// fencing lets replicas be fenced one after another.
	fencing sync.Mutex
	// meanwhile is what goes on while a statement is on its way.
	meanwhile func()
	// acked are the writes whose commit was answered, written all that were tried.
	acked   []int
	written int
	// forced says that data loss was allowed once.
	forced bool
	// looked is the configuration of voters by which Leases are created, zero for the newest.
	looked votes.Configuration
	// lates says that Leases are lost and made late in a schedule.
	lates bool
	// mislaid is what becomes of the votes in a schedule, nil for nothing.
	mislaid *mislaid
	// shown changes what an engine shows of a database, nil for nothing.
	shown func(*ballot.DatabaseState)
	// strays says that claims are made in a schedule that one voter alone grants.
	strays bool
	// returning is what engines do another way with replicas that come back.
	returning returning
	// fault is the first violation that was seen.
	fault error
}

// breaks is what a test takes away on purpose.
type breaks struct {
	// ignoreGuard makes engines run statements that were queued, whatever their deadline.
	ignoreGuard bool
	// reportBeforeFence lets a replica report without being OFFLINE.
	reportBeforeFence bool
	// forgetPromises loses promises with each restart of an agent, and lets every term pass.
	forgetPromises bool
	// ignoreSequence shows every configuration with the same number.
	ignoreSequence bool
	// force makes FAILOVER what FORCE_FAILOVER_ALLOW_DATA_LOSS is.
	force bool
	// lostReplicas shows two more synchronous replicas, of which nobody hears.
	lostReplicas bool
	// smallQuorum shows candidates a group in which they vote alone.
	smallQuorum bool
	// grantNew shows a Lease that has never had a vote as one whose vote was released.
	grantNew bool
	// asynchronous shows all replicas as asynchronous ones, noReplicas shows none.
	asynchronous, noReplicas bool
	// hideVoters keeps agents from reading who votes.
	hideVoters bool
	// ways are how the engines answer what is not known of SQL Server, and how the agents ask.
	ways
	// endless lets write leases last for ever, as those of engines whose clocks have stopped: then two may be writable,
	// and still nothing acknowledged may be lost.
	endless bool
}

type leaseStore struct {
	name    string
	record  votes.Record
	version int
	// absent is a Lease that cannot be seen, gone one that is not there.
	absent, gone bool
	// old is a copy from which the store can be restored.
	old votes.Record
	// changed is when the vote was last swapped.
	changed time.Duration
	// left is the configuration that a former group of the name has left here, empty for none.
	left string
}

// configuration is a group's configuration as the engines agree on it.
type configuration struct {
	sequence int64
	synced   map[string]bool
}

func (c configuration) epoch() int64 { return c.sequence >> 32 }

func (c configuration) String() string {
	return fmt.Sprintf("%d.%d%v", c.epoch(), c.sequence&0xffffffff, slices.Sorted(maps.Keys(c.synced)))
}

func (c configuration) with(change func(map[string]bool)) configuration {
	next := configuration{sequence: c.sequence + 1, synced: maps.Clone(c.synced)}
	change(next.synced)
	return next
}

// server is what outlives the runs of an engine: its disk, and its agent's.
type server struct {
	w    *world
	name string
	rate float64
	// on disk
	exists bool
	log    []int
	config configuration
	// bare is a replica that has joined and has no copies yet.
	bare bool
	// silent says that the replica was taken OFFLINE and answers nobody.
	silent bool
	// left is the newest epoch there was when the replica was last taken OFFLINE.
	left   int64
	memory keeper.Remembered
	unsure int
	// unreadable is a memory that cannot be read.
	unreadable bool
	// cut voters by number, and voters whose answers are lost; peers whose agent or engine this server does not reach.
	cut, lost [maxVoters]bool
	// swapsLeft is after how many swaps of votes nothing of this server arrives any more, nil for never.
	swapsLeft *int
	// ordered are the voters that there are to be, as this server was told.
	ordered []string
	// ending says that the group is to be dropped.
	ending bool
	apart  map[string]bool
	comeback
	run  *run
	runs int
	pod  int
}

// run is one run of an engine with its agent.
type run struct {
	s      *server
	self   votes.Holder
	keeper *keeper.Keeper

	dead, frozen, asleep bool
	freezeNext           bool
	// severed has the connection of every statement break before its answer, severNext from the next observation on.
	severed, severNext bool
	// refusesLease has the engine refuse renewals of its lease; pending and skew are what it says of itself.
	refusesLease  bool
	pending, skew time.Duration
	// sleepNext stops the agent after its next step: with freezeNext, the machine stands still in the middle of one.
	sleepNext bool
	role      ballot.Role
	follows   string
	suspended bool
	// behind says that it shows the configuration before the one that it has.
	behind bool
	// nods says that it is connected to whoever is primary, also while it takes no log of that one.
	nods bool
	// stands says that its copy takes no log, whatever it does; offlines counts how often it was taken OFFLINE.
	stands   bool
	offlines int
	// restarts counts how often its endpoint was restarted.
	restarts int
	// cleared counts how often new sessions were ended.
	cleared int
	// reseeded counts how often its copies were to be given up, gaveUp are those of the last time, and reseedErr is what
	// came of it.
	reseeded int
	gaveUp   []string
	// outside is the state of a copy that is not in the group; empty for one that is.
	outside   string
	reseedErr error
	lease     time.Duration
	// promoted is when it became primary.
	promoted time.Duration
	// renewBy is the deadline of the last renewal of the lease.
	renewBy time.Time
	queued  []func(now time.Duration)
	// refuse makes FAILOVER answer 41142.
	refuse bool
	// tellsAll has its views show rows of the other replicas' databases whatever its role, as those of a primary do.
	tellsAll bool
	// lingersNext is in how many looks after OFFLINE the role is shown that it had, lingers in how many still.
	lingersNext, lingers int
	lingering            ballot.Role
	// offlineWithin is how long the last OFFLINE was given, 0 for no bound.
	offlineWithin time.Duration
	// unstoppable makes the engine refuse OFFLINE, and its process live on when it is killed.
	unstoppable bool
	// lag passes while a statement is on its way.
	lag time.Duration
	// recovering is until when the databases are recovered after SET (ROLE = SECONDARY).
	recovering time.Duration
	underWay
	// ready says that the configuration that makes it primary is committed.
	ready bool
}

func newWorld(timings ballot.Timings) *world {
	return newWorldOver(timings, func(s *server, i int) votes.Voter { return link{s, i} })
}

// maxVoters is how many sites there can be that vote.
const maxVoters = 6

// newWorldOver has other voters than the simulated ones.
func newWorldOver(timings ballot.Timings, voter func(s *server, i int) votes.Voter) *world {
	w := &world{now: time.Hour, timings: timings, voter: voter, meanwhile: func() {}}
	for i := range 3 {
		w.voters = append(w.voters, &leaseStore{name: fmt.Sprintf("site%d", i),
			record: votes.Record{State: votes.StateReleased, InitialPrimary: names[0]}})
	}
	for _, name := range names {
		s := &server{w: w, name: name, rate: 1, apart: map[string]bool{}}
		w.servers = append(w.servers, s)
		s.start()
	}
	return w
}

// start starts a new run of the engine in the same pod, with its agent.
func (s *server) start() *run {
	s.runs++
	s.silent = false
	s.run = &run{
		s: s,
		self: votes.Holder{
			Server: s.name,
			PodUID: fmt.Sprintf("%s-pod%d", s.name, s.pod),
			Engine: fmt.Sprint("run", s.runs),
		},
		role: ballot.RoleResolving,
	}
	s.run.restarted()
	s.startAgent()
	return s.run
}

// startAgent replaces the agent with one that remembers only what is on disk.
func (s *server) startAgent() {
	s.run.asleep = false
	s.run.keeper = s.newKeeper(nil)
	if s.w.breaks.forgetPromises {
		s.memory = keeper.Remembered{}
	}
}

// newKeeper is one that takes the place of another of the same run, nil for none.
func (s *server) newKeeper(former *keeper.Keeper) *keeper.Keeper {
	var voters []votes.Voter
	for i := range s.w.voters {
		voters = append(voters, s.w.voter(s, i))
	}
	k := keeper.New(keeper.Options{
		Group: "content", Self: s.run.self, Ballot: ballot.New(s.w.began(), voters, clock{s}, s.w.timings.APITimeout),
		Engine: s.run, Peers: peers{s}, Memory: disk{s}, Clock: clock{s}, Timings: s.w.timings,
		Nonce:  func() string { s.w.nonces++; return fmt.Sprint(s.w.nonces) },
		Random: func() float64 { s.w.nonces++; return float64(s.w.nonces*7%10) / 10 },
		Former: former.Handover(),
	})
	k.SetRoleAtFailover(s.w.breaks.atFailover)
	k.SetVoters(s.ordered)
	k.SetEnding(s.ending)
	return k
}

// began is the configuration that the group began with: the first three sites.
func (w *world) began() votes.Configuration {
	var c votes.Configuration
	for _, v := range w.voters[:3] {
		c.Voters = append(c.Voters, v.name)
	}
	return c
}

// crash ends the engine; the agent in the pod sees it.
func (s *server) crash() {
	s.run.dead = true
	s.run.keeper.EngineEnded(context.Background())
	s.start()
}

type clock struct{ s *server }

// Now and Wall let pass what reading takes.
func (c clock) Now() time.Duration {
	defer c.s.w.read()
	return time.Duration(float64(c.s.w.present()) * c.s.rate)
}

func (c clock) Wall() time.Time {
	defer c.s.w.read()
	return c.s.w.wall()
}

func (c clock) Sleep(context.Context, time.Duration) error { return context.DeadlineExceeded }

// wall is the time of day, which all machines agree on.
func (w *world) wall() time.Time { return time.Unix(1_800_000_000, 0).Add(w.present()) }

// present is now for those that the time passes beside: the calls of one round.
func (w *world) present() time.Duration {
	w.passing.Lock()
	defer w.passing.Unlock()
	return w.now
}

func (w *world) read() {
	if pause := time.Duration(w.reading.Load()); pause > 0 {
		w.passing.Lock()
		defer w.passing.Unlock()
		w.now += pause
	}
}

type disk struct{ s *server }

func (d disk) Load() (keeper.Remembered, error) {
	if d.s.unreadable {
		return keeper.Remembered{}, errUnreadable
	}
	return d.s.memory, nil
}

var errUnreadable = errors.New("the disk cannot be read")

func (d disk) Save(r keeper.Remembered) error {
	if d.s.w.breaks.forgetPromises {
		r.Promise = keeper.Promise{}
	}
	unsure := d.s.unsure
	d.s.unsure = sure
	if unsure != unsureLost {
		d.s.memory = r
	}
	if unsure != sure {
		return errors.New("the disk has not said that it is saved")
	}
	return nil
}

// What becomes of the next thing that a server remembers: it is saved; it is, and the server does not hear so; it is
// not.
const (
	sure = iota
	unsureSaved
	unsureLost
)

type link struct {
	s *server
	i int
}

var errNoAnswer = errors.New("no answer")

func (l link) Name() string { return l.s.w.voters[l.i].name }

func (l link) Read(context.Context) (votes.Record, string, error) {
	if l.s.cut[l.i] {
		return votes.Record{}, "", errNoAnswer
	}
	v := l.s.w.voters[l.i]
	if v.absent || v.gone {
		return votes.Record{}, "", votes.ErrAbsent
	}
	r := v.record
	if l.s.w.breaks.hideVoters {
		r.Voters = ""
	}
	if l.s.w.breaks.grantNew && r.Term == 0 && l.s.exists {
		r.Term = 1
	}
	return r, fmt.Sprint(v.version), nil
}

func (l link) Swap(_ context.Context, version string, r votes.Record) (string, error) {
	if l.s.cut[l.i] || !l.s.swaps() {
		return "", errNoAnswer
	}
	v := l.s.w.voters[l.i]
	switch {
	case v.absent || v.gone:
		return "", votes.ErrAbsent
	case version != fmt.Sprint(v.version):
		return "", votes.ErrConflict
	}
	v.record, v.absent = r, false
	v.version++
	v.changed = l.s.w.present()
	if l.s.lost[l.i] {
		return "", errNoAnswer
	}
	return fmt.Sprint(v.version), nil
}

// swaps says whether one more swap arrives.
func (s *server) swaps() bool {
	swapping.Lock()
	defer swapping.Unlock()
	if s.swapsLeft == nil {
		return true
	}
	*s.swapsLeft--
	return *s.swapsLeft >= 0
}

var swapping sync.Mutex

// peers are the agents of the other servers.
type peers struct{ s *server }

func (p peers) reach(server string) (*server, error) {
	i := slices.Index(names, server)
	if i < 0 {
		return nil, errNoAnswer
	}
	to := p.s.w.servers[i]
	if p.s.apart[server] || to.apart[p.s.name] || to.run.asleep {
		return nil, errNoAnswer
	}
	return to, nil
}

func (p peers) Fence(ctx context.Context, server string, r ballot.FenceRequest) (ballot.Report, error) {
	to, err := p.reach(server)
	if err != nil {
		return ballot.Report{}, err
	}
	p.s.w.fencing.Lock()
	defer p.s.w.fencing.Unlock()
	if p.s.w.breaks.reportBeforeFence {
		return to.run.keeper.Report(ctx)
	}
	return to.run.keeper.Fence(ctx, r)
}

func (p peers) Report(ctx context.Context, server, _ string) (ballot.Report, error) {
	to, err := p.reach(server)
	if err != nil {
		return ballot.Report{}, err
	}
	return to.run.keeper.Report(ctx)
}

func (p peers) Reconnect(ctx context.Context, server, _ string) error {
	to, err := p.reach(server)
	if err != nil {
		return err
	}
	return to.run.keeper.RestartEndpoint(ctx, false)
}

func (p peers) Wake(context.Context, string, string) error { return nil }

// writable says whether the engine would still acknowledge writes: it may act on an expired lease late by Overrun.
func (r *run) writable() bool {
	return !r.dead && r.s.exists && r.role == ballot.RolePrimary && !r.expired()
}

func (r *run) expired() bool {
	return !r.s.w.breaks.endless && r.s.w.now >= r.lease+r.s.w.overrun()
}

// advance moves the clock; leases that ran out make their engine RESOLVING.
func (w *world) advance(d time.Duration) {
	w.now += d
	for _, s := range w.servers {
		s.run.complete()
		if r := s.run; r.role == ballot.RolePrimary && r.expired() && !r.frozen {
			r.role, r.ready = ballot.RoleResolving, false
		}
	}
}

func (w *world) writers() (writers []string) {
	for _, s := range w.servers {
		if s.run.writable() {
			writers = append(writers, s.name)
		}
	}
	return writers
}

// primary is the server that can commit, nil for none or several.
func (w *world) primary() *server {
	var found *server
	for _, s := range w.servers {
		if s.run.writable() && s.run.ready {
			if found != nil {
				return nil
			}
			found = s
		}
	}
	return found
}

func (w *world) report(format string, args ...any) {
	if w.fault == nil {
		w.fault = fmt.Errorf("at %s: %w", w.now, fmt.Errorf(format, args...))
	}
}

// create is what the manager does once the initial primary holds the votes.
func (w *world) create() {
	for _, s := range w.servers {
		s.exists = true
		s.config = configuration{sequence: 1<<32 | 1, synced: map[string]bool{names[0]: true, names[1]: true, names[2]: true}}
		s.run.role, s.run.follows = ballot.RoleSecondary, names[0]
	}
	p := w.servers[0].run
	p.role, p.follows, p.ready, p.lease = ballot.RolePrimary, "", true, w.now+w.timings.WriteLease
	p.promoted, p.s.led = w.now, true
}

// trace tells what happens, nil for nothing.
var trace func(format string, args ...any)

// stepAll steps every agent that is awake.
func (w *world) stepAll() {
	for _, s := range w.servers {
		s.step()
	}
}

func (s *server) step() keeper.Outcome {
	r := s.run
	if r.dead || r.asleep {
		return keeper.Outcome{}
	}
	var out keeper.Outcome
	for range 8 {
		out = r.keeper.Step(context.Background())
		s.w.checkStamps()
		if trace != nil && (out.Action != "" || out.Err != nil) {
			trace(
				"%s %s: term %d %s %s (now %s): %s: %v",
				s.w.now,
				s.name,
				out.Term,
				out.State,
				out.Role,
				r.role,
				out.Action,
				out.Err,
			)
		}
		if out.Soon == 0 || out.Soon > 100*time.Millisecond || r.dead {
			break
		}
		if r.sleepNext {
			break
		}
		s.w.advance(out.Soon)
		s.w.replicate()
	}
	r.asleep, r.sleepNext = r.asleep || r.sleepNext, false
	return out
}

// live lets agents step and engines replicate every half second.
func (w *world) live(seconds int) {
	for range 2 * seconds {
		w.advance(500 * time.Millisecond)
		w.replicate()
		w.stepAll()
		w.replicate()
		w.write()
	}
}
