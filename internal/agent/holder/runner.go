// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
)

// processPoll is how often the holder looks whether its engine's process is there: its end is released at once.
const processPoll = 100 * time.Millisecond

// runner steps one group's keeper. A new run of the engine, or other voters, get a new keeper.
type runner struct {
	h     *Holder
	ended chan struct{}
	// over is closed when nobody uses the keeper any more.
	over chan struct{}
	// wake has a token when the votes should be looked at now.
	wake chan struct{}
	// turn has a token while nobody uses the stepper.
	turn chan struct{}
	s    *stepper
	// woken says that another agent has asked for the next step.
	woken bool
	// ballot is the stepper's, for those who wait for their turn; nil before there is one.
	ballot atomic.Pointer[ballot.Ballot]

	// greeted is when the partners' sidecars were last greeted, greeting has a token while nobody does so.
	greeted  time.Time
	greeting chan struct{}

	mu sync.Mutex
	// partners are the servers of the group's other replicas as last seen.
	partners []string
	group    orders.Group
	voters   []*voter
	// changed says that voters were made anew.
	changed bool
	status  GroupStatus
}

func newRunner(h *Holder, g orders.Group) *runner {
	r := &runner{
		h:        h,
		ended:    make(chan struct{}),
		over:     make(chan struct{}),
		wake:     make(chan struct{}, 1),
		turn:     make(chan struct{}, 1),
		greeting: make(chan struct{}, 1),
	}
	r.s = &stepper{r: r, heard: heard{orders: orders.StateUnheard}}
	r.status.Orders = orders.StateUnheard
	r.greeting <- struct{}{}
	r.change(g)
	return r
}

// runAfter runs once the former runner of the group, nil for none, is over, and until ctx ends or the orders do. Two
// keepers of one group in one process would overwrite each other's promises.
func (r *runner) runAfter(ctx context.Context, former *runner) {
	defer close(r.over)
	if former != nil {
		<-former.over
	}
	r.turn <- struct{}{}
	r.run(ctx)
	// Whoever asks now or still waits finds it busy, for good.
	<-r.turn
}

// wakeUp lets the next step begin now, and one under way end as soon as a majority of the voters has answered.
func (r *runner) wakeUp() {
	if b := r.ballot.Load(); b != nil {
		b.Hurry()()
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// ask lets f use the keeper between two steps.
func (r *runner) ask(
	ctx context.Context,
	f func(context.Context, *keeper.Keeper) (ballot.Report, error),
) (ballot.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if b := r.ballot.Load(); b != nil {
		defer b.Hurry()()
	}
	select {
	case <-r.turn:
	case <-ctx.Done():
		return ballot.Report{}, fmt.Errorf("the agent is busy: %w", ctx.Err())
	}
	defer func() { r.turn <- struct{}{} }()
	if err := r.s.prepare(ctx); err != nil {
		return ballot.Report{}, err
	}
	return f(ctx, r.s.keeper)
}

// askTimeout bounds what another sidecar asks.
const askTimeout = 5 * time.Second

// change takes over new orders: new tokens go to the voters that are there, other voters are made anew.
func (r *runner) change(g orders.Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reached := g.Reached()
	same := len(reached) == len(r.voters) && len(reached) > 0 && r.h.timings(g) == r.h.timings(r.group)
	for i := 0; same && i < len(reached); i++ {
		old, now := r.voters[i].present(), reached[i]
		same = old.Site == now.Site && old.Server == now.Server && string(old.CA) == string(now.CA) &&
			old.TLSServerName == now.TLSServerName
	}
	g.SeenID = cmp.Or(g.SeenID, r.group.SeenID)
	r.group = g
	if same {
		for i, v := range r.voters {
			v.take(reached[i])
		}
		return
	}
	former := map[string]*voter{}
	for _, v := range r.voters {
		former[v.Name()] = v
	}
	var voters []*voter
	for _, told := range reached {
		v, err := newVoter(g, told, formerCA(former[told.Site], told))
		if err != nil {
			r.h.options.Log.Error("orders cannot be followed", "group", g.Name, "error", err)
			return
		}
		voters = append(voters, v)
	}
	for _, v := range r.voters {
		v.close()
	}
	r.voters, r.changed = voters, true
}

// formerCA is the CA by which an API server was verified that is told to have another one now: it is trusted until the
// server shows a certificate of that, whatever else of the orders changes meanwhile. A vote that cannot be renewed
// until then would be one for nobody. An agent that was restarted meanwhile has it from the orders that it remembers.
func formerCA(v *voter, told orders.Voter) []byte {
	if v == nil {
		if len(told.FormerCA) == 0 || len(told.CA) == 0 || credentials.HasCAs(told.CA, told.FormerCA) {
			return nil
		}
		return told.FormerCA
	}
	was := v.present()
	former := credentials.MergeCAs(v.formerCA, was.CA)
	if was.Server != told.Server || len(was.CA) == 0 || len(told.CA) == 0 || credentials.HasCAs(told.CA, former) {
		return nil
	}
	return former
}

// trustAlone takes the former CA from a voter whose API server is verified without it.
func (r *runner) trustAlone(v *voter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.voters, v)
	if i < 0 {
		return
	}
	alone, err := newVoter(r.group, v.present(), nil)
	if err != nil {
		r.h.options.Log.Error("orders cannot be followed", "group", r.group.Name, "error", err)
		return
	}
	v.close()
	r.voters = slices.Clone(r.voters)
	r.voters[i], r.changed = alone, true
}

func (r *runner) voterList() []*voter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.voters)
}

// ordered are the orders with the newest tokens, and the CAs that count still.
func (r *runner) ordered() orders.Group {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.group
	newest := map[string]orders.Voter{}
	for _, v := range r.voters {
		told := v.present()
		told.FormerCA = v.formerCA
		newest[v.Name()] = told
	}
	g.Voters, g.Joining = slices.Clone(g.Voters), slices.Clone(g.Joining)
	for _, list := range [][]orders.Voter{g.Voters, g.Joining} {
		for i, v := range list {
			if n, ok := newest[v.Site]; ok {
				list[i] = n
			}
		}
	}
	return g
}

func (r *runner) timings() ballot.Timings {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.timings(r.group)
}

func (r *runner) stop() { close(r.ended) }

func (r *runner) current() GroupStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// run steps until ctx ends or the group is no longer ordered. A step that is under way is ended as it should be: half a
// step must not look like an engine that does not answer.
func (r *runner) run(ctx context.Context) {
	for {
		<-r.turn
		began := time.Now()
		done := r.hurry()
		out := r.s.step(context.WithoutCancel(ctx))
		done()
		if r.identify() {
			r.h.remember()
		}
		held := ""
		if r.s.keeper != nil {
			if out.Term > 0 {
				held = r.s.run
			}
			r.greet(ctx, r.meet())
		}
		r.turn <- struct{}{}
		if !r.pause(ctx, out.Pause(time.Since(began), r.timings().Renew), held) {
			return
		}
	}
}

// identify notes which group of the name the engine has; true when it is another one than before.
func (r *runner) identify() bool {
	engine, can := r.h.engine.(identifier)
	if !can {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := engine.GroupID(r.group.Name)
	if id == "" || id == r.group.SeenID {
		return false
	}
	r.group.SeenID = id
	return true
}

// hurry lets a step that another agent has asked for go on with a majority of the voters: it has news for this one.
func (r *runner) hurry() (done func()) {
	b := r.ballot.Load()
	if !r.woken || b == nil {
		return func() {}
	}
	r.woken = false
	return b.Hurry()
}

// pause waits for the next step, and not longer than the run of the engine lives that holds votes, empty for none. It
// is false when there is to be no next step.
func (r *runner) pause(ctx context.Context, wait time.Duration, held string) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	poll := time.NewTicker(processPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-r.ended:
			return false
		case <-timer.C:
			return true
		case <-r.wake:
			r.woken = true
			return true
		case <-poll.C:
			if held == "" {
				continue
			}
			if run, err := r.h.options.Process.Run(); err == nil && run != held {
				return true
			}
		}
	}
}

// stepper has what belongs to the one whose turn it is.
type stepper struct {
	r      *runner
	ballot *ballot.Ballot
	keeper *keeper.Keeper
	run    string
	// former is the keeper before other voters were ordered.
	former *keeper.Keeper
	// heard are the orders by which the keeper goes.
	heard heard
}

// heard is what a keeper was told of the end of its group.
type heard struct {
	orders orders.State
	id     string
}

// prepare has a keeper for the present run of the engine and the present voters.
func (s *stepper) prepare(ctx context.Context) error {
	h := s.r.h
	run, err := h.options.Process.Run()
	if err == nil && run == "" {
		err = errNoEngine
	}
	if err == nil || errors.Is(err, errNoEngine) {
		s.letGo(ctx, run)
	}
	if err != nil {
		return err
	}
	s.r.mu.Lock()
	voters, changed, group := s.r.voters, s.r.changed, s.r.group
	s.r.changed = false
	s.r.mu.Unlock()
	if len(voters) == 0 {
		return fmt.Errorf("the orders name no voters")
	}
	if changed || s.ballot == nil {
		list := make([]votes.Voter, len(voters))
		for i, v := range voters {
			list[i] = v
		}
		if s.keeper != nil {
			s.former = s.keeper
		}
		s.ballot, s.keeper = ballot.New(group.Voting(), list, ballot.BootClock{}, h.timings(group).APITimeout), nil
		s.r.ballot.Store(s.ballot)
	}
	if s.keeper == nil || s.run != run {
		var former keeper.Handover
		switch {
		case s.former != nil && s.run == run:
			former = s.former.Handover()
		case s.run == "" && run == h.found:
			// An agent that has ended knew what it had sent.
			former.Outstanding = ballot.BootClock{}.Now() + h.timings(group).BegunWithin()
		}
		s.keeper = keeper.New(keeper.Options{
			Group: group.Name, Self: h.self(run), Ballot: s.ballot, Engine: h.engine, Peers: h.peers, Memory: h.promises(group),
			Clock: ballot.BootClock{}, Timings: h.timings(group), Nonce: rand.Text, Random: mathrand.Float64,
			Former: former,
		})
		s.run, s.former = run, nil
	}
	s.ballot.Adopt(group.Voting())
	s.keeper.SetPolicy(group.Paused, !group.Automatic)
	s.keeper.SetRoleAtFailover(group.RoleAtFailover)
	s.keeper.SetEnding(group.Ends())
	s.heard = heard{orders: orders.StateGiven}
	if group.Ends() {
		s.heard = heard{orders: orders.StateEnding, id: group.EndingID}
	}
	s.keeper.SetVoters(group.Wanted)
	return nil
}

// letGo tells the voters that a run of the engine has ended which held a term: its process is gone, so nobody has to
// wait for its votes to expire.
func (s *stepper) letGo(ctx context.Context, run string) {
	if s.keeper == nil || s.run == run {
		return
	}
	began := time.Now()
	if out, held := s.keeper.EngineEnded(ctx); held {
		s.report(out, began)
	}
	s.keeper = nil
}

func (s *stepper) step(ctx context.Context) keeper.Outcome {
	began := time.Now()
	var out keeper.Outcome
	if err := s.prepare(ctx); err != nil {
		out = keeper.Outcome{Err: err}
	} else {
		out = s.keeper.Step(ctx)
	}
	s.report(out, began)
	return out
}

// report keeps the outcome for status and metrics, and logs what is new.
func (s *stepper) report(out keeper.Outcome, began time.Time) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	old := s.r.status
	now := GroupStatus{
		Role: string(out.Role), Term: out.Term, State: string(out.State), Paused: s.r.group.Paused,
		Quarantined: out.Quarantined, Waiting: out.Waiting, Action: old.Action, At: old.At, Stepped: time.Now(),
		Orders: s.heard.orders, EndingID: s.heard.id, Beyond: out.Beyond,
	}
	if out.Action != "" {
		now.Action, now.At = out.Action, now.Stepped
	}
	if out.Err != nil {
		now.Error = out.Err.Error()
	}
	if s.ballot != nil {
		now.Votes = map[string]string{}
		for site, record := range s.ballot.Snapshot() {
			now.Votes[site] = ""
			if record != nil {
				now.Votes[site] = fmt.Sprintf("%s %d %s", record.Holder.Server, record.Term, record.State)
			}
		}
	}
	s.r.status = now
	s.r.h.telling.observe(s.r.group.Name, out, now, time.Since(began))
	if out.Action != "" && (out.Action != old.Action || now.Error != old.Error) || old.Role != now.Role ||
		old.Error != now.Error ||
		old.Waiting != now.Waiting || old.Beyond != now.Beyond {
		s.r.h.options.Log.Info(
			"election",
			"group",
			s.r.group.Name,
			"action",
			out.Action,
			"role",
			now.Role,
			"term",
			now.Term,
			"state",
			now.State,
			"error",
			now.Error,
			"waiting",
			now.Waiting,
			"beyond",
			now.Beyond,
			"took", time.Since(began).Round(time.Millisecond).String(),
		)
	}
}
