// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites/join"
)

// hubName is what the hub is called while it is no site.
const hubName = "hub"

// Request says what to look at.
type Request struct {
	Hub join.Cluster
	// Member is the cluster of the one site that Names has; nil where nothing is looked at but the hub and what it says.
	Member *join.Cluster
	// HubSite tells that the one site of Names is the hub, or is to be.
	HubSite bool
	// OperatorNamespace in the hub and at the member.
	OperatorNamespace string
	// Names of the sites; empty for the hub and all sites.
	Names []string
	// Said is what the site is to declare; what is empty is as its Site has it.
	Said v1alpha1.SiteSpec
	// Probe has pods made at the member's site and at another one; nil makes none.
	Probe *Probe
}

// observed is all that was read.
type observed struct {
	names []string
	// sites of the hub, or why they could not be listed.
	sites read[[]v1alpha1.Site]
	hub   cluster
	// member is nil unless a cluster was named.
	member *cluster
}

// observe reads the hub and the member, each within cli.ReadTimeout. The error is that a site was asked for that is not
// there, or that something is said of one whose cluster is not looked at.
func (r Request) observe(parent context.Context) (observed, error) {
	ctx, cancel := context.WithTimeout(parent, cli.ReadTimeout)
	defer cancel()
	o := observed{names: r.Names}
	var list v1alpha1.SiteList
	err := r.Hub.Client.List(ctx, &list)
	o.sites = got(list.Items, said("list the Sites of the hub", err))
	if err == nil && r.Member == nil && !r.HubSite {
		for _, name := range r.Names {
			if err := cli.Find(ctx, r.Hub.Client, &v1alpha1.Site{}, "", name); err != nil {
				return o, err
			}
		}
	}
	o.hub = cluster{name: hubName, isHub: true}
	if cli.Silent(err) {
		o.hub.answer.err = err
	} else {
		o.hub = observe(parent, r.hubTarget(list.Items))
	}
	unused := r.Member == nil && !slices.Equal(r.Names, []string{o.hub.name}) &&
		!equality.Semantic.DeepEqual(r.Said, v1alpha1.SiteSpec{})
	if err == nil && unused {
		return o, cli.Usage(fmt.Errorf("what is said of site %s is compared with its cluster: name that, too (--context)",
			r.Names[0]))
	}
	if r.Member != nil {
		member := observe(parent, r.memberTarget(list.Items))
		o.member = &member
	}
	return o, nil
}

// hubTarget is the hub, as the site that it is where it is one.
func (r Request) hubTarget(list []v1alpha1.Site) target {
	t := target{name: hubName, at: r.Hub, isHub: true, operator: r.OperatorNamespace}
	for i := range list {
		if list[i].Spec.KubeconfigSecretRef == nil {
			t.name, t.site, t.joined = list[i].Name, list[i].Spec, true
		}
	}
	if r.HubSite && !t.joined {
		t.name = r.Names[0]
	}
	if r.Member == nil && slices.Equal(r.Names, []string{t.name}) {
		t.site = merged(t.site, r.Said)
	}
	return t
}

// memberTarget is the cluster that was named, as the site that it is or is to be.
func (r Request) memberTarget(list []v1alpha1.Site) target {
	t := target{name: r.Names[0], at: *r.Member, site: r.Said, operator: r.OperatorNamespace}
	for i := range list {
		if list[i].Name == t.name {
			t.site, t.joined = merged(list[i].Spec, r.Said), true
		}
	}
	return t
}

// merged is what a site declares with what was said besides.
func merged(site, said v1alpha1.SiteSpec) v1alpha1.SiteSpec {
	if len(said.AllowedNamespaces) > 0 {
		site.AllowedNamespaces = said.AllowedNamespaces
	}
	if len(said.SourceRanges) > 0 {
		site.SourceRanges = said.SourceRanges
	}
	if said.Exposure.Type != "" && said.Exposure.Type != site.Exposure.Type {
		site.Exposure = said.Exposure
	}
	over := func(have *string, said string) {
		if said != "" {
			*have = said
		}
	}
	over(&site.StorageClasses.Data, said.StorageClasses.Data)
	over(&site.StorageClasses.Log, said.StorageClasses.Log)
	over(&site.StorageClasses.TempDB, said.StorageClasses.TempDB)
	over(&site.StorageClasses.Backup, said.StorageClasses.Backup)
	over(&site.StorageClasses.Agent, said.StorageClasses.Agent)
	return site
}

// judge says what was found in all that was read. Who names sites hears of these alone, and of a hub that is silent.
func (o observed) judge() []Finding {
	all := o.judgeSites()
	if o.asked(o.hub.name) {
		all = append(all, judge(o.hub)...)
	}
	if o.member != nil {
		if another := o.judgeIdentity(); len(another) > 0 {
			// What else it has is not what the site has.
			all, o.member = append(all, another...), nil
		}
	}
	if o.member != nil {
		all = append(all, judge(*o.member)...)
		all = append(all, judgeClocks(o.hub, *o.member)...)
	}
	places := o.places()
	for i, p := range places {
		if o.asked(p.name) {
			all = append(all, judgeNetwork(p, slices.Concat(places[:i], places[i+1:]))...)
		}
	}
	return all
}

func (o observed) asked(name string) bool {
	return len(o.names) == 0 || slices.Contains(o.names, name)
}

// judgeSites says what the hub says of its sites.
func (o observed) judgeSites() []Finding {
	f := &findings{cluster: o.hub.name}
	switch err := o.sites.err; {
	case err == nil:
	case meta.IsNoMatchError(err):
		f.problem("kinds", "install the chart geosql-operator in the hub", "the hub does not know the kind Site")
	case cli.Silent(err) && o.asked(o.hub.name):
		// The hub's own finding says it.
	default:
		f.unknown("kinds", err)
	}
	all := f.list
	for i := range o.sites.is {
		if o.asked(o.sites.is[i].Name) {
			all = append(all, judgeSite(&o.sites.is[i])...)
		}
	}
	return all
}

// places are all sites that are not lost, with what was seen of the clusters that were looked at.
func (o observed) places() []place {
	looked := map[string]cluster{}
	if o.hub.serves() {
		looked[o.hub.name] = o.hub
	}
	if o.member != nil {
		looked[o.member.name] = *o.member
	}
	var all []place
	add := func(name string, site v1alpha1.SiteSpec) {
		c, seen := looked[name]
		delete(looked, name)
		if seen {
			site = c.site
		}
		p := placeOf(name, site)
		if seen && c.answer.err == nil && c.nodes.err == nil {
			p = p.look(c.nodes.is)
		}
		all = append(all, p)
	}
	for i := range o.sites.is {
		if s := &o.sites.is[i]; s.Spec.Lifecycle != v1alpha1.SiteLost {
			add(s.Name, s.Spec)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(looked)) {
		add(name, looked[name].site) // it is not joined yet
	}
	return all
}

// Joined says after a join what stands in the way of servers at the site, or that nothing does. It never fails, since
// the site is joined.
func Joined(ctx context.Context, out io.Writer, r Request) {
	o, err := r.observe(ctx)
	if err != nil {
		fmt.Fprintln(out, "the site was not checked: "+cli.Said(err.Error()))
		return
	}
	// No manager has looked at it yet.
	var found []Finding
	for _, f := range o.judge() {
		if f.Check != checkSite {
			found = append(found, f)
		}
	}
	if err := errors.Join(write(out, found, ""), verdict(found, true)); err == nil {
		fmt.Fprintln(out, "checked: nothing that an API server tells stands in the way of servers there")
	}
}
