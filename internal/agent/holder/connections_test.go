// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/test/support/link"
)

// farVoter is an API server beyond a link, with an agent at this end that reads its vote.
type farVoter struct {
	*leaseServer
	*link.Link
	// connections that came, and requests that were answered.
	connections, answered atomic.Int64
	// delay before each answer, in nanoseconds.
	delay atomic.Int64
}

func newFarVoter(t *testing.T) *farVoter {
	return newVoterThatAccepts(t, 0, func(int64, <-chan struct{}) {})
}

// newVoterThatAccepts calls accepting with the number of each connection before its handshake, and with what is closed
// at the test's end. What the agent sends in vain it sends again after that time, unless it is 0.
func newVoterThatAccepts(t *testing.T, again time.Duration, accepting func(int64, <-chan struct{})) *farVoter {
	g := NewWithT(t)
	v := &farVoter{Link: link.New(t), leaseServer: newLeaseServer(t)}
	if again > 0 {
		v.RetransmitAfter(t, again)
	}
	listener, err := v.Listen()
	g.Expect(err).NotTo(HaveOccurred())
	near := v.Server
	v.Server = &httptest.Server{
		Listener:    countingListener{listener, &v.connections, func(n int64) { accepting(n, v.closing) }},
		EnableHTTP2: true,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(time.Duration(v.delay.Load())):
			case <-v.closing:
			}
			v.serve(w, r)
			v.answered.Add(1)
		})},
	}
	v.Server.StartTLS()
	t.Cleanup(near.Close)

	e := &engine{run: "run1", exists: true, role: ballot.RoleSecondary}
	data, err := orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{{
		Site: "dublin", Server: v.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw}),
		TLSServerName: "example.com",
		Token:         "token", Issued: time.Now(), Expires: time.Now().Add(time.Hour)}}}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	h, err := holder.New(holder.Options{
		Target: mssql.Target{
			Namespace: "web",
			Server:    "tukpub",
		}, PodUID: "pod1", Process: e, Engine: pair{e}, Peers: acquaintances{make(chan string, 100)},
		Source: ordered{orders.Key("content"): data}, Log: slog.New(slog.DiscardHandler),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(done, patience).Should(Receive()) })
	return v
}

// countingListener counts the connections that come.
type countingListener struct {
	net.Listener
	accepted  *atomic.Int64
	accepting func(n int64)
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.accepting(l.accepted.Add(1))
	}
	return conn, err
}

// answers waits until some more requests have been answered.
func (v *farVoter) answers(g *WithT) {
	n := v.answered.Load()
	g.Eventually(v.answered.Load, patience, 10*time.Millisecond).Should(BeNumerically(">", n+2))
}

// A voter that takes longer than a call may is asked over the connection that there is: another one costs it a
// handshake, and the agent two more round trips, just when there is no time.
func TestASlowVoterKeepsItsConnection(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := newFarVoter(t)
	v.answers(g)
	// A second one was begun when the first one's handshake outlasted a call (TestAHandshakeOutlastsItsCall), as on a busy
	// machine.
	begun := v.connections.Load()
	g.Expect(begun).To(BeNumerically("<=", 2))
	v.delay.Store(int64(ballot.DefaultTimings().APITimeout * 3 / 2))
	v.answers(g)
	v.delay.Store(0)
	v.answers(g)
	g.Expect(v.connections.Load()).To(Equal(begun))
}

// The handshake that a call had no time for serves the calls after it: the connection that was begun for the next call
// is not waited for, and no third one is begun.
func TestAHandshakeOutlastsItsCall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := newVoterThatAccepts(t, 0, func(n int64, ended <-chan struct{}) {
		handshake := time.After(ballot.DefaultTimings().APITimeout * 11 / 10)
		if n > 1 {
			handshake = nil
		}
		select {
		case <-handshake:
		case <-ended:
		}
	})
	v.answers(g)
	v.answers(g)
	g.Expect(v.connections.Load()).To(BeEquivalentTo(2))
}

// After a cut the voter is asked over another connection. The one from before would be used again only when TCP sends
// the next time what was lost, later by as long again as the cut has lasted, or on a machine that was busy before by
// many seconds.
func TestAVoterBehindACutIsAskedAnew(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"soon sent again": 0,
		"sent again after half a minute": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := newVoterThatAccepts(t, wait, func(int64, <-chan struct{}) {})
			v.answers(g)
			v.Cut(t)
			n := v.answered.Load()
			g.Consistently(v.answered.Load, 7*time.Second, 100*time.Millisecond).Should(BeNumerically("<=", n+1))
			v.Mend(t)
			mended := time.Now()
			v.answers(g)
			t.Logf("three more answers %.1f s after the cut", time.Since(mended).Seconds())
			g.Expect(v.connections.Load()).To(BeNumerically(">", 1))
		})
	}
}
