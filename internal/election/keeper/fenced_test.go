// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"cmp"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// A person's word is about a run of an engine. It comes with the nonce of some renewal, or with none of them where the
// hub fills it in.
func TestAFencedHolderIsNotWaitedFor(t *testing.T) {
	for name, nonce := range map[string]string{"as a vote has it": "", "of an earlier renewal": "1",
		"filled in by the hub": "-"} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.servers[0].isolate(true)
			w.servers[0].run.dead = true
			w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[2], FencedHolder: "another/pod/run/1"})
			w.live(3)
			g.Expect(w.answer(g)).
				To(And(HaveField("Outcome", votes.OutcomeRefused), HaveField("Reason", votes.ReasonOtherHolder)))
			word := w.voters[0].record.Holder
			word.Nonce = cmp.Or(nonce, word.Nonce)
			w.ask(votes.Request{ID: "g", Kind: votes.RequestFailover, To: names[2], FencedHolder: word.String()})
			w.live(2)
			g.Expect(w.primary()).To(Equal(w.servers[2]))
			g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "g"), HaveField("Outcome", votes.OutcomeDone))))
		})
	}
}
