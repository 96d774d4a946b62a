// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/sites"
)

// neededRights are one of each kind that `site join --drills` grants.
func neededRights(namespace string) []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Namespace: namespace, Verb: "create", Resource: "pods"},
		{Namespace: namespace, Verb: "create", Resource: "pods", Subresource: "exec"},
		{Namespace: namespace, Verb: "create", Group: sites.ChaosGroup, Resource: sites.ChaosResources()[0]},
	}
}

// observeRights asks each site that the drill is about whether the manager may do there what drills do. A site that is
// silent is said elsewhere.
func observeRights(ctx context.Context, w *Observed) {
	w.ungranted = map[v1alpha1.SiteName]string{}
	about := append(w.target.sites(), drill.ClientSites(w.drill.Spec, w.target.sites())...)
	slices.Sort(about)
	for _, site := range slices.Compact(about) {
		member := w.members[site]
		if member == nil {
			continue
		}
		lacks, err := lackedAt(ctx, member, w.drill.Namespace)
		switch {
		case err != nil:
			w.unasked = fmt.Sprintf("whether drills are granted at site %s cannot be told: %v", site, err)
		case lacks != "":
			w.ungranted[site] = lacks
		}
	}
}

// lackedAt is what the manager may not do at a site, empty when it may all.
func lackedAt(ctx context.Context, member *sites.Member, namespace string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	// The member's own client knows the kinds alone that the operator makes.
	api, err := authorization.NewForConfig(member.RESTConfig)
	if err != nil {
		return "", fmt.Errorf("make a client of site %s: %w", member.Name(), err)
	}
	var lacks []string
	for _, right := range neededRights(namespace) {
		review, err := api.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		if !review.Status.Allowed {
			name := strings.TrimSuffix(right.Resource+"/"+right.Subresource, "/")
			lacks = append(lacks, right.Verb+" "+strings.TrimSuffix(name+"."+right.Group, "."))
		}
	}
	return strings.Join(lacks, ", "), nil
}

// notGranted says at which sites rights are lacked, and what gives them.
func (w *Observed) notGranted() string {
	var list []string
	for _, site := range slices.Sorted(maps.Keys(w.ungranted)) {
		list = append(
			list,
			fmt.Sprintf(
				"site %s does not grant the manager what drills need in namespace %s (%s): %s",
				site,
				w.drill.Namespace,
				w.ungranted[site],
				grantHint(site),
			),
		)
	}
	return strings.Join(list, "; ")
}

// grantHint says what grants drills at a site.
func grantHint(site v1alpha1.SiteName) string {
	return fmt.Sprintf(
		"run `kubectl geosql site join %s --drills` as an administrator there, with the flags --context or --hub as before",
		site,
	)
}
