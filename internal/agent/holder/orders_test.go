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
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
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
	group := orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{{Site: "tukwila", Server: "https://127.0.0.1:1"}}}
	data, err := group.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	e := &engine{run: "run1"}
	secret = make(changing)
	h, err = holder.New(holder.Options{Target: mssql.Target{Namespace: "web", Server: "tukpub"}, PodUID: "pod1", Process: e, Engine: e,
		Peers: acquaintances{make(chan string, 10)}, Source: secret, Log: slog.New(slog.DiscardHandler)})
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
		secret <- map[string][]byte{orders.Key("content"): data}
		g.Eventually(h.Status, patience).ShouldNot(HaveKey("other"))
	}
	secret <- map[string][]byte{}
	g.Eventually(h.Status, patience).Should(BeEmpty(), "an order whose key is gone ends the holding")
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
