// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A quarantined replica has, of the databases of the fork, those whose log goes on behind it, or ends nobody knows
// where.
func TestWhatAQuarantinedReplicaHas(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	fork := &votes.Fork{
		Term:      3,
		Server:    "new-0",
		Databases: map[string]string{"App": "5", "Shop": "5", "Web": "5", "Log": "5"},
	}
	got := apartOf(rejoinView{self: "old-0", fork: fork, local: []ballot.DatabaseState{
		{Name: "App", HardenedLSN: "6", LastCommit: &at}, {Name: "Shop", HardenedLSN: "5"}, {Name: "Web", HardenedLSN: "4"},
		{Name: "Log"}, {Name: "New", HardenedLSN: "9"}, {Name: "Newer"},
	}})
	NewWithT(t).Expect(got).To(Equal(votes.Apart{Server: "old-0", Term: 3, Databases: []votes.ApartDatabase{
		{Name: "App", FromLSN: "5", ToLSN: "6", LastCommit: votes.MicroTime(at)}, {Name: "Log", FromLSN: "5"},
	}}))
}

// The voters are told once that a replica is quarantined, and once more when it is no longer.
func TestTheEndOfAQuarantineIsTold(t *testing.T) {
	entry := func(server string, over bool) votes.Apart { return votes.Apart{Server: server, Term: 4, Over: over} }
	for name, c := range map[string]struct {
		told    []votes.Apart
		cleared int64
		want    []votes.Apart
	}{
		"decided": {[]votes.Apart{entry("own-0", false)}, 4, []votes.Apart{entry("own-0", true)}},
		"decided, the second of two": {
			[]votes.Apart{entry("third-0", false), entry("OWN-0", false)}, 4,
			[]votes.Apart{entry("OWN-0", true), entry("third-0", false)},
		},
		"told before":            {[]votes.Apart{entry("own-0", true)}, 4, []votes.Apart{entry("own-0", true)}},
		"not decided":            {[]votes.Apart{entry("own-0", false)}, 3, []votes.Apart{entry("own-0", false)}},
		"another is quarantined": {[]votes.Apart{entry("third-0", false)}, 4, []votes.Apart{entry("third-0", false)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			vote := votes.Record{
				Term:   5,
				State:  votes.StateHeld,
				Holder: rival,
				Notes:  votes.Notes{Apart: votes.EncodeNote(c.told)},
			}
			b := newBench(t, alike(vote)...)
			v := rejoinView{
				self:       "own-0",
				fork:       &votes.Fork{Term: 4, Server: "rival-0"},
				remembered: Remembered{Cleared: c.cleared},
			}
			b.tellApart(t.Context(), v, false)
			g.Expect(votes.QuarantinedReplicas(b.voters[0].Record)).To(Equal(c.want))
			before := b.voters[0].Version
			b.ballot.Read(t.Context(), ballot.Patient)
			b.tellApart(t.Context(), v, false)
			g.Expect(b.voters[0].Version).To(Equal(before))
		})
	}
}
