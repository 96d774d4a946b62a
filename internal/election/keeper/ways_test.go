// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// ways are answers of the engines to what is not known of SQL Server, and the role of the other replicas at FAILOVER.
type ways struct {
	// atFailover is SECONDARY unless it is RESOLVING.
	atFailover ballot.Role
	// asks has FAILOVER ask a majority for the newest configuration; otherwise a replica believes its own.
	asks bool
	// silent has replicas that are OFFLINE agree to nothing, before they are made SECONDARY or started again.
	silent bool
	// draws has a RESOLVING replica become SECONDARY by itself when a primary reaches it.
	draws bool
	// unready has a replica without a primary show none of its copies as ready for a failover.
	unready bool
	// mute has a FAILOVER that comes to nothing be answered as one that will not.
	mute bool
	// late is after what time every second FAILOVER has its effect, 0 for at once; of those every second is accepted, and
	// the others have no answer.
	late time.Duration
	// recovery is for how long FAILOVER waits on a replica that was made SECONDARY.
	recovery time.Duration
}

// failOver is FAILOVER once the engine has begun with it: now is when that was.
func (r *run) failOver(now, validity time.Duration) error {
	w := r.s.w
	for until := w.now + 3*time.Second; w.now < r.recovering; {
		if w.now >= until {
			return fmt.Errorf("the databases are being recovered: %w", context.DeadlineExceeded)
		}
		w.advance(100 * time.Millisecond)
		w.meanwhile()
	}
	if w.breaks.asks && !r.synchronizedByAll() {
		return keeper.ErrNotSynchronized
	}
	if w.breaks.late > 0 && r.role != ballot.RolePrimary {
		if r.failovers++; r.coming > 0 || r.failovers%2 == 1 {
			return r.takeLater(now, validity)
		}
	}
	if !r.take(now, validity, false) && !w.breaks.mute {
		return fmt.Errorf("%w: no majority (41104)", keeper.ErrRefused)
	}
	return nil
}

// underWay counts the FAILOVERs that were begun; coming is when one has its effect that was, 0 for none.
type underWay struct {
	failovers int
	coming    time.Duration
}

// takeLater is a FAILOVER that was begun: it has its effect later unless OFFLINE or another role comes first. It was
// granted by what was known when it was begun.
func (r *run) takeLater(now, validity time.Duration) error {
	r.lease = max(r.lease, now+validity)
	if r.coming == 0 {
		r.coming = r.s.w.now + r.s.w.breaks.late
	}
	if r.failovers%4 == 1 {
		return fmt.Errorf("read: connection reset by peer: %w", keeper.ErrUnanswered)
	}
	return nil
}

// complete lets the FAILOVER have its effect that was begun long enough ago.
func (r *run) complete() {
	if r.coming == 0 || r.s.w.now < r.coming || r.dead || r.frozen {
		return
	}
	if r.coming = 0; r.s.exists {
		r.take(r.lease-r.s.w.timings.WriteLease, r.s.w.timings.WriteLease, false)
	}
}

// synchronizedByAll says whether the newest configuration of all replicas that answer calls this one synchronized.
func (r *run) synchronizedByAll() bool {
	newest := r.s.config
	for _, s := range r.s.w.servers {
		if s != r.s && !s.silent && r.s.w.engines(r.s, s) && s.config.sequence > newest.sequence {
			newest = s.config
		}
	}
	return newest.synced[r.s.name] || r.s.w.breaks.force
}

// tellsReadiness says whether the engine shows which copies are ready for a failover.
func (r *run) tellsReadiness() bool {
	return !r.s.w.breaks.unready || r.role == ballot.RolePrimary ||
		r.role == ballot.RoleSecondary && r.s.w.leads(r.follows, r.s)
}

// drawIn has the RESOLVING replicas that a primary reaches follow it, where they do so by themselves.
func (w *world) drawIn(p *server) {
	for _, s := range w.servers {
		if w.breaks.draws && s != p && s.exists && !s.silent && s.run.role == ballot.RoleResolving && w.engines(p, s) &&
			s.config.epoch() <= p.config.epoch() {
			s.run.role, s.run.follows = ballot.RoleSecondary, p.name
		}
	}
}

// answering are the ways one by one, and all at once.
var answering = map[string]ways{
	"as known":                         {},
	"a majority is asked":              {asks: true},
	"OFFLINE replicas are silent":      {silent: true},
	"RESOLVING replicas follow":        {draws: true},
	"readiness needs a primary":        {unready: true},
	"a failover in vain is not told":   {mute: true},
	"SECONDARY replicas recover first": {recovery: 4 * time.Second},
	"FAILOVER takes its time":          {late: 3 * time.Second},
	"all of them":                      {asks: true, silent: true, draws: true, unready: true, recovery: 4 * time.Second},
}

// Whatever an engine answers to what is not known, and in whichever role the other replicas are to be at FAILOVER: no
// two are writable, nothing acknowledged is lost, and somebody is primary once the faults have ended.
func TestSchedulesUnderEveryAnswer(t *testing.T) {
	for name, w := range answering {
		for _, role := range []ballot.Role{ballot.RoleSecondary, ballot.RoleResolving} {
			t.Run(fmt.Sprintf("%s, others %s", name, role), func(t *testing.T) {
				t.Parallel()
				w.atFailover = role
				for range 8 {
					seed := rand.Uint64()
					if err := schedule(rand.New(rand.NewPCG(seed, 1)), ballot.DefaultTimings(), breaks{ways: w}, 300); err != nil {
						t.Fatalf("seed %x: %v", seed, err)
					}
				}
			})
		}
	}
}

// Without clocks nothing is lost where FAILOVER asks a majority, in whichever role the other replicas are, or where
// they are OFFLINE and follow nobody by themselves.
func TestNothingIsLostWithoutClocksUnderEveryAnswer(t *testing.T) {
	for name, w := range answering {
		for _, role := range []ballot.Role{ballot.RoleSecondary, ballot.RoleResolving} {
			t.Run(fmt.Sprintf("%s, others %s", name, role), func(t *testing.T) {
				t.Parallel()
				w.atFailover = role
				w.asks = w.asks || role == ballot.RoleSecondary || w.draws
				for range 8 {
					seed := rand.Uint64()
					if err := schedule(rand.New(rand.NewPCG(seed, 3)), ballot.DefaultTimings(), breaks{ways: w, endless: true},
						300); err != nil {
						t.Fatalf("seed %x: %v", seed, err)
					}
				}
			})
		}
	}
}

// withoutClocks has write leases that never end, and engines that believe themselves: the other replicas are OFFLINE
// then, for nothing else would keep what is acknowledged.
var withoutClocks = breaks{endless: true, ways: ways{atFailover: ballot.RoleResolving}}

// answered is a group whose first server holds, and whose engines and agents do as is said.
func answered(t *testing.T, as ways) (*world, *WithT) {
	t.Helper()
	w, g := held(t)
	w.breaks.ways = as
	for _, s := range w.servers {
		s.run.keeper.SetRoleAtFailover(as.atFailover)
	}
	return w, g
}

// The other replicas stay SECONDARY while one is promoted, as in the order of Microsoft's agent, and are taken OFFLINE
// once afterwards, to follow the new primary.
func TestBystandersStaySecondary(t *testing.T) {
	w, g := answered(t, ways{})
	third := w.servers[2]
	third.run.keeper.SetPolicy(false, true)
	w.servers[0].crash()
	w.servers[0].run.asleep = true
	for range 100 {
		w.advance(200 * time.Millisecond)
		if w.servers[1].step(); w.primary() != nil {
			break
		}
	}
	g.Expect(w.primary()).To(Equal(w.servers[1]))
	g.Expect(third.run.role).To(Equal(ballot.RoleSecondary))
	g.Expect(third.run.offlines).To(BeZero())
	w.live(3)
	g.Expect(third.run.offlines).To(Equal(1))
	g.Expect(third.run.follows).To(Equal(names[1]))
	w.live(20)
	g.Expect(third.run.offlines).To(Equal(1))
	g.Expect(w.primary().config.synced).To(HaveKey(names[2]))
}

// An engine that hears nothing of OFFLINE replicas refuses FAILOVER: where they were to be OFFLINE they are made
// SECONDARY in the same term.
func TestARefusedFailoverIsTriedWithTheOthersSecondary(t *testing.T) {
	w, g := answered(t, ways{atFailover: ballot.RoleResolving, silent: true})
	for _, s := range w.servers[1:] {
		s.run.keeper.SetPolicy(false, s != w.servers[1])
	}
	w.servers[0].run.dead = true
	w.live(16)
	g.Expect(w.primary()).To(Equal(w.servers[1]), w.picture())
	g.Expect(w.voters[0].record.Term).To(Equal(int64(2)), "one term was enough")
}

// A former primary that is OFFLINE is needed for the majority where the third replica is away: it is made SECONDARY.
func TestASwitchoverWhileTheThirdReplicaIsAway(t *testing.T) {
	w, g := answered(t, ways{silent: true})
	w.servers[2].run.dead = true
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	w.live(12)
	g.Expect(w.primary()).To(Equal(w.servers[1]), w.picture())
}

// The engine alone knows that a replica lacks something. Whoever is told so lets the next best replica go, which no
// view calls ready.
func TestAReplicaThatIsRefusedLetsTheNextOne(t *testing.T) {
	w, g := answered(t, ways{})
	w.shown = func(d *ballot.DatabaseState) { d.Ready = d.Server == names[1] }
	w.servers[1].run.refuse = true
	w.servers[0].run.dead = true
	w.live(30)
	g.Expect(w.primary()).To(Equal(w.servers[2]), w.picture())
	g.Expect(slices.Contains(w.writers(), names[1])).To(BeFalse())
}

// A FAILOVER that has to wait for the recovery that SET (ROLE = SECONDARY) began is not given up after the expiry of
// the votes.
func TestFailoverWaitsForRecovery(t *testing.T) {
	w, g := answered(t, ways{})
	w.servers[1].run.recovering = w.now + 24*time.Second
	w.servers[2].run.keeper.SetPolicy(false, true)
	w.servers[0].run.dead = true
	w.live(30)
	g.Expect(w.primary()).To(Equal(w.servers[1]), w.picture())
	g.Expect(w.voters[0].record.Term).To(Equal(int64(2)), "it was not begun anew")
	g.Expect(w.servers[1].run.offlines).To(BeZero())
}

// Where a person's word is all that says that the former holder is gone the other replicas are OFFLINE.
func TestAPersonsWordHasTheOthersOffline(t *testing.T) {
	w, g := answered(t, ways{})
	w.servers[0].isolate(true)
	w.servers[0].run.dead = true
	holder := w.voters[0].record.Holder
	w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[2], FencedHolder: holder.String()})
	w.live(2)
	g.Expect(w.primary()).To(Equal(w.servers[2]))
	g.Expect(w.servers[1].run.offlines).To(Equal(1))
}

// Nobody is OFFLINE at FAILOVER unless the group says so.
func TestTheRoleAtFailoverIsTheGroups(t *testing.T) {
	for role, offlines := range map[ballot.Role]int{"": 0, ballot.RoleSecondary: 0, ballot.RoleResolving: 1} {
		t.Run(string(role), func(t *testing.T) {
			w, g := answered(t, ways{atFailover: role})
			third := w.servers[2]
			third.run.keeper.SetPolicy(false, true)
			w.servers[0].run.dead = true
			for range 100 {
				w.advance(200 * time.Millisecond)
				if w.servers[1].step(); w.primary() != nil {
					break
				}
			}
			g.Expect(w.primary()).To(Equal(w.servers[1]))
			g.Expect(third.run.offlines).To(Equal(offlines))
		})
	}
}

// OFFLINE of a replica that is fenced goes on when the candidate stops waiting for it, for as long as the group says.
func TestOfflineOfAFencedReplicaHasItsTime(t *testing.T) {
	for declared, within := range map[time.Duration]time.Duration{0: 15 * time.Second, time.Minute: time.Minute} {
		t.Run(declared.String(), func(t *testing.T) {
			g := NewWithT(t)
			timings := ballot.DefaultTimings()
			timings.Offline = declared
			w := newWorld(timings)
			w.servers[0].step()
			w.create()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := w.servers[2].run.keeper.Fence(ctx, ballot.FenceRequest{
				Group: "content", Term: 5, Candidate: votes.Holder{Server: names[1]}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(w.servers[2].run.offlineWithin).To(BeNumerically("~", within, time.Second))
		})
	}
}

// A replica that was taken OFFLINE for a candidate is not again when that one asks once more, but for another one, and
// where it was SECONDARY meanwhile.
func TestAReplicaIsTakenOfflineOncePerPromise(t *testing.T) {
	w, g := held(t)
	s := w.servers[2]
	for _, c := range []struct {
		term     int64
		role     ballot.Role
		offlines int
	}{{5, "", 1}, {5, "", 1}, {6, "", 2}, {6, ballot.RoleSecondary, 3}, {6, "", 3}} {
		if c.role != "" {
			s.run.role = c.role
		}
		report, err := s.fence(t, c.term, votes.Holder{Server: names[1]})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(report.Role).To(Equal(ballot.RoleResolving))
		g.Expect(s.run.offlines).To(Equal(c.offlines))
	}
}
