// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// goingFor is how long a server has to have been deleted before its silence counts: until then its pod answers, and
// what is to be ended there can be.
const goingFor = time.Minute

// Gone tells of the servers of a namespace which of them nobody expects back, by somebody's word: the Site is declared
// lost, or the SQLServer was deleted. Silence is no evidence, and such a server may still answer: whoever goes on
// without one has asked it first. The zero value knows of none.
type Gone struct {
	// why by server that is declared, empty for one that is expected back; nil when nobody looked.
	why map[v1alpha1.ServerName]string
}

// ReadGone reads the SQLServers of a namespace and their Sites.
func ReadGone(ctx context.Context, reader client.Reader, namespace string, now time.Time) (Gone, error) {
	var servers v1alpha1.SQLServerList
	if err := reader.List(ctx, &servers, client.InNamespace(namespace)); err != nil {
		return Gone{}, fmt.Errorf("list the SQLServers of namespace %s: %w", namespace, err)
	}
	var all v1alpha1.SiteList
	if err := reader.List(ctx, &all); err != nil {
		return Gone{}, fmt.Errorf("list the Sites: %w", err)
	}
	lost := map[string]bool{}
	for _, s := range all.Items {
		lost[s.Name] = s.Spec.Lifecycle == v1alpha1.SiteLost
	}
	g := Gone{why: map[v1alpha1.ServerName]string{}}
	for _, s := range servers.Items {
		why := ""
		switch {
		case lost[string(s.Spec.Site)]:
			why = fmt.Sprintf("Site %s is declared lost", s.Spec.Site)
		case s.DeletionTimestamp != nil && now.Sub(s.DeletionTimestamp.Time) >= goingFor:
			why = fmt.Sprintf("SQLServer %s is being deleted", s.Name)
		}
		g.why[v1alpha1.ServerName(s.Name)] = why
	}
	return g, nil
}

// Why says why nobody expects a server back, as a clause; empty when it is expected.
func (g Gone) Why(server v1alpha1.ServerName) string {
	why, declared := g.why[server]
	if g.why != nil && !declared {
		return fmt.Sprintf("there is no SQLServer %s any more", server)
	}
	return why
}

// Servers are those that are declared, sorted; none when nobody looked.
func (g Gone) Servers() []v1alpha1.ServerName { return slices.Sorted(maps.Keys(g.why)) }

// GoneFor makes a Gone by hand: the servers that are declared, each with why nobody expects it back, or nothing.
func GoneFor(why map[v1alpha1.ServerName]string) Gone { return Gone{why: why} }

// WayOut says how somebody lets a deletion go on without a server that does not answer.
func WayOut(server v1alpha1.ServerName) string {
	return GoneForGood(server) + "; reclaimPolicy Retain leaves everything as it is"
}

// GoneForGood says it of what reclaimPolicy Retain does not leave either.
func GoneForGood(server v1alpha1.ServerName) string {
	return fmt.Sprintf("if server %s is gone for good, set the lifecycle of its Site to Lost or delete SQLServer %s, "+
		"and what is left of it is not waited for", server, server)
}
