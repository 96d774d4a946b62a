// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/orders"
)

// runner steps one group's keeper. A new run of the engine, or other voters, get a new keeper.
type runner struct {
	h     *Holder
	ended chan struct{}

	mu     sync.Mutex
	group  orders.Group
	voters []*voter
	// changed says that voters were made anew.
	changed bool
	status  GroupStatus
}

func newRunner(h *Holder, g orders.Group) *runner {
	r := &runner{h: h, ended: make(chan struct{})}
	r.change(g)
	return r
}

// change takes over new orders: new tokens go to the voters that are there, other voters are made anew.
func (r *runner) change(g orders.Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := len(g.Voters) == len(r.voters) && len(g.Voters) > 0
	for i := 0; same && i < len(g.Voters); i++ {
		old, now := r.voters[i].present(), g.Voters[i]
		same = old.Site == now.Site && old.Server == now.Server && string(old.CA) == string(now.CA) && old.TLSServerName == now.TLSServerName
	}
	r.group = g
	if same {
		for i, v := range r.voters {
			v.take(g.Voters[i])
		}
		return
	}
	var voters []*voter
	for _, told := range g.Voters {
		v, err := newVoter(g, told)
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

func (r *runner) voterList() []*voter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.voters)
}

// ordered are the orders with the newest tokens.
func (r *runner) ordered() orders.Group {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.group
	g.Voters = slices.Clone(g.Voters)
	for i := range g.Voters {
		if i < len(r.voters) {
			g.Voters[i] = r.voters[i].present()
		}
	}
	return g
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
	ticker := time.NewTicker(r.h.options.Timings.Renew)
	defer ticker.Stop()
	s := &stepper{r: r}
	for {
		s.step(context.WithoutCancel(ctx))
		select {
		case <-ctx.Done():
			return
		case <-r.ended:
			return
		case <-ticker.C:
		}
	}
}

// stepper has what belongs to the runner's goroutine alone.
type stepper struct {
	r      *runner
	ballot *election.Ballot
	keeper *election.Keeper
	run    string
}

func (s *stepper) step(ctx context.Context) {
	began := time.Now()
	h := s.r.h
	run, err := h.options.Process.Run()
	if err == nil && run == "" {
		err = fmt.Errorf("no engine runs")
	}
	if err != nil {
		s.keeper = nil
		s.report(election.Outcome{Err: err}, began)
		return
	}
	s.r.mu.Lock()
	voters, changed, group := s.r.voters, s.r.changed, s.r.group
	s.r.changed = false
	s.r.mu.Unlock()
	if len(voters) == 0 {
		s.report(election.Outcome{Err: fmt.Errorf("the orders name no voters")}, began)
		return
	}
	if changed || s.ballot == nil {
		list := make([]election.Voter, len(voters))
		for i, v := range voters {
			list[i] = v
		}
		s.ballot, s.keeper = election.NewBallot(list, election.BootClock{}, h.options.Timings.APITimeout), nil
	}
	if s.keeper == nil || s.run != run {
		s.keeper = election.NewKeeper(group.Name, h.self(run), s.ballot, h.engine, election.BootClock{}, h.options.Timings, rand.Text)
		s.run = run
	}
	s.keeper.SetPaused(group.Paused)
	s.report(s.keeper.Step(ctx), began)
}

// report keeps the outcome for status and metrics, and logs what is new.
func (s *stepper) report(out election.Outcome, began time.Time) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	old := s.r.status
	now := GroupStatus{
		Role: string(out.Role), Term: out.Term, State: string(out.State), Paused: s.r.group.Paused,
		Action: old.Action, At: old.At, Stepped: time.Now(),
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
	s.r.h.metrics.observe(s.r.group.Name, out, time.Since(began))
	if out.Action != "" && (out.Action != old.Action || now.Error != old.Error) || old.Role != now.Role || old.Error != now.Error {
		s.r.h.options.Log.Info("election", "group", s.r.group.Name, "action", out.Action, "role", now.Role, "term", now.Term,
			"state", now.State, "error", now.Error, "took", time.Since(began).Round(time.Millisecond).String())
	}
}
