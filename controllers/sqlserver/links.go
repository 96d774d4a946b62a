// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/links"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites/sidecars"
)

// linksOwner is the field manager of the orders of links, which others do not take away.
const linksOwner = client.FieldOwner("geosql-sqlserver-links")

// TellLinks tells the server's sidecar to which servers of other sites it times round trips.
type TellLinks struct{ Links []orders.Link }

// Describe names them.
func (s TellLinks) Describe() string {
	if len(s.Links) == 0 {
		return "tell the sidecar that it times round trips to no other site any more"
	}
	var to []string
	for _, l := range s.Links {
		to = append(to, fmt.Sprintf("%s at site %s", l.Server, l.Site))
	}
	return "tell the sidecar to time round trips to " + strings.Join(to, ", ")
}

// timed are the servers of other sites to which a server's sidecar times round trips. From one site to another a single
// pair of a namespace's servers does so, the first by name: so there are as many as pairs of sites, however many
// servers there are. Those come first of which the one lets the other in, since a NetworkPolicy lets nobody else in;
// but a server whose engine has never answered comes last: it would take a measurement away before it runs.
func timed(server *v1alpha1.SQLServer, around Surroundings) []orders.Link {
	type pair struct{ from, to v1alpha1.ServerName }
	here, there := map[v1alpha1.ServerName]bool{}, map[v1alpha1.ServerName]v1alpha1.SiteName{}
	ran := map[v1alpha1.ServerName]int{}
	for _, s := range around.Servers {
		if s.Status.Version != "" {
			ran[v1alpha1.ServerName(s.Name)] = 1
		}
		switch name := v1alpha1.ServerName(s.Name); {
		case s.DeletionTimestamp != nil:
		case s.Spec.Site == server.Spec.Site:
			here[name] = true
		case expected(s.Spec.Site, around.Sites):
			there[name] = s.Spec.Site
		}
	}
	admitted := map[pair]bool{}
	for _, circle := range circles(around) {
		for _, from := range circle {
			for _, to := range circle {
				admitted[pair{from, to}] = here[from] && there[to] != ""
			}
		}
	}
	keeps := map[v1alpha1.ServerName]bool{}
	for to := range there {
		keeps[to] = len(senders(to, around)) > 0
	}
	chosen := map[v1alpha1.SiteName]pair{}
	sooner := func(a, b pair) bool {
		if more := ran[a.from] + ran[a.to] - ran[b.from] - ran[b.to]; more != 0 {
			return more > 0
		}
		first, second := admitted[a] || keeps[a.to], admitted[b] || keeps[b.to]
		if first != second {
			return first
		}
		return a.from < b.from || a.from == b.from && a.to < b.to
	}
	for from := range here {
		for to, site := range there {
			if best, known := chosen[site]; !known || sooner(pair{from, to}, best) {
				chosen[site] = pair{from, to}
			}
		}
	}
	var all []orders.Link
	for site, p := range chosen {
		if p.from == v1alpha1.ServerName(server.Name) {
			all = append(all, orders.Link{Site: string(site), Server: string(p.to)})
		}
	}
	slices.SortFunc(all, func(a, b orders.Link) int { return strings.Compare(a.Site, b.Site) })
	return all
}

// expected tells that a site is declared and not given up.
func expected(name v1alpha1.SiteName, declared []v1alpha1.Site) bool {
	return slices.ContainsFunc(declared, func(s v1alpha1.Site) bool {
		return s.Name == string(name) && s.Spec.Lifecycle != v1alpha1.SiteLost
	})
}

// planLinks tells the sidecar what to time. Nothing waits for it.
func planLinks(d Desired, o Observed, p *reconcile.Plan) bool {
	want, err := orders.EncodeLinks(d.Timed)
	if err == nil && !bytes.Equal(want, o.Orders[orders.LinksKey]) {
		p.Beside(TellLinks{Links: d.Timed}, v1alpha1.ReasonApplyFailed)
	}
	return true
}

func (r *Reconciler) tellLinks(ctx context.Context, d Desired, s TellLinks) error {
	value, err := orders.EncodeLinks(s.Links)
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	if value != nil {
		data[orders.LinksKey] = value
	}
	return sidecars.Sidecars{Sites: r.sites, Hub: r.hub}.Write(ctx, d.Server.Namespace, d.name(), linksOwner, data)
}

// heard are the round trips that a sidecar has measured by the manager's clock; nil of one that has nothing to say yet,
// and of a release that does not measure.
func heard(measured []links.Measured, now time.Time) []link.Measured {
	if measured == nil {
		return nil
	}
	all := []link.Measured{}
	for _, m := range measured {
		all = append(all, link.Measured{To: v1alpha1.SiteName(m.Site), Peer: v1alpha1.ServerName(m.Server),
			RoundTrip: time.Duration(m.RoundTripMicroseconds) * time.Microsecond,
			At:        now.Add(-time.Duration(m.AgeMilliseconds) * time.Millisecond)})
	}
	return all
}

// noteLinks keeps what the sidecar says for the reports of Sites. Of one that does not answer, or has nothing to say
// yet, what it said before counts until it is too old.
func (r *Reconciler) noteLinks(d Desired, o Observed) {
	if o.Measured != nil {
		r.heard.Note(types.NamespacedName{Namespace: d.Server.Namespace, Name: d.Server.Name}, o.Measured)
	}
}
