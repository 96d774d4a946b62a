// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/endpoint"
	"geosql.dev/operator/internal/election/votes"
)

// Which remedy is due for a replica that does not come back, and how long it is left alone before.
func TestTheRemedyOfARejoin(t *testing.T) {
	type change = func(*rejoinView)
	latched := func(since, asked, age, cured time.Duration) change {
		return func(v *rejoinView) {
			v.seen.Role, v.seen.Connected, v.seen.Primary = ballot.RoleResolving, false, ""
			v.latched, v.asked, v.age, v.cured = since, asked, age, cured
		}
	}
	seeding := func(still time.Duration) change {
		return func(v *rejoinView) { v.seen.Seeding, v.still = true, still }
	}
	disconnected := func(d time.Duration, times int) change {
		return func(v *rejoinView) { v.seen.Connected, v.stranger, v.strangers = false, d, times }
	}
	names := func(primary string, d time.Duration) change {
		return func(v *rejoinView) { v.seen.Primary, v.stranger = primary, d }
	}
	standing := func(d time.Duration, times int) change {
		return func(v *rejoinView) { v.standing, v.remedies, v.age = d, times, time.Hour }
	}
	moved := func(v *rejoinView) { v.moved = true }
	holder := func(w heldWord) change { return func(v *rejoinView) { v.held = w } }
	none, become := rejoinStep{}, rejoinStep{become: true, why: causeResolving}
	cure := rejoinStep{offline: true, restart: true, restartHolder: true, why: causeLatched}
	anew := rejoinStep{offline: true, become: true, why: causeStranger}
	for name, c := range map[string]struct {
		changes []change
		want    rejoinStep
	}{
		"asked a moment ago":               {[]change{latched(0, 1, time.Second, 0)}, none},
		"asked, and resolving still":       {[]change{latched(0, ballot.BecomeWithin, time.Second, 0)}, become},
		"41104, just now":                  {[]change{latched(1, 1, time.Hour, 0)}, none},
		"41104, and asked ten seconds ago": {[]change{latched(roleAgain, roleAgain, time.Hour, 0)}, become},
		"41104 for long":                   {[]change{latched(latchedPatience, 1, endpoint.Settling, 0)}, cure},
		"41104 for long, of a new primary": {[]change{latched(latchedPatience, 1, endpoint.Settling-1, 0)}, none},
		"41104 for long, cured lately":     {[]change{latched(time.Hour, 1, time.Hour, endpoint.Again-1)}, none},
		"41104 for long, cured long ago":   {[]change{latched(time.Hour, 1, time.Hour, endpoint.Again)}, cure},
		"41104 for long, cured twice": {[]change{latched(time.Hour, 1, time.Hour, 2*endpoint.Again-1),
			func(v *rejoinView) { v.cures = 2 }}, none},
		"41104 for long, being seeded": {
			[]change{latched(time.Hour, time.Hour, time.Hour, 0), seeding(time.Second)}, none},
		"41104 for long, and a seeding that has stopped": {
			[]change{latched(time.Hour, time.Hour, time.Hour, 0), seeding(resolvingSeeding)}, cure},
		"joined just now": {
			[]change{latched(0, 0, time.Hour, 0), func(v *rejoinView) { v.joined = joinedPatience - 1 }}, none},
		"joined some time ago": {
			[]change{latched(0, 0, time.Hour, 0), func(v *rejoinView) { v.joined = joinedPatience }}, become},

		"disconnected":                {[]change{disconnected(strangerPatience, 0)}, anew},
		"disconnected, not for long":  {[]change{disconnected(strangerPatience-1, 0)}, none},
		"disconnected, once more":     {[]change{disconnected(2*strangerPatience-1, 1)}, none},
		"disconnected, twice as long": {[]change{disconnected(2*strangerPatience, 1)}, anew},
		"disconnected, the ninth time": {
			[]change{disconnected(strangerPatience<<maxDoublings, 9)}, anew},
		"disconnected, bound to the primary before": {[]change{disconnected(strayedPatience, 0), moved}, anew},
		"disconnected, bound to the primary before, not for long": {
			[]change{disconnected(strayedPatience-1, 0), moved}, none},
		"disconnected, with a long session time-out": {[]change{disconnected(35*time.Second-1, 0),
			func(v *rejoinView) { v.seen.SessionTimeout = 30 * time.Second }}, none},
		"disconnected, for longer than that": {[]change{disconnected(35*time.Second, 0),
			func(v *rejoinView) { v.seen.SessionTimeout = 30 * time.Second }}, anew},
		"disconnected, and being seeded": {[]change{disconnected(time.Hour, 0), seeding(time.Second)}, none},
		"disconnected, and a seeding that has stopped": {
			[]change{disconnected(time.Hour, 0), seeding(seedingPatience)}, anew},
		"it names nobody": {[]change{names("", time.Hour)}, none},
		"it names another, and the holder does not say": {[]change{names("own-0", time.Hour)}, none},
		"it names another, and the holder sees it move": {
			[]change{names("own-0", time.Hour), holder(heldWord{heard: true, moves: true})}, none},
		"it names another, and the holder does not see it": {
			[]change{names("own-0", time.Hour), holder(heldWord{heard: true})}, anew},
		"it names another, not for long": {
			[]change{names("own-0", strangerPatience-1), holder(heldWord{heard: true})}, none},

		"it stands, not for long": {[]change{standing(standingPatience-1, 0)}, none},
		"it stands":               {[]change{standing(standingPatience, 0)}, rejoinStep{become: true, why: causeStanding}},
		"it stands, the second time": {
			[]change{standing(standingPatience, 1)}, rejoinStep{restart: true, why: causeStanding}},
		"it stands, the third time": {[]change{standing(standingPatience, 2)},
			rejoinStep{restart: true, restartHolder: true, why: causeStanding}},
		"it stands, the fourth time": {[]change{standing(standingPatience, 3)}, none},
		"it stands, the fourth time, twice as long": {[]change{standing(2*standingPatience, 3)},
			rejoinStep{restart: true, restartHolder: true, why: causeStanding}},
		"it stands, and the primary is new": {
			[]change{standing(standingPatience, 2), func(v *rejoinView) { v.age = endpoint.Settling - 1 }}, none},
		"it stands, and the primary is so no more": {
			[]change{standing(standingPatience, 2), func(v *rejoinView) { v.age = endpoint.Settling }},
			rejoinStep{restart: true, restartHolder: true, why: causeStanding}},
		"it stands, and the endpoints were restarted lately": {
			[]change{standing(standingPatience, 2), func(v *rejoinView) { v.cured = endpoint.Again - 1 }}, none},
		"it stands, and is seeded": {[]change{standing(time.Hour, 0), seeding(1)}, none},
		"it stands, and the holder seeds it": {
			[]change{standing(time.Hour, 0), holder(heldWord{heard: true, seeded: true})}, none},
		"it stands, bound to the primary before": {[]change{moved, standing(movedPatience, 0)},
			rejoinStep{offline: true, become: true, why: causeStanding}},
		"it stands, bound to the primary before, not for long": {[]change{moved, standing(movedPatience-1, 0)}, none},
	} {
		t.Run(name, func(t *testing.T) {
			v := follower()
			for _, change := range c.changes {
				change(&v)
			}
			NewWithT(t).Expect(planRejoin(v)).To(Equal(c.want))
		})
	}
}

// roles has an engine whose role follows from what it is asked.
func (b *bench) roles() {
	b.follows = func(s string) {
		switch s {
		case "OFFLINE":
			b.seen.Role, b.seen.Connected = ballot.RoleResolving, false
		case "SECONDARY":
			if b.refused == nil {
				b.seen.Role, b.seen.Connected = ballot.RoleSecondary, true
			}
		}
	}
}

// A secondary that does not follow the holder is given time for it, from when the term began or it followed last, and
// more each time that it was taken OFFLINE in vain.
func TestHowLongAStrangerIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, nil)
	step := func(after time.Duration) []string { return b.stepped(t, after) }
	g.Expect(step(time.Second)).To(BeEmpty())
	b.seen.Connected = false
	g.Expect(step(time.Second)).To(BeEmpty(), "it has followed until a second ago")
	b.seen.Connected = true
	g.Expect(step(3 * time.Second)).To(BeEmpty())
	b.seen.Connected = false
	g.Expect(step(strangerPatience-1)).To(BeEmpty(), "it has followed in between")
	b.vote(votes.Record{Term: 6, State: votes.StateHeld, Holder: rival})
	g.Expect(step(time.Second)).To(BeEmpty(), "another term")
	g.Expect(step(strangerPatience - 1)).To(BeEmpty())
	b.roles()
	g.Expect(step(1)).To(Equal([]string{"OFFLINE", "SECONDARY"}))
	b.seen.Connected = false
	g.Expect(step(strangerPatience)).To(BeEmpty())
	g.Expect(step(strangerPatience)).To(Equal([]string{"OFFLINE", "SECONDARY"}))
}

// A replica that follows and takes no log is made a secondary again, without OFFLINE; then its endpoint is restarted,
// and then the holder's, too. Any progress begins the time anew.
func TestWhatIsDoneForAReplicaThatTakesNoLog(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, nil)
	b.roles()
	step := func(after time.Duration) []string { return b.stepped(t, after) }
	b.seen.Standing = []string{"App"}
	step(0)
	g.Expect(step(standingPatience - 1)).To(BeEmpty())
	b.seen.Progress = "it has received something"
	g.Expect(step(1)).To(BeEmpty())
	g.Expect(step(standingPatience - 1)).To(BeEmpty())
	g.Expect(step(1)).To(Equal([]string{"SECONDARY"}))
	g.Expect(step(standingPatience)).To(Equal([]string{"ENDPOINT"}))
	g.Expect(step(standingPatience)).To(Equal([]string{"ENDPOINT", "ENDPOINT OF rival-0"}))
	g.Expect(step(standingPatience)).To(BeEmpty())
	g.Expect(step(standingPatience)).To(Equal([]string{"ENDPOINT", "ENDPOINT OF rival-0"}))
}

// A holder's agent that does not restart its endpoint is told of: this replica waits for a cure that has not come.
func TestAHoldersEndpointThatIsNotRestarted(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, nil)
	b.roles()
	b.seen.Standing = []string{"App"}
	b.stepped(t, 0)
	g.Expect(b.stepped(t, standingPatience)).To(Equal([]string{"SECONDARY"}))
	g.Expect(b.stepped(t, standingPatience)).To(Equal([]string{"ENDPOINT"}))
	b.follows = func(statement string) {
		if statement == "ENDPOINT OF rival-0" {
			b.refused = errAway
		}
	}
	b.clock.At, b.statements = b.clock.At+standingPatience, nil
	for _, v := range b.voters {
		v.Record.Holder.Nonce, v.Version = b.nonce(), v.Version+1
	}
	out := b.Step(t.Context())
	g.Expect(b.statements).To(Equal([]string{"ENDPOINT", "ENDPOINT OF rival-0"}))
	g.Expect(out.Err).To(And(MatchError(errAway), MatchError(ContainSubstring("of rival-0 restarted"))))
}

// A secondary that nobody has fenced when another server became primary is bound to the one before.
func TestABystanderIsTakenOfflineOnceForANewPrimary(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, nil)
	b.roles()
	step := func(after time.Duration) []string { return b.stepped(t, after) }
	step(0)
	third := votes.Holder{Server: "third-0", PodUID: "pod", Engine: "run"}
	b.vote(votes.Record{Term: 6, State: votes.StateHeld, Holder: third})
	b.seen.Primary, b.seen.Standing = "third-0", []string{"App"}
	step(0)
	g.Expect(step(movedPatience - 1)).To(BeEmpty())
	g.Expect(step(1)).To(Equal([]string{"OFFLINE", "SECONDARY"}))
	g.Expect(step(standingPatience - 1)).To(BeEmpty())
}

// While the engine answers 41104 it is asked every ten seconds, which is no error. When that lasts, the replica is
// taken OFFLINE and the endpoints of both sides are restarted, not before the new primary has served for a while.
func TestAFormerPrimaryThatGoesOnKnowingNoPrimary(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, nil)
	b.roles()
	b.seen.Role, b.seen.Connected = ballot.RoleResolving, false
	refuse := func() { b.refused = ErrNoPrimaryYet }
	refuse()
	step := func(after time.Duration) []string { return b.stepped(t, after) }
	g.Expect(step(0)).To(Equal([]string{"SECONDARY"}))
	g.Expect(step(roleAgain - 1)).To(BeEmpty())
	g.Expect(step(1)).To(Equal([]string{"SECONDARY"}))
	g.Expect(step(roleAgain)).To(Equal([]string{"SECONDARY"}))
	b.refused = nil
	g.Expect(step(roleAgain)).To(Equal([]string{"OFFLINE", "ENDPOINT", "ENDPOINT OF rival-0"}))
	refuse()
	g.Expect(step(roleAgain - 1)).To(BeEmpty())
	for range 8 {
		g.Expect(step(roleAgain)).To(Equal([]string{"SECONDARY"}))
	}
	b.refused = nil
	g.Expect(step(roleAgain)).To(Equal([]string{"OFFLINE", "ENDPOINT", "ENDPOINT OF rival-0"}))
	g.Expect(step(roleAgain)).To(Equal([]string{"SECONDARY"}))
	g.Expect(b.seen.Role).To(Equal(ballot.RoleSecondary))
}

// A replica that has just joined becomes a secondary by itself.
func TestAReplicaThatHasJoinedIsLeftAloneAtFirst(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, nil)
	b.roles()
	b.seen = ballot.Observation{}
	step := func(after time.Duration) []string { return b.stepped(t, after) }
	g.Expect(step(time.Second)).To(BeEmpty())
	b.seen = ballot.Observation{Exists: true, Role: ballot.RoleResolving, Mode: ballot.ModeSynchronous}
	g.Expect(step(time.Second)).To(BeEmpty())
	g.Expect(step(joinedPatience - 1)).To(BeEmpty())
	g.Expect(step(1)).To(Equal([]string{"SECONDARY"}))
}

// SET (ROLE = SECONDARY) makes the only replica with data the primary: it is not sent there.
func TestTheOnlyReplicaIsNotMadeASecondary(t *testing.T) {
	for name, c := range map[string]struct {
		others     []ballot.Replica
		statements []string
	}{
		"alone": {nil, nil},
		"beside one that holds no data": {
			[]ballot.Replica{{Server: "rival-0", Mode: ballot.ModeConfigurationOnly}}, nil},
		"beside one whose mode nobody knows yet": {[]ballot.Replica{{Server: "rival-0"}}, []string{"SECONDARY"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := rejoins(t, nil)
			b.seen.Role, b.seen.Connected = ballot.RoleResolving, false
			b.shown.Replicas = append([]ballot.Replica{{Server: "own-0", Mode: ballot.ModeSynchronous}}, c.others...)
			out := b.Step(t.Context())
			g.Expect(b.statements).To(Equal(c.statements))
			if c.statements == nil {
				g.Expect(out.Err).To(MatchError(errOnlyReplica))
			}
		})
	}
}

// The holder restarts its endpoint for another replica once it has served for a while, and not again at once.
func TestTheHoldersEndpointIsRestartedNowAndThen(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, alike(votes.Record{Term: 5, State: votes.StateHeld, Holder: own})...)
	b.seen.Role, b.seen.Primary = ballot.RolePrimary, "own-0"
	g.Expect(b.Keeper.RestartEndpoint(t.Context(), false)).To(MatchError(ContainSubstring("does not hold")))
	b.refused = nil
	for b.Keeper.state != votes.StateHeld || b.Keeper.endpoint.term == 0 {
		b.Step(t.Context())
	}
	feeds := true
	ask := func(after time.Duration) []string {
		b.clock.At += after
		b.statements = nil
		_ = b.Keeper.RestartEndpoint(t.Context(), feeds)
		return b.statements
	}
	g.Expect(ask(endpoint.Settling-1)).To(BeEmpty(), "it is new")
	g.Expect(ask(1)).To(Equal([]string{"ENDPOINT"}))
	g.Expect(ask(endpoint.Again - 1)).To(BeEmpty())
	g.Expect(ask(1)).To(Equal([]string{"ENDPOINT"}))
	g.Expect(ask(2*endpoint.Again-1)).To(BeEmpty(), "the next one comes after twice the time")
	g.Expect(ask(1)).To(BeEmpty(), "others take its log, and it did not help twice")
	feeds = false
	g.Expect(ask(0)).To(Equal([]string{"ENDPOINT"}))
}
