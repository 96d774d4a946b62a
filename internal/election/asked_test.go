// SPDX-License-Identifier: Apache-2.0

package election

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// A request by itself: what it must have, and what goes with which kind.
func TestWhichRequestsAreWellFormed(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	base := Request{ID: "a", Kind: RequestFailover, Issued: at}
	for name, c := range map[string]struct {
		change func(*Request)
		says   string
	}{
		"a failover to any":   {func(*Request) {}, ""},
		"no ID":               {func(r *Request) { r.ID = "" }, "needs an id"},
		"no time":             {func(r *Request) { r.Issued = time.Time{} }, "needs an id and the time"},
		"a switchover":        {func(r *Request) { r.Kind, r.To = RequestSwitchover, "a-0" }, ""},
		"a switchover to any": {func(r *Request) { r.Kind = RequestSwitchover }, "needs the server"},
		"a rejoin of any":     {func(r *Request) { r.Kind = RequestRejoin }, "needs the server"},
		"a pause":             {func(r *Request) { r.Kind = RequestPause }, ""},
		"something else":      {func(r *Request) { r.Kind = "Other" }, "is not Switchover"},
		"databases of none": {
			func(r *Request) { r.Kind, r.To = RequestReseedDatabases, "a-0" }, "databases go with",
		},
		"databases of another": {func(r *Request) { r.Databases = []string{"App"} }, "databases go with"},
		"loss":                 {func(r *Request) { r.AllowDataLoss = true }, ""},
		"loss of a pause": {
			func(r *Request) { r.Kind, r.AllowDataLoss = RequestPause, true }, "may allow data loss",
		},
		"a holder that is fenced":    {func(r *Request) { r.FencedHolder = "a-0/pod/run/n" }, ""},
		"a holder that is no holder": {func(r *Request) { r.FencedHolder = "a-0" }, "is not server/podUID/engine/nonce"},
		"a holder that is fenced for a pause": {func(r *Request) { r.Kind, r.FencedHolder = RequestPause, "a-0/pod/run/n" },
			"say that a holder is fenced"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := base
			c.change(&r)
			annotations := map[string]string{}
			r.Annotate(annotations)
			got, ok, err := ParseRequest(annotations)
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(ok).To(BeTrue())
				g.Expect(got).To(Equal(r))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(c.says)))
			g.Expect(ok).To(BeFalse())
		})
	}
	g := NewWithT(t)
	text := encodeJSON(base)
	text += strings.Repeat(" ", maxRequestBytes-len(text))
	_, ok, err := ParseRequest(map[string]string{AnnotationRequest: text})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeTrue())
	_, _, err = ParseRequest(map[string]string{AnnotationRequest: text + " "})
	g.Expect(err).To(MatchError(ContainSubstring("is longer than")))
}

// A person's word is about the run that it names, and about no holder where it names none.
func TestWhoIsFencedByAPersonsWord(t *testing.T) {
	g := NewWithT(t)
	word := rival
	word.Nonce = "n"
	g.Expect(Request{FencedHolder: word.String()}.fences(rival)).To(BeTrue())
	g.Expect(Request{FencedHolder: word.String()}.fences(own)).To(BeFalse())
	g.Expect(Request{}.fences(rival)).To(BeFalse())
	g.Expect(Request{}.fences(Holder{})).To(BeFalse())
	g.Expect(Request{FencedHolder: "rival-0"}.fences(Holder{})).To(BeFalse(), "it cannot be read")
}

// Whether a server may claim the next term.
func TestWhoMayClaim(t *testing.T) {
	timings := DefaultTimings()
	expired := timings.SuspectAfter()
	secondary := Observation{Exists: true, Role: RoleSecondary, Mode: ModeSynchronous}
	of := func(m Mode) Observation { return Observation{Exists: true, Role: RoleSecondary, Mode: m} }
	mine := own
	mine.Engine = "former"
	claim := func(cause Cause) verdict { return verdict{claim: true, cause: cause} }
	plain, loss := &Request{}, &Request{AllowDataLoss: true}
	for name, c := range map[string]struct {
		s    standing
		want verdict
		// waits is a part of why not; want is not asked for then.
		waits string
	}{
		"expired":                      {standing{unchanged: expired}, claim(CauseAutomatic), ""},
		"almost expired":               {standing{unchanged: expired - 1}, verdict{}, "are not being renewed"},
		"not renewed for three":        {standing{unchanged: 3 * timings.Renew}, verdict{}, "are not being renewed"},
		"not renewed for almost three": {standing{unchanged: 3*timings.Renew - 1}, verdict{}, ""},
		"renewed":                      {standing{}, verdict{}, ""},
		"released":                     {standing{released: true}, claim(CauseAutomatic), ""},
		"asked":                        {standing{released: true, request: plain}, claim(CauseFailover), ""},
		"asked, and held":              {standing{request: plain}, verdict{}, ""},
		"asked, and the holder is fenced": {
			standing{request: &Request{FencedHolder: rival.String()}}, claim(CauseFailover), "",
		},
		"its own former engine": {standing{leading: Record{Term: 3, Holder: mine}}, claim(CauseRestart), ""},
		"its own former engine, primary": {
			standing{leading: Record{Term: 3, Holder: mine}, seen: Observation{Exists: true, Role: RolePrimary}},
			verdict{}, "the former pod",
		},
		"its own former pod": {
			standing{leading: Record{Term: 3, Holder: Holder{"own-0", "gone", "run", ""}}}, verdict{}, "the former pod",
		},
		"its own former pod, expired": {
			standing{leading: Record{Term: 3, Holder: Holder{"own-0", "gone", "run", ""}}, unchanged: expired},
			claim(CauseRestart), "",
		},
		"another server of the pod": {
			standing{leading: Record{Term: 3, Holder: Holder{"third-0", "pod", "run", ""}}}, verdict{}, "",
		},
		"it returns": {standing{released: true, returns: true}, claim(CauseRestart), ""},

		"paused":                 {standing{released: true, paused: true}, verdict{}, "paused"},
		"paused, and asked":      {standing{released: true, paused: true, request: plain}, claim(CauseFailover), ""},
		"paused, and it returns": {standing{released: true, paused: true, returns: true}, claim(CauseRestart), ""},
		"paused, and its own":    {standing{leading: Record{Term: 3, Holder: mine}, paused: true}, verdict{}, "paused"},
		"manual":                 {standing{released: true, manual: true}, verdict{}, "manual"},
		"manual, and asked":      {standing{released: true, manual: true, request: plain}, claim(CauseFailover), ""},
		"manual, and it returns": {standing{released: true, manual: true, returns: true}, claim(CauseRestart), ""},
		"manual, and its own":    {standing{leading: Record{Term: 3, Holder: mine}, manual: true}, claim(CauseRestart), ""},
		"behind":                 {standing{released: true, behind: true}, verdict{}, "left this replica behind"},
		"behind, and asked": {
			standing{released: true, behind: true, request: plain}, verdict{}, "left this replica behind",
		},
		"behind, with loss": {standing{released: true, behind: true, request: loss}, claim(CauseFailover), ""},

		"asynchronous": {standing{released: true, seen: of(ModeAsynchronous)}, verdict{}, ""},
		"asynchronous, and asked": {
			standing{released: true, seen: of(ModeAsynchronous), request: plain}, verdict{}, "",
		},
		"asynchronous, with loss": {
			standing{released: true, seen: of(ModeAsynchronous), request: loss}, claim(CauseFailover), "",
		},
		"configuration only": {standing{released: true, seen: of(ModeConfigurationOnly)}, verdict{}, ""},
		"configuration only, with loss": {
			standing{released: true, seen: of(ModeConfigurationOnly), request: loss}, verdict{}, "",
		},
		"of a mode that is not known": {standing{released: true, seen: of("")}, claim(CauseAutomatic), ""},
		"without the group": {
			standing{released: true, seen: Observation{Mode: ModeSynchronous, Role: "none"}}, verdict{}, "",
		},
		"its own, without the group": {
			standing{leading: Record{Term: 3, Holder: mine}, seen: Observation{Role: "none"}}, claim(CauseRestart), "",
		},
		"its own, without it, asynchronous": {
			standing{leading: Record{Term: 3, Holder: mine}, seen: Observation{Role: "none", Mode: ModeAsynchronous}},
			claim(CauseRestart), "",
		},
		"its own, without it, served": {
			standing{leading: Record{Term: 3, Holder: mine}, served: true, seen: Observation{Role: "none"}},
			verdict{}, "the engine does not have the group",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.s
			s.self = own
			if s.leading.Term == 0 {
				s.leading = Record{Term: 3, State: StateHeld, Holder: rival}
			}
			if s.seen.Role == "" {
				s.seen = secondary
			}
			got := judge(s, timings)
			if c.waits == "" {
				NewWithT(t).Expect(got).To(Equal(c.want))
			} else {
				NewWithT(t).Expect(got.claim).To(BeFalse())
				NewWithT(t).Expect(got.wait).To(ContainSubstring(c.waits))
			}
		})
	}
}

// A Failover that this server has begun with is gone on with until something has come of it, or of a term since.
func TestWhichFailoverIsUnfinished(t *testing.T) {
	at := microTime(time.Unix(1_800_000_000, 0))
	r := &Request{ID: "f", Kind: RequestFailover}
	claimed := Record{Term: 4, State: StateClaimed, Holder: own}
	for name, c := range map[string]struct {
		begunIn int64
		leading Record
		lines   []Timeline
		answer  *Answer
		want    bool
	}{
		"nothing has come of it":       {3, claimed, nil, nil, true},
		"nobody knows in which term":   {0, claimed, nil, nil, false},
		"the term that led then, held": {3, Record{Term: 3, State: StateHeld}, nil, nil, true},
		"a term since is held":         {3, Record{Term: 4, State: StateHeld}, nil, nil, false},
		"its attempt is under way": {
			3, claimed, []Timeline{{Term: 4, RequestID: "f", Outcome: OutcomeAccepted}}, nil, true,
		},
		"its attempt has failed": {
			3, claimed, []Timeline{{Term: 4, RequestID: "f", Outcome: OutcomeFailed}}, nil, false,
		},
		"another attempt has failed": {
			3, claimed, []Timeline{{Term: 4, RequestID: "x", Outcome: OutcomeFailed}}, nil, true,
		},
		"another has been promoted": {
			3, claimed, []Timeline{{Term: 4, RequestID: "x", Outcome: OutcomeAccepted, Promoted: at}}, nil, false,
		},
		"one was promoted before": {
			3, claimed, []Timeline{{Term: 3, RequestID: "x", Outcome: OutcomeDone, Promoted: at}}, nil, true,
		},
		"its final answer is to be written": {3, claimed, nil, &Answer{ID: "f", Outcome: OutcomeFailed}, false},
		"another's is":                      {3, claimed, nil, &Answer{ID: "x", Outcome: OutcomeFailed}, true},
		"its answer is not final":           {3, claimed, nil, &Answer{ID: "f", Outcome: OutcomeAccepted}, true},
	} {
		t.Run(name, func(t *testing.T) {
			q := &requests{answer: c.answer}
			NewWithT(t).Expect(q.unfinished(r, gathered{timelines: c.lines}, c.begunIn, c.leading)).To(Equal(c.want))
		})
	}
}

// Which Failover a server may carry out: one to it, or to any, that nobody else has begun with, nothing speaks against,
// and that it has not finished.
func TestWhichFailoverIsCarriedOut(t *testing.T) {
	leading := Record{Term: 3, State: StateHeld, Holder: rival}
	for name, c := range map[string]struct {
		change     func(*Request)
		kind       RequestKind
		accepted   string
		remembered Remembered
		later      time.Duration
		want       bool
	}{
		"to this server":                    {want: true},
		"to any":                            {change: func(r *Request) { r.To = "" }, want: true},
		"to another":                        {change: func(r *Request) { r.To = "third-0" }},
		"a switchover":                      {kind: RequestSwitchover},
		"another has begun":                 {accepted: "third-0"},
		"somebody of this name has":         {accepted: "own-0"},
		"it has begun":                      {accepted: "own-0", remembered: Remembered{Begun: "d", BegunIn: 3}, want: true},
		"it has begun, and nobody knows":    {remembered: Remembered{Begun: "d", BegunIn: 3}, want: true},
		"it has begun, another has said so": {accepted: "third-0", remembered: Remembered{Begun: "d", BegunIn: 3}},
		"it has begun in a former term":     {accepted: "own-0", remembered: Remembered{Begun: "d", BegunIn: 2}},
		"expired":                           {later: DefaultRequestLife + 1},
		"about to expire":                   {later: DefaultRequestLife, want: true},
		"of another term":                   {change: func(r *Request) { r.ExpectedTerm = 2 }},
		"of this term":                      {change: func(r *Request) { r.ExpectedTerm = 3 }, want: true},
		"of another holder":                 {change: func(r *Request) { r.FencedHolder = own.String() }},
		"of this holder":                    {change: func(r *Request) { r.FencedHolder = rival.String() }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(leading)...)
			b.saved = c.remembered
			r := Request{ID: "d", Kind: RequestFailover, To: "own-0", Issued: b.clock.Wall()}
			if c.change != nil {
				c.change(&r)
			}
			if c.kind != "" {
				r.Kind = c.kind
			}
			told := gathered{request: &r, answers: map[string]Answer{}}
			if c.accepted != "" {
				told.answers["d"] = Answer{ID: "d", Outcome: OutcomeAccepted, By: c.accepted}
			}
			b.requests.age(b.Keeper, &r)
			b.clock.now += c.later
			NewWithT(t).Expect(b.requests.failover(b.Keeper, told, leading) != nil).To(Equal(c.want))
		})
	}
}

// A request lapses by the time of day, and by how long it has been seen where a clock is ahead.
func TestWhenARequestLapses(t *testing.T) {
	life := DefaultRequestLife
	for name, c := range map[string]struct {
		// ahead is by how much the clock was that the request was issued by, seen for how long it has been seen.
		ahead, seen, since time.Duration
		want               bool
	}{
		"at its end":                {0, life, 0, false},
		"after its end":             {0, life + 1, 0, true},
		"of a clock that is ahead":  {time.Hour, life, 0, false},
		"of one, and seen for long": {time.Hour, life + 1, 0, true},
		"of a clock that is behind": {-life - 1, 0, 0, true},
		"not for so long":           {0, life + time.Minute, time.Minute, false},
		"for so long":               {0, life + time.Minute + 1, time.Minute, true},
		"ahead, not for so long":    {time.Hour, life + time.Minute, time.Minute, false},
		"ahead, for so long":        {time.Hour, life + time.Minute + 1, time.Minute, true},
		"behind, not for so long":   {-life - 1, 0, time.Minute, false},
		"behind, for so long":       {-life - time.Minute - 1, 0, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(Record{Term: 3, State: StateHeld, Holder: rival})...)
			r := &Request{ID: "d", Issued: b.clock.Wall().Add(c.ahead)}
			b.requests.age(b.Keeper, r)
			b.clock.now += c.seen
			NewWithT(t).Expect(b.requests.lapsed(b.Keeper, r, c.since)).To(Equal(c.want))
			g := NewWithT(t)
			says := b.requests.expired(b.Keeper, r, c.seen)
			if -c.ahead > life {
				g.Expect(says).To(ContainSubstring("the clock is right"))
			} else {
				g.Expect(says).To(Equal("nobody began with it in time"))
			}
		})
	}
}

// A request of nobody's is answered by a server that stands by and has seen it for a while, after those whose clocks
// may
// be behind.
func TestWhichRequestIsNobodys(t *testing.T) {
	grace := 10*time.Second + 3*time.Second
	for name, c := range map[string]struct {
		age, seen time.Duration
		term      int64
		want      bool
	}{
		"seen for long, lapsed for long": {DefaultRequestLife + grace + 1, 3*time.Second + 1, 0, true},
		"seen just now":                  {DefaultRequestLife + grace + 1, 3 * time.Second, 0, false},
		"lapsed just now":                {DefaultRequestLife + grace - 4*time.Second, 3*time.Second + 1, 0, false},
		"this server holds a term":       {DefaultRequestLife + grace + 1, 3*time.Second + 1, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(Record{Term: 3, State: StateHeld, Holder: rival})...)
			b.term = c.term
			r := &Request{ID: "d", Issued: b.clock.Wall().Add(-c.age)}
			b.requests.age(b.Keeper, r)
			b.clock.now += c.seen
			NewWithT(t).Expect(b.orphaned(r, c.seen)).To(Equal(c.want))
		})
	}
}
