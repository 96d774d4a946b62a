// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// Whether a server may claim the next term.
func TestWhoMayClaim(t *testing.T) {
	timings := DefaultTimings()
	expired := timings.SuspectAfter()
	secondary := Observation{Exists: true, Role: RoleSecondary, Mode: ModeSynchronous}
	of := func(m Mode) Observation { return Observation{Exists: true, Role: RoleSecondary, Mode: m} }
	mine := own
	mine.Engine = "former"
	claim := func(cause votes.Cause) Verdict { return Verdict{Claim: true, Cause: cause} }
	plain, loss := &votes.Request{}, &votes.Request{AllowDataLoss: true}
	for name, c := range map[string]struct {
		s    Standing
		want Verdict
		// waits is a part of why not; want is not asked for then.
		waits string
	}{
		"expired":                      {Standing{Unchanged: expired}, claim(votes.CauseAutomatic), ""},
		"almost expired":               {Standing{Unchanged: expired - 1}, Verdict{}, "are not being renewed"},
		"not renewed for three":        {Standing{Unchanged: 3 * timings.Renew}, Verdict{}, "are not being renewed"},
		"not renewed for almost three": {Standing{Unchanged: 3*timings.Renew - 1}, Verdict{}, ""},
		"renewed":                      {Standing{}, Verdict{}, ""},
		"released":                     {Standing{Released: true}, claim(votes.CauseAutomatic), ""},
		"asked":                        {Standing{Released: true, Request: plain}, claim(votes.CauseFailover), ""},
		"asked, and held":              {Standing{Request: plain}, Verdict{}, ""},
		"asked, and the holder is fenced": {
			Standing{Request: &votes.Request{FencedHolder: rival.String()}}, claim(votes.CauseFailover), "",
		},
		"its own former engine": {Standing{Leading: votes.Record{Term: 3, Holder: mine}}, claim(votes.CauseRestart), ""},
		"its own former engine, primary": {
			Standing{Leading: votes.Record{Term: 3, Holder: mine}, Seen: Observation{Exists: true, Role: RolePrimary}},
			Verdict{}, "the former pod",
		},
		"its own former pod": {
			Standing{Leading: votes.Record{Term: 3, Holder: votes.Holder{Server: "own-0", PodUID: "gone", Engine: "run"}}},
			Verdict{}, "the former pod",
		},
		"its own former pod, expired": {
			Standing{Leading: votes.Record{Term: 3, Holder: votes.Holder{Server: "own-0", PodUID: "gone", Engine: "run"}},
				Unchanged: expired},
			claim(votes.CauseRestart), "",
		},
		"another server of the pod": {
			Standing{Leading: votes.Record{Term: 3, Holder: votes.Holder{Server: "third-0", PodUID: "pod", Engine: "run"}}},
			Verdict{}, "",
		},
		"it returns": {Standing{Released: true, Returns: true}, claim(votes.CauseRestart), ""},

		"paused":                 {Standing{Released: true, Paused: true}, Verdict{}, "paused"},
		"paused, and asked":      {Standing{Released: true, Paused: true, Request: plain}, claim(votes.CauseFailover), ""},
		"paused, and it returns": {Standing{Released: true, Paused: true, Returns: true}, claim(votes.CauseRestart), ""},
		"paused, and its own":    {Standing{Leading: votes.Record{Term: 3, Holder: mine}, Paused: true}, Verdict{}, "paused"},
		"manual":                 {Standing{Released: true, Manual: true}, Verdict{}, "manual"},
		"manual, and asked":      {Standing{Released: true, Manual: true, Request: plain}, claim(votes.CauseFailover), ""},
		"manual, and it returns": {Standing{Released: true, Manual: true, Returns: true}, claim(votes.CauseRestart), ""},
		"manual, and its own": {Standing{Leading: votes.Record{Term: 3, Holder: mine}, Manual: true},
			claim(votes.CauseRestart), ""},
		"behind": {Standing{Released: true, Behind: true}, Verdict{}, "left this replica behind"},
		"behind, and asked": {
			Standing{Released: true, Behind: true, Request: plain}, Verdict{}, "left this replica behind",
		},
		"behind, with loss": {Standing{Released: true, Behind: true, Request: loss}, claim(votes.CauseFailover), ""},

		"asynchronous": {Standing{Released: true, Seen: of(ModeAsynchronous)}, Verdict{}, ""},
		"asynchronous, and asked": {
			Standing{Released: true, Seen: of(ModeAsynchronous), Request: plain}, Verdict{}, "",
		},
		"asynchronous, with loss": {
			Standing{Released: true, Seen: of(ModeAsynchronous), Request: loss}, claim(votes.CauseFailover), "",
		},
		"configuration only": {Standing{Released: true, Seen: of(ModeConfigurationOnly)}, Verdict{}, ""},
		"configuration only, with loss": {
			Standing{Released: true, Seen: of(ModeConfigurationOnly), Request: loss}, Verdict{}, "",
		},
		"of a mode that is not known": {Standing{Released: true, Seen: of("")}, claim(votes.CauseAutomatic), ""},
		"without the group": {
			Standing{Released: true, Seen: Observation{Mode: ModeSynchronous, Role: "none"}}, Verdict{}, "",
		},
		"its own, without the group": {
			Standing{Leading: votes.Record{Term: 3, Holder: mine}, Seen: Observation{Role: "none"}}, claim(votes.CauseRestart),
			"",
		},
		"its own, without it, asynchronous": {
			Standing{Leading: votes.Record{Term: 3, Holder: mine}, Seen: Observation{Role: "none", Mode: ModeAsynchronous}},
			claim(votes.CauseRestart), "",
		},
		"its own, without it, served": {
			Standing{Leading: votes.Record{Term: 3, Holder: mine}, Served: true, Seen: Observation{Role: "none"}},
			Verdict{}, "the engine does not have the group",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.s
			s.Self = own
			if s.Leading.Term == 0 {
				s.Leading = votes.Record{Term: 3, State: votes.StateHeld, Holder: rival}
			}
			if s.Seen.Role == "" {
				s.Seen = secondary
			}
			got := Judge(s, timings)
			if c.waits == "" {
				NewWithT(t).Expect(got).To(Equal(c.want))
			} else {
				NewWithT(t).Expect(got.Claim).To(BeFalse())
				NewWithT(t).Expect(got.Wait).To(ContainSubstring(c.waits))
			}
		})
	}
}
