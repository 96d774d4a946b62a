// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
)

// A sidecar that refuses to be fenced says for which term, and the one that asked hears it.
func TestARefusalTellsWhichTermWasPromised(t *testing.T) {
	for name, tell := range map[string]func(http.ResponseWriter){
		"40":                          nil,
		"none, by an earlier release": func(w http.ResponseWriter) { w.Header().Del(headerPromised) },
		"more than a Lease has":       func(w http.ResponseWriter) { w.Header().Set(headerPromised, "5000000000") },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := &Holder{options: Options{Log: slog.New(slog.DiscardHandler)}}
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tell != nil {
					tell(w)
					w.WriteHeader(http.StatusConflict)
					return
				}
				h.answer(w, func() (ballot.Report, error) {
					return ballot.Report{}, ballot.Promised(40, fmt.Errorf("promised: %w", ballot.ErrPromised))
				})
			}))
			defer server.Close()
			p := newPeers(t.TempDir(), "web", func(string) []string { return []string{server.Listener.Addr().String()} })
			p.clients["quisec-0"] = &peerClient{http: server.Client(), made: time.Now()}
			_, err := p.Fence(t.Context(), "quisec-0", ballot.FenceRequest{Group: "content", Term: 2})
			g.Expect(err).To(MatchError(ballot.ErrPromised))
			want := int64(0)
			if tell == nil {
				want = 40
			}
			g.Expect(ballot.PromisedTerm(err)).To(Equal(want))
		})
	}
}
