// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"geosql.dev/operator/api/v1alpha1"
)

// asked tells whether a webhook may be asked about a server's pod in one of the site's namespaces.
func (c cluster) asked(w webhook) bool {
	return slices.ContainsFunc(c.site.AllowedNamespaces, func(ns string) bool {
		return selects(w.selector, c.labels(ns)) && maySelect(w.objects, labels.Set{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelApp: v1alpha1.App,
			v1alpha1.LabelAppComponent: v1alpha1.ComponentServer, v1alpha1.LabelSite: c.name, v1alpha1.LabelNamespace: ns})
	})
}

// named are labels of a server's pod whose values are not known yet.
var named = []string{v1alpha1.LabelServer, v1alpha1.LabelAppInstance, appsv1.StatefulSetPodNameLabel,
	appsv1.PodIndexLabel, appsv1.ControllerRevisionHashLabelKey}

// maySelect tells whether a selector takes a pod with these labels, those in named and, it may be, a topology's. Labels
// that a server's declaration adds are not known: what needs one of those does not take it.
func maySelect(selector *metav1.LabelSelector, known labels.Set) bool {
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return true
	}
	requirements, some := s.Requirements()
	return some && !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		switch {
		case r.Key() == v1alpha1.LabelTopology:
			return false
		case slices.Contains(named, r.Key()):
			return r.Operator() == selection.DoesNotExist
		}
		return !r.Matches(known)
	})
}

// labels of a namespace, or those that every new one gets.
func (c cluster) labels(namespace string) labels.Set {
	if ns := c.namespaces[namespace].is; ns != nil {
		return ns.Labels
	}
	return labels.Set{corev1.LabelMetadataName: namespace}
}

// selects tells whether a selector takes these labels; one that cannot be read does.
func selects(selector *metav1.LabelSelector, set labels.Set) bool {
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || s.Matches(set)
}
