// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// daemons are those of Chaos Mesh at a site, one for each node; they put faults in force and take them back.
type daemons struct{ wanted, ready int32 }

// observeDaemons looks at the daemons of the sites where faults last. Nothing is known of a site where Chaos Mesh is in
// another namespace than its chart's, or where the manager may not look.
func (r *Reconciler) observeDaemons(ctx context.Context, w *Observed) {
	w.daemons = map[v1alpha1.SiteName]daemons{}
	for _, f := range w.drill.Status.Faults {
		if f.State != v1alpha1.FaultActive {
			continue
		}
		for _, site := range sitesOf(f) {
			member := w.members[site]
			if _, looked := w.daemons[site]; looked || member == nil {
				continue
			}
			if d, ok := daemonsAt(ctx, member.APIReader); ok {
				w.daemons[site] = d
			}
		}
	}
}

func daemonsAt(ctx context.Context, reader client.Reader) (daemons, bool) {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var set appsv1.DaemonSet
	if err := reader.Get(ctx, client.ObjectKey{Namespace: sites.ChaosNamespace, Name: sites.ChaosDaemons},
		&set); err != nil {
		return daemons{}, false
	}
	return daemons{set.Status.DesiredNumberScheduled, set.Status.NumberReady}, true
}

// sitesOf are the sites that have objects of a fault.
func sitesOf(f v1alpha1.FaultStatus) []v1alpha1.SiteName {
	var list []v1alpha1.SiteName
	for _, o := range f.Objects {
		if site := v1alpha1.SiteName(o.Site); site != "" && !slices.Contains(list, site) {
			list = append(list, site)
		}
	}
	return list
}

// noteDaemons notes when daemons go and come back while a fault lasts.
func (p *planner) noteDaemons(f *v1alpha1.FaultStatus) {
	for _, site := range sitesOf(*f) {
		d, looked := p.daemons[site]
		if !looked {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d daemons of Chaos Mesh are ready", site, d.ready, d.wanted)
		all := d.ready > 0 && d.ready >= d.wanted
		switch gone := p.daemonsGone(f.Name, site); {
		case !gone && !all:
			p.noteAt(site, eventDaemonGone, f.Name, text)
		case gone && all:
			p.noteAt(site, eventDaemonBack, f.Name, text)
		}
	}
}

// daemonsGone says whether the newest of these moments is that daemons of the site were gone.
func (p *planner) daemonsGone(fault string, site v1alpha1.SiteName) bool {
	gone := false
	for _, e := range p.s.Timeline {
		if e.Fault == fault && e.Site == string(site) && (e.Event == eventDaemonGone || e.Event == eventDaemonBack) {
			gone = e.Event == eventDaemonGone
		}
	}
	return gone
}

// selectedPods are the pods to which Chaos Mesh does an object. It writes namespace/pod, or namespace/pod/container.
func selectedPods(u *unstructured.Unstructured) []string {
	records, _, _ := unstructured.NestedSlice(u.Object, "status", "experiment", "containerRecords")
	var list []string
	for _, record := range records {
		m, _ := record.(map[string]any)
		id, _ := m["id"].(string)
		if parts := strings.Split(id, "/"); len(parts) > 1 {
			list = append(list, parts[1])
		}
	}
	return list
}

// chaosMessage is the last failure that Chaos Mesh notes of an object.
func chaosMessage(u *unstructured.Unstructured) string {
	records, _, _ := unstructured.NestedSlice(u.Object, "status", "experiment", "containerRecords")
	text := ""
	for _, record := range records {
		m, _ := record.(map[string]any)
		events, _, _ := unstructured.NestedSlice(m, "events")
		for _, e := range events {
			if event, _ := e.(map[string]any); event["type"] == "Failed" {
				text, _ = event["message"].(string)
			}
		}
	}
	return conditions.Shorten(text, 500)
}
