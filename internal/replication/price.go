// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Link is the network from one site to another as their Sites declare it.
type Link = link.Link

// Route is the way of a copy: from the publisher's site to the distributor's, where its snapshot is written, and on to
// the subscriber's. It has no links within one site.
type Route struct {
	Links []Link
	// Unknown are servers of which it is not known where they are.
	Unknown []v1alpha1.ServerName
	// Site where all of them are, when no link is crossed.
	Site v1alpha1.SiteName
}

// RouteOf is the way through the sites of servers; those without a name are passed over.
func RouteOf(
	at map[v1alpha1.ServerName]v1alpha1.SiteName,
	declared []v1alpha1.Site,
	through ...v1alpha1.ServerName,
) Route {
	var r Route
	for _, server := range through {
		site := at[server]
		switch {
		case server == "":
			continue
		case site == "":
			if !slices.Contains(r.Unknown, server) {
				r.Unknown = append(r.Unknown, server)
			}
			continue
		case r.Site != "" && r.Site != site:
			r.Links = append(r.Links, link.Between(r.Site, site, declared))
		}
		r.Site = site
	}
	return r
}

// RouteTo is the way of a Subscription's copy. Of what is not declared yet it knows nothing.
func RouteTo(ctx context.Context, hub client.Reader, p *v1alpha1.Publication, s *v1alpha1.Subscription) (Route, error) {
	var distributor v1alpha1.Distributor
	err := hub.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: string(p.Spec.Distributor)}, &distributor)
	if client.IgnoreNotFound(err) != nil {
		return Route{}, fmt.Errorf("read Distributor %s/%s: %w", p.Namespace, p.Spec.Distributor, err)
	}
	sender, err := sender(ctx, hub, p)
	if err != nil {
		return Route{}, err
	}
	return readRoute(ctx, hub, p.Namespace, sender, distributor.Spec.Server, s.Spec.Subscriber.Server)
}

// readRoute finds the way through the sites of servers. Whoever may not list the Sites gets one without figures.
func readRoute(
	ctx context.Context,
	hub client.Reader,
	namespace string,
	through ...v1alpha1.ServerName,
) (Route, error) {
	at := map[v1alpha1.ServerName]v1alpha1.SiteName{}
	for _, name := range through {
		if name == "" {
			continue
		}
		var server v1alpha1.SQLServer
		err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(name)}, &server)
		if client.IgnoreNotFound(err) != nil {
			return Route{}, fmt.Errorf("read SQLServer %s/%s: %w", namespace, name, err)
		}
		at[name] = server.Spec.Site
	}
	var list v1alpha1.SiteList
	if err := hub.List(ctx, &list); err != nil && !apierrors.IsForbidden(err) {
		return Route{}, fmt.Errorf("list Sites: %w", err)
	}
	return RouteOf(at, list.Items, through...), nil
}

// sender is the server from which a Publication's rows are read: the one that it names, or the primary of its group;
// of a group that has none yet the one that is to be. Empty while the group does not exist.
func sender(ctx context.Context, hub client.Reader, p *v1alpha1.Publication) (v1alpha1.ServerName, error) {
	name := p.Spec.Publisher.AvailabilityGroup
	if name == "" {
		return p.Spec.Publisher.Server, nil
	}
	var g v1alpha1.AvailabilityGroup
	err := hub.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: string(name)}, &g)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read AvailabilityGroup %s/%s: %w", p.Namespace, name, err)
	}
	return PrimaryOf(&g), nil
}

// PrimaryOf is a group's primary by its status, else the one that is to be.
func PrimaryOf(g *v1alpha1.AvailabilityGroup) v1alpha1.ServerName {
	for _, r := range g.Spec.Replicas {
		if g.Status.Primary != "" && strings.EqualFold(credentials.HostName(r.Server), g.Status.Primary) {
			return r.Server
		}
	}
	return g.Spec.InitialPrimary
}

// words of a route, after what crosses it; empty where nothing is known of it.
func (r Route) words() string {
	switch {
	case len(r.Unknown) > 0:
		return fmt.Sprintf(", over a link that is not known: nobody says where SQLServer %s runs", r.Unknown[0])
	case r.Site == "":
		return ""
	case len(r.Links) == 0:
		return ", within site " + string(r.Site)
	}
	text := ", from site " + string(r.Links[0].From)
	for i, l := range r.Links {
		if i > 0 {
			text += " and on"
		}
		text += fmt.Sprintf(" to %s (%s)", l.To, linkWords(l))
	}
	return text
}

func linkWords(l Link) string {
	figures := []string{"round trip not declared", "bandwidth not declared"}
	if l.RoundTrip > 0 {
		figures[0] = "round trip " + l.RoundTrip.String()
	}
	if l.Bandwidth != "" {
		figures[1] = l.Bandwidth
	}
	return strings.Join(figures, ", ")
}

const (
	// connecting takes this many round trips: TCP, TLS, and the list of what there is.
	connecting = 4
	// filesOfArticle is how many files a snapshot has of each, one request or more for each.
	filesOfArticle = 4
)

// Estimate is how long a copy is on its way at least: on each link its bytes over the bandwidth, and the round trips of
// connecting and of asking for each article's files one after another. False says that it is not known: the bandwidth
// of a link that it crosses is not declared, or it crosses none. What engines need to write and apply it is not in it.
func Estimate(bytes int64, articles int, r Route) (time.Duration, bool) {
	if len(r.Links) == 0 || len(r.Unknown) > 0 {
		return 0, false
	}
	var all time.Duration
	for _, l := range r.Links {
		bits := link.BitsPerSecond(l.Bandwidth)
		if bits <= 0 {
			return 0, false
		}
		seconds := float64(bytes) * 8 / bits
		if seconds > maxEstimate.Seconds() {
			return maxEstimate, true
		}
		all += time.Duration(seconds*float64(time.Second)) +
			time.Duration(connecting+filesOfArticle*articles)*l.RoundTrip
	}
	return min(all, maxEstimate), true
}

// maxEstimate is the longest that is told; nobody waits longer for a copy.
const maxEstimate = 1000 * 24 * time.Hour

// Price says what a copy of articles costs: rows, bytes, the link and how long it is on its way. size is nil while the
// publisher has not measured it.
func Price(size *v1alpha1.CopySize, articles int, r Route) string {
	if size == nil {
		return "whose size is not measured yet" + r.words()
	}
	text := Cost(size.Rows, size.Bytes) + r.words()
	if took, known := Estimate(size.Bytes, articles, r); known {
		return text + ", on its way for at least " + Rounded(took).String()
	}
	if len(r.Links) > 0 && len(r.Unknown) == 0 {
		return text + ", so that nobody can tell for how long"
	}
	return text
}

// Rounded is a time as people are told: seconds, from an hour on minutes, and never nothing.
func Rounded(d time.Duration) time.Duration {
	unit := time.Second
	if d >= time.Hour {
		unit = time.Minute
	}
	return max(d.Round(unit), time.Second)
}
