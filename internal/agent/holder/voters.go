// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
)

// voter is the vote at one API server, with a token that can be replaced while it is used.
type voter struct {
	*votes.LeaseVoter
	client      *kubernetes.Clientset
	http        *http.Client
	connections *connections
	// namespace of the account and the Lease.
	namespace string
	// formerCA is the CA that the orders named before, PEM, as long as the API server is not known to show a certificate
	// of the present one.
	formerCA []byte

	mu   sync.Mutex
	told orders.Voter
}

// newVoter makes a voter. Its connections are its own: closing them disturbs nobody. formerCA is trusted beside the CA
// of the orders.
func newVoter(group orders.Group, told orders.Voter, formerCA []byte) (*voter, error) {
	v := &voter{told: told, namespace: group.Namespace, connections: newConnections(), formerCA: formerCA}
	config := &rest.Config{
		Host:            told.Server,
		TLSClientConfig: rest.TLSClientConfig{CAData: bothCAs(told.CA, formerCA), ServerName: told.TLSServerName},
		UserAgent:       "geosql-agent",
		// A renewal is one request per second; nothing is to be held back.
		QPS: -1,
		// With a dialer of its own the transport is not shared with others of the same configuration.
		Dial: v.connections.dial,
	}
	if told.Server == "" {
		// The client would take the pod's own address for the voter's.
		config.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errNoWay }
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bearer{v, next} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of voter %s: %w", told.Site, err)
	}
	if v.client, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("make a client of voter %s: %w", told.Site, err)
	}
	v.http = client
	v.LeaseVoter = votes.NewLeaseVoter(told.Site, v.client.CoordinationV1().Leases(group.Namespace), group.Name)
	return v, nil
}

// bothCAs leaves what is told as it is where there is no former one: the system's CAs count where the orders name none.
func bothCAs(told, former []byte) []byte {
	if len(former) == 0 {
		return told
	}
	return credentials.MergeCAs(told, former)
}

// errNoWay is that of a voter that did not answer the manager when this agent got its first orders; others tell the way
// there.
var errNoWay = errors.New("the orders do not say where its API server is")

// bearer adds the voter's present token to each request.
type bearer struct {
	v    *voter
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.v.token())
	return b.next.RoundTrip(request)
}

// WrappedRoundTripper lets connections be found and closed.
func (b bearer) WrappedRoundTripper() http.RoundTripper { return b.next }

func (v *voter) token() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.told.Token
}

// Read implements votes.Voter.
func (v *voter) Read(ctx context.Context) (votes.Record, string, error) {
	begun := time.Now()
	record, version, err := v.LeaseVoter.Read(ctx)
	v.distrust(err, begun)
	return record, version, err
}

// Swap implements votes.Voter.
func (v *voter) Swap(ctx context.Context, version string, r votes.Record) (string, error) {
	begun := time.Now()
	next, err := v.LeaseVoter.Swap(ctx, version, r)
	v.distrust(err, begun)
	return next, err
}

// distrust looks at the connections after a call that ran out of time.
func (v *voter) distrust(err error, begun time.Time) {
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		v.connections.closeUnheard(begun)
	}
}

// take replaces the token by a newer one of the same account.
func (v *voter) take(told orders.Voter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if told.AccountUID != v.told.AccountUID || told.Expires.After(v.told.Expires) {
		v.told = told
	}
}

// present is what is known of the voter, its newest token included.
func (v *voter) present() orders.Voter {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.told
}

func (v *voter) close() { utilnet.CloseIdleConnectionsFor(v.http.Transport) }
