// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites/join"
)

// siteView is what a site knows by itself of the servers and groups of a namespace.
type siteView struct {
	namespace string
	// here are the servers whose pods are at the site.
	here []string
	// told is what the hub said when it last could.
	told orders.Names
}

// findAtSite looks at a site whose hub is away. The credentials are the site's own copies.
func findAtSite(ctx context.Context, at join.Cluster, kubeContext, namespace string, a asked) (*goal, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	v, err := readSite(ctx, at.Client, namespace)
	if err != nil {
		return nil, err
	}
	g := &goal{namespace: namespace, at: at, context: kubeContext, secrets: at.Client, of: "the site"}
	isServer := a.server && !a.secondary && v.knows(string(cli.ServerName(a.name)))
	if isServer && a.group && v.hasGroup(a.name) {
		return nil, ambiguous(a.name)
	}
	if isServer {
		g.server = cli.ServerName(a.name)
		return v.reached(ctx, g)
	}
	if a.group {
		if err := v.group(ctx, at.Client, g, a); err != nil {
			return nil, err
		}
		return v.reached(ctx, g)
	}
	return nil, v.missing(a.name)
}

func readSite(ctx context.Context, site client.Reader, namespace string) (siteView, error) {
	here, err := cli.ServersHere(ctx, site, namespace)
	v := siteView{namespace: namespace, here: here}
	if err != nil {
		return v, err
	}
	var names corev1.ConfigMap
	err = site.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.NamesObject}, &names)
	if client.IgnoreNotFound(err) != nil {
		return v, fmt.Errorf("this cluster is not the hub; read ConfigMap %s/%s: %w", namespace, orders.NamesObject, err)
	}
	// What of it cannot be read is not known.
	v.told, _ = orders.DecodeNames(names.Data)
	return v, nil
}

// knows tells whether the site has the server, or was told of it.
func (v siteView) knows(server string) bool {
	return slices.Contains(v.here, server) || v.siteOf(server) != ""
}

// hasGroup tells whether the site was told of the group.
func (v siteView) hasGroup(group string) bool {
	return slices.ContainsFunc(v.told.Groups, func(t orders.NamedGroup) bool { return t.Name == group })
}

// siteOf is where a server is, as the hub said; empty when it did not.
func (v siteView) siteOf(server string) string {
	for _, s := range v.told.Servers {
		if s.Name == server {
			return s.Site
		}
	}
	return ""
}

// reached looks at the goal's pod, which has to be here.
func (v siteView) reached(ctx context.Context, g *goal) (*goal, error) {
	g.site = v.siteOf(string(g.server))
	if slices.Contains(v.here, string(g.server)) {
		return g, g.look(ctx)
	}
	where := "at another site"
	if g.site != "" {
		where = "at site " + g.site
	}
	return nil, fmt.Errorf("this cluster is not the hub, and server %s is %s: name a context of that site in --context",
		g.server, where)
}

// missing names what there is.
func (v siteView) missing(name string) error {
	there := slices.Clone(v.here)
	for _, g := range v.told.Groups {
		there = append(there, "gag/"+g.Name)
	}
	if len(there) == 0 {
		return fmt.Errorf("this cluster is not the hub, and namespace %s has no servers here: name the hub or a site in "+
			"--context, and in -n the namespace of the servers", v.namespace)
	}
	return fmt.Errorf("this cluster is not the hub, and as a site knows no %s in namespace %s; there are: %s", name,
		v.namespace, strings.Join(there, ", "))
}

// group chooses a server of a group by the vote that is here. One vote decides nothing: the engine has to say so, too.
func (v siteView) group(ctx context.Context, site client.Reader, g *goal, a asked) error {
	g.group, g.role = a.name, primary
	i := slices.IndexFunc(v.told.Groups, func(t orders.NamedGroup) bool { return t.Name == a.name })
	vote := requests.Read(ctx, site, v.namespace, a.name)
	if i < 0 && errors.Is(vote.Err, votes.ErrAbsent) {
		return v.missing(a.name)
	}
	holder := ""
	if vote.Err == nil && vote.Record.Holder.Server != "" {
		holder = string(cli.ServerName(vote.Record.Holder.Server))
	} else if i >= 0 {
		holder = v.told.Groups[i].Primary
	}
	if !a.secondary {
		if holder == "" {
			return fmt.Errorf("nothing at this site says which server is the primary of group %s: name a server", a.name)
		}
		g.server = v1alpha1.ServerName(holder)
		return nil
	}
	if i >= 0 {
		for _, server := range v.told.Groups[i].Readable {
			if server != holder && slices.Contains(v.here, server) {
				g.server, g.role = v1alpha1.ServerName(server), secondary
				return nil
			}
		}
	}
	return fmt.Errorf("this site has no readable secondary of group %s: name another site in --context, or a server",
		a.name)
}
