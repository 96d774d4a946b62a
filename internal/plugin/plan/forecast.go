// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	topologies "geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/replication"
)

// forecast says what the link to a Subscription's site lets through: of one that is created, and of one that is changed
// so that it is another.
func (p *planner) forecast(s topologies.Step) {
	x, ok := s.Object.(*v1alpha1.Subscription)
	if !ok {
		return
	}
	then := p.forecastOf(x)
	if was, live := s.Existing.(*v1alpha1.Subscription); live && reflect.DeepEqual(then, p.forecastOf(was)) {
		return
	}
	switch {
	case then == nil:
	case then.RowsPerSecond == nil:
		fmt.Fprintf(p.out, "    how many rows a second it gets at most nobody can tell: %s\n", then.Words)
	default:
		fmt.Fprintf(p.out, "    it gets at most %d rows a second, bound by %s: %s\n", *then.RowsPerSecond, then.BoundBy,
			then.Words)
	}
}

// forecastOf is the forecast of a Subscription, as it is declared.
func (p *planner) forecastOf(x *v1alpha1.Subscription) *v1alpha1.SubscriptionForecast {
	around := replication.Landscape{
		Sites:         p.sites,
		Servers:       declared(p, p.objects.Servers),
		Distributors:  declared(p, p.objects.Distributors),
		Publications:  declared(p, p.objects.Publications),
		Subscriptions: declared(p, p.objects.Subscriptions),
	}
	for i := range around.Servers {
		if live, is := p.observed.Objects[key("SQLServer", around.Servers[i].Name)].(*v1alpha1.SQLServer); is {
			around.Servers[i].Status = live.Status
		}
	}
	var profile *v1alpha1.AgentProfileSpec
	for _, a := range declared(p, p.objects.Profiles) {
		if a.Name == string(x.Spec.Profile) {
			profile = &a.Spec
		}
	}
	for _, published := range around.Publications {
		if published.Name == string(x.Spec.Publication) {
			if live := p.live(published.Name); live != nil {
				published.Status = live.Status
			}
			return around.Forecast(&published, x, profile)
		}
	}
	return nil
}

// declared are the objects of a kind that the Topology declares, and others that the hub has.
func declared[T any, P interface {
	*T
	client.Object
}](p *planner, own []P) (all []T) {
	for _, x := range own {
		all = append(all, *x)
	}
	for _, object := range p.observed.Objects {
		x, is := object.(P)
		if is && !slices.ContainsFunc(own, func(o P) bool { return o.GetName() == x.GetName() }) {
			all = append(all, *x)
		}
	}
	return all
}

func key(kind, name string) topologies.Key { return topologies.Key{Kind: kind, Name: name} }
