// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// asQuisec is a request of the sidecar of quisec-0.
func asQuisec(g *WithT, path string, body any) *http.Request {
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := authority.Issue(credentials.CertificateNames("web", "quisec", nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	block, _ := pem.Decode(data[credentials.KeyCertificate])
	leaf, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	content, err := json.Marshal(body)
	g.Expect(err).NotTo(HaveOccurred())
	request := httptest.NewRequest(http.MethodPost, holder.Pattern+path, bytes.NewReader(content))
	request.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}
	return request
}

// What an agent before this one has sent to the engine, nobody knows, and the engine may yet begin with it: no replica
// is fenced and reports before that can be no more. That is so still when other voters are ordered meanwhile, and not
// for another run of the engine.
func TestAFenceWaitsForWhatAnAgentBeforeHasSent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &engine{run: "run1", exists: true, role: ballot.RoleSecondary}
	timings := ballot.DefaultTimings()
	timings.Acknowledge, timings.WriteLease, timings.Expiry = 3*time.Minute, 6*time.Minute, 20*time.Minute
	told := make(retold, 1)
	h, err := holder.New(holder.Options{
		Target: mssql.Target{
			Namespace: "web",
			Server:    "tukpub",
		}, PodUID: "pod1", Process: e, Engine: pair{e}, Timings: timings,
		Peers: acquaintances{make(chan string, 1000)}, Source: told, Log: slog.New(slog.DiscardHandler),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(done, patience).Should(Receive()) })
	// tell orders a voter at another address, where quisec-0 holds a term.
	tell := func(term int32, vote string) {
		v := newLeaseServer(t)
		holding := votes.Holder{Server: "quisec-0", PodUID: "pod2", Engine: "run1", Nonce: "n"}.String()
		v.lease.Spec.HolderIdentity, v.lease.Spec.LeaseTransitions = &holding, &term
		v.lease.Annotations["geosql.dev/vote-state"] = string(votes.StateHeld)
		group := orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{{
			Site: "tukwila", Server: v.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw}),
			Token: "token", Issued: time.Now(), Expires: time.Now().Add(time.Hour)}}}
		data, err := group.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		told <- map[string][]byte{orders.Key("content"): data}
		g.Eventually(status(h), patience).Should(HaveField("Votes", HaveKeyWithValue("tukwila", vote)))
	}
	fence := func() *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		h.ServeHTTP(
			answer,
			asQuisec(
				g,
				"content/fence",
				ballot.FenceRequest{Group: "content", Term: 5, Candidate: votes.Holder{Server: "quisec-0"}},
			),
		)
		return answer
	}
	refused := And(
		HaveField("Code", http.StatusServiceUnavailable),
		HaveField("Body", WithTransform((*bytes.Buffer).String, ContainSubstring("could undo it"))),
	)
	tell(1, "quisec-0 1 Held")
	g.Expect(fence()).To(refused)
	tell(2, "quisec-0 2 Held")
	g.Expect(fence()).To(refused, "the keeper that has other voters must know, too")
	e.set(func(e *engine) { e.run = "run2" })
	g.Eventually(fence, patience).Should(HaveField("Code", http.StatusOK))
}
