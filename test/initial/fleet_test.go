// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/transfer"
	"geosql.dev/operator/test/support/figures"
	"geosql.dev/operator/test/support/wan"
)

const (
	// stamp is the name of the snapshot that is moved, and generation a time after that.
	stamp      = "20261120100000"
	generation = "2026-11-20T10:30:00"
	// token begins that of each subscription.
	token = "Token-of-"
	// tree and seed are folders of a sidecar (internal/agent/files).
	tree = "unc"
	seed = "seed"
)

// fleet is a hub and spokes with a sidecar each, as processes in network namespaces of their own.
type fleet struct {
	net    *wan.Net
	ca     *credentials.Authority
	hub    *sidecar
	spokes []*sidecar
	// rows are what snapshots have, or a part of it, and dir has the files of those that are older.
	rows []byte
	dir  string
	runs int
}

func newFleet(t testing.TB, spokes, size int) *fleet {
	t.Helper()
	ca, err := credentials.NewAuthority(time.Now())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	f := &fleet{net: wan.New(t, spokes), ca: ca, rows: rows(size), dir: t.TempDir()}
	f.hub = startSidecar(t, ca, f.net.Hub, 0, "hub")
	for i := range spokes {
		f.spokes = append(f.spokes,
			startSidecar(t, ca, f.net.Spokes[i], 0, v1alpha1.ServerName(fmt.Sprintf("spoke%d", i))))
	}
	return f
}

// setting is how sidecars are bounded.
type setting struct {
	name      string
	transfers transfer.Settings
}

var (
	// tuned are the defaults.
	tuned = setting{name: "tuned"}
	// untuned has one stream, and sends all as it is.
	untuned = setting{name: "untuned", transfers: transfer.Settings{Workers: 1, Compression: transfer.Never}}
	// widest has as many streams as may be.
	widest = setting{name: "tuned, workers: 8", transfers: transfer.Settings{Workers: transfer.MaxWorkers}}
	// plain has the streams of the defaults, and sends all as it is.
	plain = setting{name: "compression: Never", transfers: transfer.Settings{Compression: transfer.Never}}
)

// cell is what is moved, and over what.
type cell struct {
	link    figures.Link
	setting setting
	// bytes of a snapshot.
	bytes int
	// collects: every spoke's goes to the hub; else the hub's goes to every spoke.
	collects bool
	// preseeded: whoever receives has an older version of the files.
	preseeded bool
	// flips has a bit flipped on the way, of a chunk of the first route.
	flips bool
}

// route is from a sidecar to another one, which reaches it at an address.
type route struct {
	from, to *sidecar
	address  string
	// subscription for which it is.
	subscription string
}

// source is the folder of a publication at the source.
func (r route) source(folder string) string {
	return filepath.Join(r.from.snapshots(), tree, folder, stamp)
}

// mirror is the folder of the source's host at who receives.
func (r route) mirror() string {
	return filepath.Join(r.to.mirrors(), credentials.HostName(r.from.Server))
}

// routes are those of all spokes.
func (f *fleet) routes(c cell) (all []route) {
	for i, spoke := range f.spokes {
		r := route{from: f.hub, to: spoke, address: at(f.net.HubAddress(i)), subscription: fmt.Sprintf("to-spoke%d", i)}
		if c.collects {
			r = route{from: spoke, to: f.hub, address: at(f.net.Spokes[i].Address), subscription: fmt.Sprintf("from-spoke%d", i)}
		}
		all = append(all, r)
	}
	return all
}

func at(address string) string { return net.JoinHostPort(address, strconv.Itoa(agentPort)) }

// outcome of a cell.
type outcome struct {
	// took is from when those who receive were told until the last of them had all; the others are its phases.
	took, listed, searched, fetched, verified time.Duration
	// total are the bytes of all snapshots, sent those that sources sent, listings too, and moved those that came of
	// chunks.
	total, sent, moved int64
	// differ is how many files are not what they were at the source.
	differ int
	routes int
}

// each is so many bytes of all routes, for one of them.
func (o outcome) each(bytes int64) int64 { return bytes / int64(o.routes) }

// run moves a cell over routes; during, unless nil, is called while they are at it.
func (f *fleet) run(t testing.TB, c cell, routes []route, during func()) outcome {
	t.Helper()
	f.runs++
	folder := fmt.Sprintf("run_%d", f.runs)
	f.net.Shape(t, c.link)
	f.lay(t, c, routes, folder)
	before := f.sentBy(t, routes)
	readers := map[*sidecar]map[string][]byte{}
	for _, r := range routes {
		if readers[r.from] == nil {
			readers[r.from] = map[string][]byte{}
		}
		put(t, readers[r.from], orders.ReaderKey(r.subscription),
			orders.Reader{Subscription: r.subscription, Folder: folder, Token: token + r.subscription,
				Transfers: c.setting.transfers})
	}
	if c.flips {
		readers[routes[0].from][flipKey] = []byte("yes")
	}
	for from, data := range readers {
		from.tell(t, data)
		from.takes(t)
	}
	mirrors, watched := map[*sidecar]map[string][]byte{}, map[*sidecar][]string{}
	for _, r := range routes {
		if mirrors[r.to] == nil {
			mirrors[r.to] = map[string][]byte{}
		}
		watched[r.to] = append(watched[r.to], r.subscription)
		put(t, mirrors[r.to], orders.MirrorKey(r.subscription), orders.Mirror{Subscription: r.subscription, Source: r.address,
			Host: credentials.HostName(r.from.Server), CA: f.ca.PEM(), Token: token + r.subscription,
			Folder: folder, Generation: generation, Transfers: c.setting.transfers})
	}
	began := time.Now()
	for to, data := range mirrors {
		to.tell(t, data, watched[to]...)
	}
	if during != nil {
		during()
	}
	o := f.gathered(t, routes, began)
	o.sent = f.sentBy(t, routes) - before
	f.clear(t, routes, folder, &o)
	return o
}

// encoder is an order.
type encoder interface{ Encode() ([]byte, error) }

func put(t testing.TB, data map[string][]byte, key string, order encoder) {
	t.Helper()
	content, err := order.Encode()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	data[key] = content
}

// lay puts the snapshot at all sources, and what is older at those who receive.
func (f *fleet) lay(t testing.TB, c cell, routes []route, folder string) {
	t.Helper()
	all := f.rows[:c.bytes]
	laid := routes[0].source(folder)
	snapshot(t, laid, all, c.preseeded)
	for _, r := range routes[1:] {
		if other := r.source(folder); r.from != routes[0].from {
			linked(t, laid, other)
		}
	}
	if !c.preseeded {
		return
	}
	old := filepath.Join(f.dir, folder)
	snapshot(t, old, all, false)
	for _, r := range routes {
		linked(t, old, filepath.Join(r.mirror(), seed, "an-older-version"))
	}
}

// sentBy is what the sources of routes have sent so far.
func (f *fleet) sentBy(t testing.TB, routes []route) (bytes int64) {
	t.Helper()
	counted := map[*sidecar]bool{}
	for _, r := range routes {
		if !counted[r.from] {
			counted[r.from] = true
			r.from.tell(t, nil)
			bytes += r.from.sent(t)
		}
	}
	return bytes
}

// gathered waits until all routes have brought everything.
func (f *fleet) gathered(t testing.TB, routes []route, began time.Time) outcome {
	t.Helper()
	o := outcome{routes: len(routes)}
	for _, r := range routes {
		c := r.to.copied(t, r.subscription)
		o.total += c.status.Total
		o.moved += c.status.MovedBytes
		if took := c.verified.Sub(began); took > o.took {
			o.took, o.listed = took, c.listed.Sub(began)
			o.searched, o.fetched, o.verified = c.verified.Sub(c.listed), 0, 0
			if !c.first.IsZero() {
				o.searched, o.fetched, o.verified = c.first.Sub(c.listed), c.last.Sub(c.first), c.verified.Sub(c.last)
			}
		}
	}
	return o
}

// clear compares what has come with what was sent, and removes both.
func (f *fleet) clear(t testing.TB, routes []route, folder string, o *outcome) {
	t.Helper()
	for _, r := range routes {
		o.differ += len(differing(t, r.source(folder), filepath.Join(r.mirror(), tree, folder, stamp)))
	}
	for _, r := range routes {
		r.to.tell(t, nil)
		r.to.takes(t)
	}
	for _, r := range routes {
		for _, gone := range []string{r.mirror(), filepath.Dir(r.source(folder)), filepath.Join(f.dir, folder)} {
			NewWithT(t).Expect(os.RemoveAll(gone)).To(Succeed())
		}
	}
}
