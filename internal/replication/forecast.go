// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Landscape is what is declared of a namespace around its links: who delivers what to whom over which. Nothing in it is
// changed: it may be what the cache has.
type Landscape struct {
	Sites         []v1alpha1.Site
	Servers       []v1alpha1.SQLServer
	Distributors  []v1alpha1.Distributor
	Publications  []v1alpha1.Publication
	Subscriptions []v1alpha1.Subscription
}

// ReadLandscape reads that of a namespace.
func ReadLandscape(ctx context.Context, hub client.Reader, namespace string) (Landscape, error) {
	var sites v1alpha1.SiteList
	var servers v1alpha1.SQLServerList
	var distributors v1alpha1.DistributorList
	var publications v1alpha1.PublicationList
	var subscriptions v1alpha1.SubscriptionList
	if err := hub.List(ctx, &sites, client.UnsafeDisableDeepCopy); err != nil {
		return Landscape{}, fmt.Errorf("list Sites: %w", err)
	}
	for _, list := range []client.ObjectList{&servers, &distributors, &publications, &subscriptions} {
		if err := hub.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return Landscape{}, fmt.Errorf("list %T of namespace %s: %w", list, namespace, err)
		}
	}
	return Landscape{sites.Items, servers.Items, distributors.Items, publications.Items, subscriptions.Items}, nil
}

// standardRow is the size of a row that nobody has measured, in bytes.
const standardRow = 1024

// longestForecast is what the words of a forecast have room for.
const longestForecast = 1024

// Forecast is how many rows a second a Subscription gets at most over the link from its distributor's site to its own;
// nil where none is crossed, and where rows do not stream. The profile is that of its distribution agent, nil without
// one.
func (w Landscape) Forecast(
	p *v1alpha1.Publication,
	s *v1alpha1.Subscription,
	profile *v1alpha1.AgentProfileSpec,
) *v1alpha1.SubscriptionForecast {
	from, to := w.server(w.distributor(p)), w.server(s.Spec.Subscriber.Server)
	if p.Spec.Scheduled() || s.Spec.Subscriber.Server == "" || from.Spec.Site == to.Spec.Site && from.Spec.Site != "" {
		return nil
	}
	if from.Spec.Site == "" || to.Spec.Site == "" {
		return unknown("nobody says where the distributor, or the subscriber, runs")
	}
	l := link.Between(from.Spec.Site, to.Spec.Site, w.Sites)
	row, measured := rowOf(p)
	receives, _ := w.Buffers(to)
	_, sends := w.Buffers(from)
	flow := link.Flow{
		Waits:    s.Spec.Type == v1alpha1.SubscriptionPush && s.Spec.AgentAt != v1alpha1.AgentAtSubscriber,
		Streams:  1,
		RowBytes: row,
		Sharing:  w.sharing(l, s),
		Window:   link.Window(receives, sends),
	}
	if profile != nil && profile.SubscriptionStreams != nil {
		flow.Streams = int(*profile.SubscriptionStreams)
	}
	f := l.Forecast(flow)
	if f.Bound == link.BoundUnknown {
		return unknown(fmt.Sprintf("the link from %s to %s has %s: declare both in spec.links of either Site", l.From, l.To,
			linkWords(l)))
	}
	rows := max(int64(TwoDigits(f.Rows)), 1)
	return &v1alpha1.SubscriptionForecast{RowsPerSecond: &rows, BoundBy: v1alpha1.ForecastBound(f.Bound),
		Words: conditions.Shorten(forecastWords(l, flow, f, measured), longestForecast)}
}

func unknown(why string) *v1alpha1.SubscriptionForecast {
	return &v1alpha1.SubscriptionForecast{BoundBy: v1alpha1.BoundUnknown, Words: why}
}

// server is a server as it is declared, empty where it is not.
func (w Landscape) server(name v1alpha1.ServerName) *v1alpha1.SQLServer {
	for i := range w.Servers {
		if w.Servers[i].Name == string(name) {
			return &w.Servers[i]
		}
	}
	return &v1alpha1.SQLServer{}
}

// distributor is the server of a Publication's distributor.
func (w Landscape) distributor(p *v1alpha1.Publication) v1alpha1.ServerName {
	for i := range w.Distributors {
		if w.Distributors[i].Name == string(p.Spec.Distributor) {
			return w.Distributors[i].Spec.Server
		}
	}
	return ""
}

// sharing is how many Subscriptions use a link, one of them the given one.
func (w Landscape) sharing(l Link, one *v1alpha1.Subscription) int {
	there, streams := map[v1alpha1.ServerName]bool{}, map[v1alpha1.ObjectName]bool{}
	for i := range w.Servers {
		there[v1alpha1.ServerName(w.Servers[i].Name)] = w.Servers[i].Spec.Site == l.To
	}
	for i := range w.Publications {
		p := &w.Publications[i]
		streams[v1alpha1.ObjectName(p.Name)] = !p.Spec.Scheduled() && w.server(w.distributor(p)).Spec.Site == l.From
	}
	n := 1
	for i := range w.Subscriptions {
		s := &w.Subscriptions[i]
		if s.Name != one.Name && s.DeletionTimestamp == nil && there[s.Spec.Subscriber.Server] &&
			streams[s.Spec.Publication] {
			n++
		}
	}
	return n
}

// rowOf is the size of a row to two digits, and whether the publisher has measured it: with its indexes, so that it is
// rather too large.
func rowOf(p *v1alpha1.Publication) (bytes float64, measured bool) {
	size := p.Status.Size
	if size == nil || size.Rows <= 0 || size.Bytes <= 0 {
		return standardRow, false
	}
	return TwoDigits(max(float64(size.Bytes)/float64(size.Rows), 1)), true
}

// Buffers are the maxima of a server's connections, for receiving and for sending: those that its agent reads in the
// pod that runs, else those that a pod gets by what is declared.
func (w Landscape) Buffers(s *v1alpha1.SQLServer) (receive, send int64) {
	receive, send = link.LeastBuffer, link.KernelMost
	network := v1alpha1.ServerNetwork{}
	if s.Spec.Network != nil {
		network = *s.Spec.Network
	}
	slowest, known := link.SlowestToFill(link.Of(s.Spec.Site, w.Sites))
	if known && network.Tuning != v1alpha1.TuningNone {
		tuned := link.Buffer(slowest.Product())
		receive, send = max(receive, tuned), max(send, tuned)
	}
	if network.ReceiveWindow != nil {
		receive = link.WindowBuffer(network.ReceiveWindow.Value())
	}
	if t := s.Status.Tuning; t != nil && t.Kernel != nil {
		receive, send = mostOf(t.Kernel.Receive, receive), mostOf(t.Kernel.Send, send)
	}
	return receive, send
}

// mostOf is the last of the three sizes of tcp_rmem or tcp_wmem, or another one where they are not there.
func mostOf(sizes string, otherwise int64) int64 {
	fields := strings.Fields(sizes)
	if len(fields) != 3 {
		return otherwise
	}
	n, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || n <= 0 {
		return otherwise
	}
	return n
}

// TwoDigits rounds to two digits: a forecast is no more exact, and a status that follows every row is written all the
// time.
func TwoDigits(x float64) float64 {
	if x <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

// forecastWords are what a forecast is made of.
func forecastWords(l Link, flow link.Flow, f link.Forecast, measured bool) string {
	row := Size(int64(flow.RowBytes))
	if !measured {
		row += " (nobody has measured them yet)"
	}
	text := fmt.Sprintf("rows of %s take %.0f bytes each of the link from %s to %s (%s)", row, TwoDigits(f.Wire), l.From,
		l.To, linkWords(l))
	if flow.Sharing > 1 {
		text += fmt.Sprintf(", which %d Subscriptions share", flow.Sharing)
	}
	for i, m := range f.All {
		between := ", "
		if i == 0 {
			between = ": "
		}
		text += between + boundWords(m, flow) + " " + rate(m.Rows) + " a second"
	}
	return text
}

// rate is a figure to two digits.
func rate(x float64) string {
	if x < 10 {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return strconv.FormatFloat(TwoDigits(x), 'f', 0, 64)
}

// boundWords say what lets so many rows through.
func boundWords(m link.Most, flow link.Flow) string {
	switch m.Bound {
	case link.BoundBandwidth:
		return "the bandwidth lets through"
	case link.BoundWindow:
		return "a window of " + Size(flow.Window)
	default:
		if flow.Streams > 1 {
			return fmt.Sprintf("an agent at the distributor, which waits for answers on %d connections,", flow.Streams)
		}
		return "an agent at the distributor, which waits for answers,"
	}
}
