// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/podshape"
)

// site checks a Site against the other Sites, and the servers and votes that are there.
func (w *World) site(at *field.Path, old, s *v1alpha1.Site) field.ErrorList {
	var errs field.ErrorList
	ref := s.Spec.KubeconfigSecretRef
	for _, other := range sorted(w.Sites) {
		if other.Name == s.Name {
			continue
		}
		switch otherRef := other.Spec.KubeconfigSecretRef; {
		case ref == nil && otherRef == nil:
			errs = append(errs, field.Required(at.Child("kubeconfigSecretRef"), fmt.Sprintf(
				"without it the site is the hub itself, and that is Site %s already", other.Name)))
		case ref != nil && otherRef != nil && *ref == *otherRef:
			errs = append(errs, field.Duplicate(at.Child("kubeconfigSecretRef", "name"), fmt.Sprintf(
				"%s: Site %s uses it, and two Sites may not be one cluster", ref.Name, other.Name)))
		}
	}
	for i, link := range s.Spec.Links {
		if string(link.To) == s.Name {
			errs = append(errs, field.Invalid(at.Child("links").Index(i).Child("to"), link.To, "a link leads to another site"))
		}
	}
	errs = append(errs, balancerAnnotations(at.Child("exposure", "loadBalancer", "annotations"), s.Spec.Exposure)...)
	if old == nil {
		return errs
	}
	if (old.Spec.KubeconfigSecretRef == nil) != (ref == nil) {
		errs = append(errs, field.Forbidden(at.Child("kubeconfigSecretRef"),
			"a Site cannot turn from the hub into another cluster or back: declare another Site"))
	}
	for _, ns := range old.Spec.AllowedNamespaces {
		if slices.Contains(s.Spec.AllowedNamespaces, ns) {
			continue
		}
		if running := inNamespace(w.Placed[s.Name], ns); len(running) > 0 {
			errs = append(errs, field.Forbidden(at.Child("allowedNamespaces"), fmt.Sprintf(
				"%s cannot be taken out: these servers run at the site: %s; delete them first", ns, strings.Join(running, ", "))))
		}
		if voting := inNamespace(w.Voting[s.Name], ns); len(voting) > 0 {
			errs = append(errs, field.Forbidden(at.Child("allowedNamespaces"), fmt.Sprintf(
				"%s cannot be taken out: these groups have a vote at the site: %s; name another site in their spec.voters first",
				ns,
				strings.Join(voting, ", "),
			)))
		}
	}
	return errs
}

// balancerAnnotations refuses annotations of load balancers that the site's API server would, and the operator's own.
func balancerAnnotations(at *field.Path, e v1alpha1.Exposure) field.ErrorList {
	if e.LoadBalancer == nil {
		return nil
	}
	errs := apivalidation.ValidateAnnotations(e.LoadBalancer.Annotations, at)
	for _, key := range slices.Sorted(maps.Keys(e.LoadBalancer.Annotations)) {
		if podshape.OwnsLabel(key) {
			errs = append(errs, field.Forbidden(at.Key(key), "the operator has this key itself; use one of your own"))
		}
	}
	return errs
}

func inNamespace(keys []string, namespace string) []string {
	var found []string
	for _, k := range keys {
		if strings.HasPrefix(k, namespace+"/") {
			found = append(found, k)
		}
	}
	return found
}
