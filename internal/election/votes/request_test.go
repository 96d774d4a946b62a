// SPDX-License-Identifier: Apache-2.0

package votes

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
	text := EncodeNote(base)
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
	g.Expect(Request{FencedHolder: word.String()}.Fences(rival)).To(BeTrue())
	g.Expect(Request{FencedHolder: word.String()}.Fences(own)).To(BeFalse())
	g.Expect(Request{}.Fences(rival)).To(BeFalse())
	g.Expect(Request{}.Fences(Holder{})).To(BeFalse())
	g.Expect(Request{FencedHolder: "rival-0"}.Fences(Holder{})).To(BeFalse(), "it cannot be read")
}

// A request waits for as many seconds as it says, and for two minutes where it says none. At the very moment somebody
// may still begin.
func TestHowLongARequestWaits(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	for seconds, life := range map[int]time.Duration{-1: 2 * time.Minute, 0: 2 * time.Minute, 1: time.Second,
		90: 90 * time.Second} {
		g := NewWithT(t)
		r := Request{Issued: at, ExpiresSeconds: seconds}
		g.Expect(r.Life()).To(Equal(life), "%d", seconds)
		g.Expect(r.Expires()).To(Equal(at.Add(life)), "%d", seconds)
		g.Expect(r.Expired(at.Add(life))).To(BeFalse(), "%d", seconds)
		g.Expect(r.Expired(at.Add(life+1))).To(BeTrue(), "%d", seconds)
	}
}
