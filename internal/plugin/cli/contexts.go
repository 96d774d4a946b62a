// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

// SiteContexts finds the clusters of sites among the contexts of the kubeconfig: a person acts there by rights of their
// own, and the manager's credentials are not used.
type SiteContexts struct {
	hub   *HubFlags
	named map[string]string
}

// AddTo adds --site-context to a command that has the flags of a hub.
func (c *SiteContexts) AddTo(cmd *cobra.Command, hub *HubFlags) {
	c.hub = hub
	cmd.Flags().StringToStringVar(&c.named, "site-context", nil,
		"SITE=CONTEXT, which context of the kubeconfig leads to a site's cluster; repeatable. Unless given, one whose name "+
			"is the site's or has it between hyphens or the like, and whose cluster is the Site's")
}

// Open opens the cluster of a site, and says by which context: empty for the hub's own.
func (c *SiteContexts) Open(ctx context.Context, hub join.Cluster, site *v1alpha1.Site) (join.Cluster, string, error) {
	if site.Spec.KubeconfigSecretRef == nil {
		return hub, c.hub.context, nil
	}
	if name, given := c.named[site.Name]; given {
		cluster, err := OpenCluster(c.hub.kubeconfig, name)
		if err == nil && is(ctx, cluster, site) == another {
			err = fmt.Errorf("context %q leads to another cluster than that of Site %s, whose namespace kube-system has UID %s",
				name, site.Name, site.Cluster())
		}
		return cluster, name, err
	}
	raw, err := kubeconfigLoader(c.hub.kubeconfig, c.hub.context).RawConfig()
	if err != nil {
		return join.Cluster{}, "", fmt.Errorf("read the contexts of the kubeconfig: %w", err)
	}
	return c.search(ctx, site, slices.Collect(maps.Keys(raw.Contexts)))
}

// search looks among contexts that bear the site's name. One is taken that is known to lead there, or the only one of
// which nobody can tell.
func (c *SiteContexts) search(
	ctx context.Context, site *v1alpha1.Site, contexts []string,
) (join.Cluster, string, error) {
	var looked []string
	found := map[string]join.Cluster{}
	for _, name := range bearing(contexts, site.Name) {
		cluster, err := OpenCluster(c.hub.kubeconfig, name)
		if err != nil {
			looked = append(looked, fmt.Sprintf("%s (%v)", name, err))
			continue
		}
		switch is(ctx, cluster, site) {
		case same:
			return cluster, name, nil
		case another:
			looked = append(looked, name+" (another cluster)")
		case unknown:
			looked = append(looked, name+" (which cluster it is cannot be told)")
			found[name] = cluster
		}
	}
	if len(found) == 1 {
		for name, cluster := range found {
			return cluster, name, nil
		}
	}
	what := "none bears its name"
	if len(looked) > 0 {
		what = "looked at " + strings.Join(looked, ", ")
	}
	return join.Cluster{}, "", fmt.Errorf(
		"no context of the kubeconfig is known to lead to site %s: %s; say --site-context %s=CONTEXT", site.Name, what,
		site.Name)
}

// bearing are the contexts whose name is a site's, or has it as a word, the likeliest first.
func bearing(contexts []string, site string) []string {
	found := slices.DeleteFunc(slices.Clone(contexts), func(name string) bool {
		at := strings.Index(name, site)
		for ; at >= 0; at = next(name, site, at) {
			end := at + len(site)
			if (at == 0 || apart(name[at-1])) && (end == len(name) || apart(name[end])) {
				return false
			}
		}
		return true
	})
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return found
}

// next is where a word comes again in a text, -1 when it does not.
func next(text, word string, after int) int {
	if at := strings.Index(text[after+1:], word); at >= 0 {
		return after + 1 + at
	}
	return -1
}

// apart tells that a character parts words.
func apart(c byte) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
}

// identity says whether a cluster is a site's.
type identity int

const (
	unknown identity = iota
	same
	another
)

// is compares the cluster with that of the Site, within the time of a question about kinds.
func is(ctx context.Context, cluster join.Cluster, site *v1alpha1.Site) identity {
	if site.Cluster() == "" {
		return unknown
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	switch uid, err := sites.ClusterUID(ctx, cluster.Client); {
	case err != nil:
		return unknown
	case uid == site.Cluster():
		return same
	}
	return another
}
