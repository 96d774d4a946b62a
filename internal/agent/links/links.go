// SPDX-License-Identifier: Apache-2.0

// Package links times, in a server's sidecar, round trips to servers of other sites: it asks their sidecars whether
// they live, on connections that stay open, at the port at which they answer everybody. What cannot be reached is not
// known; it is not slow.
package links

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/metrics"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	// PartName is the part's name, under which /status has the Measured of its links.
	PartName = "links"
	// timeEvery is the time between two round trips to a server. A link that becomes slower is known within a minute: then
	// more than half of the samples are of now.
	timeEvery = 15 * time.Second
	// timeout bounds a round trip with the handshakes of a new connection.
	timeout = 5 * time.Second
	// idle is how long a connection is kept: more than timeEvery, and less than the other side keeps it.
	idle = 50 * time.Second
)

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the server's orders, now and after each change, until ctx ends.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// Options of a Part.
type Options struct {
	Source Source
	// TLSDir has the CAs by which the others are verified: they are servers of the namespace.
	TLSDir, Namespace string
	Log               *slog.Logger
	// Address is that of the sidecar of the server with a host name; the one that it has in every pod unless given.
	Address func(host string) string
	// Every is the time between two round trips, 15 s unless given.
	Every time.Duration
}

// Measured is the round trip to a server of another site, as the part says it in /status.
type Measured struct {
	Site   string `json:"site"`
	Server string `json:"server"`
	// RoundTripMicroseconds is the median of the last samples.
	RoundTripMicroseconds int64 `json:"roundTripMicroseconds"`
	// AgeMilliseconds is how long ago the last of them was taken: clocks of two sites need not agree.
	AgeMilliseconds int64 `json:"ageMilliseconds"`
}

// Part is what a server's sidecar does about links.
type Part struct {
	options Options

	mu sync.Mutex
	// told says that there were orders.
	told  bool
	peers map[orders.Link]*peer
}

// peer is a server to which round trips are timed. All but seen and asked is the round's that asks it.
type peer struct {
	seen samples
	// asked is how often it was asked, whether it answered or not.
	asked int
	// client asks it, trusting the CAs in trust.
	client *http.Client
	trust  []byte
	// refused is why it was not reached last; empty when it was.
	refused string
}

var _ prometheus.Collector = (*Part)(nil)

// NewPart makes the part.
func NewPart(o Options) *Part {
	if o.Address == nil {
		o.Address = credentials.AgentAddress
	}
	if o.Every <= 0 {
		o.Every = timeEvery
	}
	return &Part{options: o, peers: map[orders.Link]*peer{}}
}

// Name of the part.
func (p *Part) Name() string { return PartName }

// Run times round trips to those that the orders name until ctx ends.
func (p *Part) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var rounds sync.WaitGroup
	rounds.Go(func() { p.repeat(ctx) })
	defer func() { cancel(); rounds.Wait() }()
	return p.options.Source.Watch(ctx, p.set)
}

// set goes by other orders. What is known of a server that stays is kept.
func (p *Part) set(data map[string][]byte) {
	links, err := orders.Links(data)
	if err != nil {
		p.options.Log.Warn("orders that cannot be read", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	peers := map[orders.Link]*peer{}
	for _, l := range links {
		if peers[l] = p.peers[l]; peers[l] == nil {
			peers[l] = &peer{}
		}
	}
	p.told, p.peers = true, peers
}

func (p *Part) repeat(ctx context.Context) {
	ticker := time.NewTicker(p.options.Every)
	defer ticker.Stop()
	for {
		p.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round asks each server once, all at the same time.
func (p *Part) round(ctx context.Context) {
	p.mu.Lock()
	peers := p.peers
	p.mu.Unlock()
	var all sync.WaitGroup
	for l, x := range peers {
		all.Go(func() {
			took, err := p.time(ctx, l, x)
			if ctx.Err() != nil {
				return
			}
			refused := ""
			p.mu.Lock()
			x.asked++
			if err != nil {
				refused = err.Error()
			} else {
				x.seen.add(took, time.Now())
			}
			p.mu.Unlock()
			if refused != x.refused {
				p.options.Log.Info("time round trips", "site", l.Site, "server", l.Server, "error", refused)
			}
			x.refused = refused
		})
	}
	all.Wait()
}

// time is how long a server's sidecar takes to answer, from when there is a connection for the question to the first
// byte of the answer. The handshakes of a new connection are over by then.
func (p *Part) time(ctx context.Context, l orders.Link, x *peer) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	host := l.Server + "-0"
	if err := p.connect(x, host); err != nil {
		return 0, err
	}
	var asked, answered time.Time
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { asked = time.Now() },
		GotFirstResponseByte: func() { answered = time.Now() },
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.options.Address(host)+"/livez", nil)
	if err != nil {
		return 0, fmt.Errorf("make a request to the agent of %s: %w", host, err)
	}
	response, err := x.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the agent of %s whether it lives: %w", host, err)
	}
	defer func() { _ = response.Body.Close() }()
	// The connection is used again once the answer has been read.
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, answerBytes)); err != nil {
		return 0, fmt.Errorf("read the answer of the agent of %s: %w", host, err)
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the agent of %s answers %s", host, response.Status)
	}
	return answered.Sub(asked), nil
}

// answerBytes bounds what is read of an answer.
const answerBytes = 1 << 10

// connect makes the client by which a server is asked, again when other CAs are trusted.
func (p *Part) connect(x *peer, host string) error {
	trust, err := credentials.ReadTrust(p.options.TLSDir)
	if err != nil {
		return err
	}
	if x.client != nil && bytes.Equal(x.trust, trust) {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trust)
	if x.client != nil {
		x.client.CloseIdleConnections()
	}
	x.trust, x.client = trust, &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: timeout}).DialContext, IdleConnTimeout: idle, MaxIdleConnsPerHost: 1,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host,
			VerifyConnection: credentials.Of(host, p.options.Namespace)},
	}}
	return nil
}

// Status of the links whose round trip is known, by site; nil, as of a release that does not measure, until something
// can be said of all: an agent that has just started has not lost what it measured before, nor one that is to time
// another link. What nobody answers is not known after about as long as when it was known before.
func (p *Part) Status() any {
	if now := time.Now(); p.tells(now) {
		return p.measured(now)
	}
	return []Measured(nil)
}

func (p *Part) tells(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.peers {
		if _, _, known := x.seen.median(now); !known && x.asked < mostSamples {
			return false
		}
	}
	return p.told
}

func (p *Part) measured(now time.Time) []Measured {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []Measured{}
	for l, x := range p.peers {
		if median, at, known := x.seen.median(now); known {
			all = append(all, Measured{Site: l.Site, Server: l.Server, RoundTripMicroseconds: median.Microseconds(),
				AgeMilliseconds: now.Sub(at).Milliseconds()})
		}
	}
	slices.SortFunc(all, func(a, b Measured) int { return strings.Compare(a.Site, b.Site) })
	return all
}

var roundTripFamily = &metrics.Family{
	Name: "geosql_agent_link_round_trip_seconds",
	Help: "Round trip to a server of another site: the median of the last minute and a half. Without it nobody answers " +
		"there, or the agent has just started.",
	Type: metrics.Gauge, Labels: []string{"site", "server"},
}

// Families of the part.
func Families() []*metrics.Family { return []*metrics.Family{roundTripFamily} }

// Describe implements prometheus.Collector.
func (p *Part) Describe(descs chan<- *prometheus.Desc) { descs <- roundTripFamily.Desc() }

// Collect implements prometheus.Collector. It asks nobody.
func (p *Part) Collect(out chan<- prometheus.Metric) {
	for _, m := range p.measured(time.Now()) {
		took := time.Duration(m.RoundTripMicroseconds) * time.Microsecond
		metrics.Sink(out).Set(roundTripFamily, took.Seconds(), m.Site, m.Server+"-0")
	}
}
