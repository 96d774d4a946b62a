// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// changing is a Secret that is told anew for each value of the channel.
type changing chan map[string][]byte

func (c changing) Watch(ctx context.Context, update func(data map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-c:
			update(data)
		}
	}
}

// following is a holder that has orders for the group content and reaches no voter.
func following(t *testing.T) (h *holder.Holder, secret changing, data []byte) {
	t.Helper()
	g := NewWithT(t)
	group := orders.Group{
		Name:      "content",
		Namespace: "web",
		Voters:    []orders.Voter{{Site: "tukwila", Server: "https://127.0.0.1:1"}},
	}
	data, err := group.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	e := &engine{run: "run1"}
	secret = make(changing)
	h, err = holder.New(
		holder.Options{Target: mssql.Target{Namespace: "web", Server: "tukpub"}, PodUID: "pod1", Process: e, Engine: e,
			Peers: acquaintances{make(chan string, 10)}, Source: secret, Log: slog.New(slog.DiscardHandler)},
	)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(done, patience).Should(Receive()) })
	secret <- map[string][]byte{orders.Key("content"): data}
	g.Eventually(h.Status, patience).Should(HaveKey("content"))
	return h, secret, data
}

// Orders that cannot be read are not orders that are gone: a primary whose agent stopped for them would stop serving.
func TestOrdersThatCannotBeReadEndNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, secret, data := following(t)
	timed := []byte(`{"name":"content","namespace":"web","timings":{"Expiry":1}}`)
	for _, unreadable := range []map[string][]byte{
		{orders.Key("content"): []byte("{")}, {orders.Key("content"): nil}, {"timed-group.content": timed},
	} {
		unreadable[orders.Key("other")] = []byte(`{"name":"other","namespace":"web","voters":[]}`)
		secret <- unreadable
		g.Eventually(h.Status, patience).Should(HaveKey("other"), "the orders are being followed")
		g.Expect(h.Status()).To(HaveKey("content"))
		secret <- map[string][]byte{orders.Key("content"): data, orders.EndedKey("other"): []byte("true")}
		g.Eventually(h.Status, patience).ShouldNot(HaveKey("other"))
	}
}

// A Secret that is deleted is made anew by whichever group's controller comes first: the keys of the others are missing
// for a while, and so may be all. A group ends by its own mark.
func TestOrdersThatAreMissingEndNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, secret, data := following(t)
	other := map[string][]byte{orders.Key("other"): []byte(`{"name":"other","namespace":"web","voters":[]}`)}
	secret <- other
	g.Eventually(h.Status, patience).Should(HaveKey("other"), "the orders are being followed")
	g.Expect(h.Status()).To(HaveKey("content"))
	secret <- map[string][]byte{}
	secret <- map[string][]byte{orders.EndedKey("content"): []byte("true"), orders.Key("content"): data}
	secret <- map[string][]byte{orders.EndedKey("other"): []byte("true")}
	g.Eventually(h.Status, patience).ShouldNot(HaveKey("other"), "its own mark ends it")
	g.Expect(h.Status()).To(HaveKey("content"), "a mark beside orders that were given again says nothing")
	secret <- map[string][]byte{orders.EndedKey("content"): []byte("true")}
	g.Eventually(h.Status, patience).Should(BeEmpty())
}

// held is an engine that says how many look at it at the same time, and lets nobody go on before it is told to.
type held struct {
	*engine
	looking, most atomic.Int32
	goOn          chan struct{}
}

func (e *held) Observe(ctx context.Context, group string) (ballot.Observation, error) {
	e.most.Store(max(e.most.Load(), e.looking.Add(1)))
	defer e.looking.Add(-1)
	<-e.goOn
	return e.engine.Observe(ctx, group)
}

// Orders that end and are given again at once: the former keeper has come to its end before the next one begins, or
// what that has promised would be overwritten by what the former one saves late.
func TestTwoKeepersOfAGroupAreNeverThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &held{engine: &engine{run: "run1"}, goOn: make(chan struct{})}
	secret := make(changing)
	h, err := holder.New(
		holder.Options{Target: mssql.Target{Namespace: "web", Server: "tukpub"}, PodUID: "pod1", Process: e, Engine: e,
			Peers: acquaintances{make(chan string, 10)}, Source: secret, Log: slog.New(slog.DiscardHandler)},
	)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	open := sync.OnceFunc(func() { close(e.goOn) })
	t.Cleanup(func() { open(); cancel(); g.Eventually(done, patience).Should(Receive()) })
	data, err := orders.Group{
		Name:      "content",
		Namespace: "web",
		Voters:    []orders.Voter{{Site: "tukwila", Server: "https://127.0.0.1:1"}},
	}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	secret <- map[string][]byte{orders.Key("content"): data}
	g.Eventually(e.looking.Load, patience).Should(BeEquivalentTo(1))
	secret <- map[string][]byte{orders.EndedKey("content"): []byte("true")}
	g.Eventually(h.Status, patience).Should(HaveKeyWithValue("content", HaveField("Orders", orders.StateEnded)),
		"it says so until the step has ended that is under way")
	secret <- map[string][]byte{orders.Key("content"): data}
	g.Eventually(h.Status, patience).Should(HaveKeyWithValue("content", HaveField("Orders", Equal(orders.StateUnheard))))
	g.Consistently(e.looking.Load, time.Second).
		Should(BeEquivalentTo(1), "the former one still looks, and the next one waits")
	e.goOn <- struct{}{}
	open()
	g.Eventually(func() bool { return !h.Status().(map[string]holder.GroupStatus)["content"].Stepped.IsZero() }, patience).
		Should(BeTrue(), "the next one steps")
	g.Expect(e.most.Load()).To(BeEquivalentTo(1))
}

// Tokens are renewed beside the following of orders, all at the same time: a pause must not wait for voters that do not
// answer.
func TestOrdersDoNotWaitForTokens(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, secret, _ := following(t)
	asked, over := make(chan struct{}, 3), make(chan struct{})
	silent := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			select {
			case asked <- struct{}{}:
			default:
			}
		}
		<-over
	}))
	t.Cleanup(func() { close(over); silent.Close() })
	group := orders.Group{Name: "content", Namespace: "web"}
	for _, site := range []string{"dublin", "quincy", "tukwila"} {
		group.Voters = append(
			group.Voters,
			orders.Voter{
				Site:       site,
				Server:     silent.URL,
				CA:         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: silent.Certificate().Raw}),
				Account:    "a",
				AccountUID: "1",
				Token:      "t",
				Issued:     time.Now().Add(-time.Hour),
				Expires:    time.Now().Add(time.Minute),
			},
		)
	}
	data, err := group.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	secret <- map[string][]byte{orders.Key("content"): data}
	began := time.Now()
	for range 3 {
		g.Eventually(asked, patience).Should(Receive())
	}
	g.Expect(time.Since(began)).To(BeNumerically("<", 4*time.Second), "none waits for another one's time-out")
	// The channel of changes holds one; three are followed only if nothing else is waited for.
	for range 3 {
		select {
		case secret <- map[string][]byte{orders.Key("content"): data}:
		case <-time.After(3 * time.Second):
			t.Fatal("the orders are not followed while tokens are being renewed")
		}
	}
}

// Nobody but servers of the namespace is told what a group has, though one CA signs the certificates of all.
func TestServersOfOtherNamespacesAreTurnedAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, _, _ := following(t)
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	ask := func(namespace string, server v1alpha1.ServerName) int {
		data, err := authority.Issue(credentials.CertificateNames(namespace, server, []string{"listener"}), time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		block, _ := pem.Decode(data[credentials.KeyCertificate])
		leaf, err := x509.ParseCertificate(block.Bytes)
		g.Expect(err).NotTo(HaveOccurred())
		request := httptest.NewRequest(http.MethodGet, holder.Pattern+"content/hello", nil)
		request.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, request)
		return answer.Code
	}
	g.Expect(ask("web", "quisec")).To(Equal(http.StatusNoContent))
	g.Expect(ask("shop", "quisec")).To(Equal(http.StatusForbidden))
	g.Expect(ask("shop", "web")).To(Equal(http.StatusForbidden))
}
