// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// vote is one voter's record as last read.
type vote struct {
	record  votes.Record
	version string
	// err is why the record is not known; ErrAbsent when the voter has none.
	err error
	// changed is when this vote was first seen as it is, on the reader's clock, and read when it was last read.
	changed, read time.Duration
	// restored is what counts as absent because it is older than what was seen before, and restoredAs its version; empty
	// for none.
	restored   votes.Record
	restoredAs string
	// taken says that what it tells of terms is believed, beyond that it is not: it counts as absent then.
	taken, beyond bool
}

func (v vote) known() bool { return v.err == nil }

// errUnused means that the voter has one that has never had a vote, of a group that there is.
var errUnused = fmt.Errorf(
	"it has never had a vote, and another one may have stood there that had: %w",
	votes.ErrAbsent,
)

// errBeyond means that the vote tells of a term that nobody can have claimed.
var errBeyond = errors.New("its term is not believed")

// Ballot is one group's votes at all its voters. Who votes is the newest configuration that it was told or has read.
type Ballot struct {
	// voters are all sites that can be asked, those that do not vote now among them.
	voters     []votes.Voter
	clock      Clock
	apiTimeout time.Duration

	mu            sync.Mutex
	configuration votes.Configuration
	votes         []vote
	// highest is the highest term seen at each voter, newest the newest configuration: a lower or older one later (a
	// restored etcd) counts as absent.
	highest []int64
	newest  []votes.Configuration
	// reached is the highest term that is known of the group (votes.TermStep).
	reached int64
	// begun says that there is the group, or was: a vote that has never been anybody's counts as absent then.
	begun bool
	// silent are the voters that have let a whole API time-out pass without an answer; rounds counts the patient ones.
	silent []bool
	rounds int
	// hurrying is how many wait for the end of a round; hurried is closed while any does.
	hurrying int
	hurried  chan struct{}
}

// New makes the ballot of a group with a configuration. voters are those that can be asked: one that votes and is not
// among them is one that never answers.
func New(c votes.Configuration, voters []votes.Voter, clock Clock, apiTimeout time.Duration) *Ballot {
	n := len(voters)
	b := &Ballot{voters: voters, configuration: c, clock: clock, apiTimeout: apiTimeout, hurried: make(chan struct{}),
		votes: make([]vote, n), highest: make([]int64, n), newest: make([]votes.Configuration, n), silent: make([]bool, n)}
	for i := range b.votes {
		b.votes[i].err = errors.New("not read yet")
	}
	return b
}

// Pace says how long voters are waited for that nobody needs any more.
type Pace bool

const (
	// Patient waits for every voter up to the API time-out: no vote falls behind. For one that has let a whole time-out
	// pass before it waits only in every probeEvery-th round.
	Patient Pace = false
	// Quick goes on shortly after a majority has answered, and at once where only voters are left that have let a whole
	// API time-out pass before: an election under way must not wait for a voter that is cut off.
	Quick Pace = true
)

const (
	// QuickGrace is what silent voters get in a patient round once a majority has answered.
	QuickGrace = 200 * time.Millisecond
	// majorityGrace is what the remaining voters get at the pace Quick: enough for one as near as those of the majority,
	// less than a far one takes, for which each of an election's five rounds would wait. Its vote falls behind until the
	// next patient round.
	majorityGrace = 30 * time.Millisecond
	// probeEvery is how many patient rounds there are to one that waits for silent voters, too. It is well below the
	// rounds in which a vote expires: one that only was slow once falls behind for no longer than that.
	probeEvery = 4
)

// each runs one call per voter that votes in parallel, each bounded by the API time-out, and returns when all have
// ended. A call says whether it counts; those that are left over once a majority counted are ended soon where nobody
// needs them.
func (b *Ballot) each(ctx context.Context, pace Pace, call func(ctx context.Context, i int, v votes.Voter) bool) Tally {
	ctx, cancel := context.WithTimeout(ctx, b.apiTimeout)
	defer cancel()
	silent, probe, hurried := b.begin(pace)
	c := b.Configuration()
	members := b.members(c)
	type answer struct {
		voter   int
		counted bool
	}
	answers := make(chan answer, len(members))
	var counted []int
	hurry, waiting := false, slices.Clone(members)
	for _, i := range members {
		go func() { answers <- answer{i, call(ctx, i, b.voters[i])} }()
	}
	for len(waiting) > 0 {
		select {
		case <-hurried:
			hurry, hurried = true, nil
		case a := <-answers:
			waiting = slices.DeleteFunc(waiting, func(i int) bool { return i == a.voter })
			b.heard(a.voter, ctx.Err())
			if a.counted {
				counted = append(counted, a.voter)
			}
		}
		if !b.quorum(c, counted) {
			continue
		}
		onlySilent := !slices.ContainsFunc(waiting, func(i int) bool { return !silent[i] })
		switch {
		case hurry, onlySilent && pace == Quick:
			cancel()
		case pace == Quick:
			defer time.AfterFunc(majorityGrace, cancel).Stop()
		case onlySilent && !probe:
			defer time.AfterFunc(QuickGrace, cancel).Stop()
		}
	}
	return Tally{Granted: len(counted), Configuration: c, Carried: b.quorum(c, counted) && b.Configuration().Same(c)}
}

// begin says which voters are silent, whether this round waits for them all the same, and what is closed when somebody
// waits for its end.
func (b *Ballot) begin(pace Pace) (silent []bool, probe bool, hurried <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if pace == Patient {
		b.rounds++
		probe = b.rounds%probeEvery == 0
	}
	return slices.Clone(b.silent), probe, b.hurried
}

// Hurry lets the round under way, and those that begin before the returned function is called, end as soon as a
// majority has answered: somebody waits for this agent. It may be called while others use the ballot.
func (b *Ballot) Hurry() (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hurrying++; b.hurrying == 1 {
		close(b.hurried)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.hurrying--; b.hurrying == 0 {
			b.hurried = make(chan struct{})
		}
	}
}

// AllHeard says whether no voter is silent.
func (b *Ballot) AllHeard() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !slices.ContainsFunc(b.members(b.configuration), func(i int) bool { return b.silent[i] })
}

// heard notes how a voter's call ended: before the round was over, with its time-out, or because nobody waited for it.
func (b *Ballot) heard(i int, over error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case over == nil:
		b.silent[i] = false
	case errors.Is(over, context.DeadlineExceeded):
		b.silent[i] = true
	}
}

// Read reads all votes and returns the leading record. ok is false when fewer than a majority answered: then nothing is
// known. Where a newer configuration turns up, those that vote in it are read as well.
func (b *Ballot) Read(ctx context.Context, pace Pace) (leading votes.Record, ok bool) {
	for range MaxConfigurations {
		t := b.each(ctx, pace, func(ctx context.Context, i int, v votes.Voter) bool {
			record, version, err := v.Read(ctx)
			b.remember(i, record, version, err)
			return b.vote(i).known()
		})
		if b.Configuration().Same(t.Configuration) {
			break
		}
	}
	return b.Leading()
}

// MaxConfigurations is how many newer configurations of voters in a row one reading follows.
const MaxConfigurations = 3

// remember stores what a voter said. A term below one seen before, or an older configuration, is a restored etcd: it
// counts as absent, as does one that is not believed. Who votes is told by those that vote alone.
func (b *Ballot) remember(i int, r votes.Record, version string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := r.Configuration()
	b.votes[i].restored, b.votes[i].restoredAs = votes.Record{}, ""
	b.votes[i].taken, b.votes[i].beyond = false, false
	if err == nil && (r.Term < b.highest[i] || b.newest[i].Newer(c)) {
		b.votes[i].restored, b.votes[i].restoredAs = r, version
		err = votes.ErrAbsent
	}
	if err == nil {
		err = c.Contradicts(b.configuration)
	}
	if err != nil {
		b.votes[i].err = err
		return
	}
	now := b.clock.Now()
	// A vote that was out of sight for a while may have been another one meanwhile, and restored.
	if b.votes[i].version == "" || !b.votes[i].record.SameVote(r) || now-b.votes[i].read > outOfSight*b.apiTimeout {
		b.votes[i].changed = now
	}
	b.votes[i].read = now
	b.votes[i].record, b.votes[i].version, b.votes[i].err = r, version, nil
	b.settleLocked()
}

// Leading is the record that a majority of the voters agrees on, or, when they agree on none, that of the highest term
// among the votes last read; within a term a Held or Claimed one leads a Released one. ok is false when fewer than a
// majority are known.
func (b *Ballot) Leading() (leading votes.Record, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.knownLocked()
	for n, i := range known {
		r := b.votes[i].record
		if b.quorum(b.configuration, b.likeLocked(r.Alike)) {
			return r, true
		}
		if n == 0 || r.Leads(leading) {
			leading = r
		}
	}
	return leading, b.quorum(b.configuration, known)
}

// Agreed says whether a majority of the votes, as last known, are a run's in a term. They stay so in that term: nobody
// else replaces them by a vote that is not of a higher one.
func (b *Ballot) Agreed(term int64, holder votes.Holder) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.quorum(b.configuration, b.likeLocked(func(r votes.Record) bool {
		return r.Term == term && r.State != votes.StateReleased && r.Holder.SameRun(holder)
	}))
}

// Outdone says whether a vote is known that no round of a run in a term replaces: one of a higher term, or another
// run's of that one.
func (b *Ballot) Outdone(term int64, holder votes.Holder) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.likeLocked(func(r votes.Record) bool {
		return r.Term > term || r.Term == term && !r.Holder.SameRun(holder)
	})) > 0
}

// likeLocked are the indexes of those that vote and whose votes are known to be so, in the order of the configuration.
func (b *Ballot) likeLocked(so func(votes.Record) bool) []int {
	return slices.DeleteFunc(b.members(b.configuration), func(i int) bool {
		v := b.voteLocked(i)
		return !v.known() || !so(v.record)
	})
}

// knownLocked are the indexes of those that vote and whose votes are known, in the order of the configuration.
func (b *Ballot) knownLocked() []int { return b.likeLocked(func(votes.Record) bool { return true }) }

// outOfSight is after how many API time-outs without a reading a vote counts as changed.
const outOfSight = 3

// staleFor is how long a voter's vote has been seen as the given one; 0 when it is another one, or not known.
func (b *Ballot) staleFor(i int, present votes.Record) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.voteLocked(i)
	if !v.known() || !v.record.SameVote(present) {
		return 0
	}
	return b.clock.Now() - v.changed
}

// HighestTerm is the highest term ever seen, and believed, at any voter.
func (b *Ballot) HighestTerm() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Max(b.highest)
}

// Released says whether the holder of the leading term gave it up. One voter's word is enough, since only the holder
// itself writes it, once its engine serves no more, and never takes the term again.
func (b *Ballot) Released() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.knownLocked()
	var highest int64
	for _, i := range known {
		highest = max(highest, b.votes[i].record.Term)
	}
	released := b.likeLocked(func(r votes.Record) bool { return r.Term == highest && r.State == votes.StateReleased })
	return b.quorum(b.configuration, known) && len(released) > 0
}

// ReleasedRuns are the released votes that are known.
func (b *Ballot) ReleasedRuns() (released []votes.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range b.likeLocked(func(r votes.Record) bool { return r.State == votes.StateReleased }) {
		released = append(released, b.votes[i].record)
	}
	return released
}

// UnchangedFor is how long a majority of the votes has been seen unchanged, on this clock. It is zero when no majority
// is known. A reader that restarted starts counting again.
func (b *Ballot) UnchangedFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	eldest := b.knownLocked()
	slices.SortFunc(eldest, func(x, y int) int { return cmp.Compare(b.votes[x].changed, b.votes[y].changed) })
	for n, i := range eldest {
		if b.quorum(b.configuration, eldest[:n+1]) {
			return b.clock.Now() - b.votes[i].changed
		}
	}
	return 0
}

// Cast swaps r in wherever allowed says that the present vote may be replaced; voters that have it then have granted
// it. Notes of r are added to those that are there. A swap whose answer was lost is read again and counts if the voter
// has r's nonce.
func (b *Ballot) Cast(ctx context.Context, pace Pace, r votes.Record, allowed func(present votes.Record) bool) Tally {
	return b.swapAll(ctx, pace, func(_ int, present votes.Record) bool { return allowed(present) }, r.Over)
}

// Claim is Cast for a new term: a vote may be replaced only if its holder is known to be over, or if this very vote has
// been seen unchanged for stale. A holder that has just renewed it has a majority to rely on.
func (b *Ballot) Claim(
	ctx context.Context,
	r votes.Record,
	stale time.Duration,
	over func(present votes.Record) bool,
) Tally {
	return b.swapAll(ctx, Quick, func(i int, present votes.Record) bool {
		return present.Term < r.Term &&
			(present.State == votes.StateReleased || over(present) || b.staleFor(i, present) >= stale)
	}, r.Over)
}

// Note adds notes to all voters that can be written and changes no vote.
func (b *Ballot) Note(ctx context.Context, notes votes.Notes) Tally {
	return b.swapAll(ctx, Patient, func(int, votes.Record) bool { return true }, func(present votes.Record) votes.Record {
		present.Notes = present.Notes.With(notes)
		return present
	})
}

func (b *Ballot) swapAll(
	ctx context.Context,
	pace Pace,
	allowed func(int, votes.Record) bool,
	change func(present votes.Record) votes.Record,
) Tally {
	return b.each(ctx, pace, func(ctx context.Context, i int, v votes.Voter) bool {
		return b.swapOne(ctx, i, v, allowed, change)
	})
}

func (b *Ballot) swapOne(
	ctx context.Context,
	i int,
	v votes.Voter,
	allowed func(int, votes.Record) bool,
	change func(votes.Record) votes.Record,
) bool {
	present := b.vote(i)
	for attempt := range 2 {
		if !present.known() || attempt > 0 {
			record, version, err := v.Read(ctx)
			b.remember(i, record, version, err)
			if present = b.vote(i); !present.known() {
				return false
			}
			if attempt > 0 && present.record == b.configured(change(present.record)) {
				return true
			}
		}
		if !allowed(i, present.record) {
			return false
		}
		next := b.configured(change(present.record))
		version, err := v.Swap(ctx, present.version, next)
		if err == nil {
			b.remember(i, next, version, nil)
			return true
		}
	}
	return false
}

func (b *Ballot) vote(i int) vote {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.voteLocked(i)
}

func (b *Ballot) voteLocked(i int) vote {
	v := b.votes[i]
	switch {
	case v.err != nil:
	case v.beyond:
		v.err = errBeyond
	case v.record.Unused() && b.begun:
		v.err = errUnused
	}
	return v
}

// Begun says that there is the group: from now on no Lease counts that has never had a vote. It may stand where another
// one was lost whose vote somebody relies on for a while yet.
func (b *Ballot) Begun() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = true
}

// NeverUsed says whether so many Leases have never had a vote that the others are no majority.
func (b *Ballot) NeverUsed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.configuration.Quorum(func(site string) bool {
		i := b.find(site)
		return i < 0 || !errors.Is(b.voteLocked(i).err, errUnused)
	})
}

// Served says whether a majority of the votes, as last known, tells that the group has had a primary. One vote alone
// may be what is left of a former group of the name.
func (b *Ballot) Served() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.quorum(b.configuration, b.likeLocked(votes.Record.TellsOfPrimary))
}

// Notes are those of all known votes.
func (b *Ballot) Notes() []votes.Notes {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []votes.Notes
	for _, i := range b.knownLocked() {
		all = append(all, b.votes[i].record.Notes)
	}
	return all
}

// Snapshot is the name of each that votes with its record, or nil where it is not known.
func (b *Ballot) Snapshot() map[string]*votes.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]*votes.Record, len(b.voters))
	for _, site := range b.configuration.Sites() {
		out[site] = nil
		if i := b.find(site); i >= 0 && b.voteLocked(i).known() {
			r := b.votes[i].record
			out[site] = &r
		}
	}
	return out
}
