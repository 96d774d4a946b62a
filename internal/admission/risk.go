// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/schedule"
)

// serverRisks are what a server may do to others, or become by itself: take the node's memory, and run another build
// than yesterday.
func serverRisks(at *field.Path, spec *v1alpha1.SQLServerSpec) (all admission.Warnings) {
	if _, limited := spec.Resources.Limits[corev1.ResourceMemory]; !limited {
		all = append(all, fmt.Sprintf("%s is not given: the engine takes most of the node's memory, and the node ends what "+
			"it likes once that is used up; give one, such as 8Gi", at.Child("resources", "limits", "memory")))
	}
	if tag, moves := movingTag(spec.Image); moves {
		all = append(all, fmt.Sprintf("%s: %s names whatever is newest when a server first starts, and is kept then, so "+
			"that the servers of a group may run several builds; name one build, by its tag or by its digest",
			at.Child("image"), tag))
	}
	return all
}

// movingTag tells of an image that is named by no digest and by a tag that is moved with each release: none, latest, or
// one such as 2022-latest.
func movingTag(image string) (what string, moves bool) {
	if image == "" || strings.Contains(image, "@") {
		return "", false
	}
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if !tagged {
		return "an image without a tag", true
	}
	return "the tag " + tag, slices.Contains(strings.Split(tag, "-"), "latest")
}

// windowRisks tells of a server that is updated in no maintenance window: none of its own opens within a year.
func windowRisks(at *field.Path, windows []v1alpha1.MaintenanceWindow, now time.Time) admission.Warnings {
	next, err := schedule.Common([][]v1alpha1.MaintenanceWindow{windows}, now)
	if err != nil || !next.IsZero() {
		return nil // what can't be read is refused
	}
	return admission.Warnings{fmt.Sprintf("%s: none opens within a year, so another image comes on request alone "+
		"(kubectl geosql update)", at.Child("maintenanceWindows"))}
}

// meetRisks tells of a group whose servers' windows are never open together: it goes by the windows of all.
func (w *World) meetRisks(at *field.Path, g *v1alpha1.AvailabilityGroup, now time.Time) admission.Warnings {
	var sets [][]v1alpha1.MaintenanceWindow
	var names []string
	for _, r := range g.Spec.Replicas {
		s := w.Servers[string(r.Server)]
		if s == nil || len(s.Spec.MaintenanceWindows) == 0 {
			continue
		}
		alone := [][]v1alpha1.MaintenanceWindow{s.Spec.MaintenanceWindows}
		if next, err := schedule.Common(alone, now); err != nil || next.IsZero() {
			return nil // it is refused, or said of the server
		}
		sets, names = append(sets, s.Spec.MaintenanceWindows), append(names, string(r.Server))
	}
	if next, err := schedule.Common(sets, now); err != nil || !next.IsZero() {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("%s: the maintenanceWindows of %s are never all open within a year, so another "+
		"image comes on request alone (kubectl geosql update); give them a time that they share",
		at.Child("replicas"), strings.Join(names, ", "))}
}

// sharedRisks are those of a Topology's servers: what all of them have is said once, at serverDefaults.
func sharedRisks(at *field.Path, servers []*v1alpha1.SQLServer) (all admission.Warnings) {
	each := at.Child("servers")
	everybody := func(s *v1alpha1.SQLServer) admission.Warnings {
		return serverRisks(at.Child("serverDefaults"), &s.Spec)
	}
	for _, warning := range everybody(servers[0]) {
		differs := func(s *v1alpha1.SQLServer) bool { return !slices.Contains(everybody(s), warning) }
		if !slices.ContainsFunc(servers, differs) {
			all = append(all, warning)
		}
	}
	for i, s := range servers {
		own, shared := serverRisks(each.Index(i), &s.Spec), everybody(s)
		for j, warning := range own {
			if !slices.Contains(all, shared[j]) {
				all = append(all, warning)
			}
		}
	}
	return all
}

// groupRisks are what a failover changes for readers, and what one site's end does to the votes.
func (w *World) groupRisks(at *field.Path, g *v1alpha1.AvailabilityGroup) (all admission.Warnings) {
	var readable, closed []string
	for _, r := range g.Spec.Replicas {
		switch {
		case r.AvailabilityMode == v1alpha1.ConfigurationOnly:
		case r.Readable:
			readable = append(readable, string(r.Server))
		default:
			closed = append(closed, string(r.Server))
		}
	}
	if len(readable) > 0 && len(closed) > 0 {
		all = append(all, fmt.Sprintf("%s: %s may be read while secondary, and %s not: after a failover readers find fewer "+
			"replicas, or none; make readable the same for all that hold data",
			at.Child("replicas"), strings.Join(readable, ", "), strings.Join(closed, ", ")))
	}
	if site, only := w.onlyVoter(g); only && g.Spec.ClusterType != v1alpha1.ClusterNone {
		all = append(all, fmt.Sprintf("%s: all votes are at site %s: without its API server the primary stops writing, and "+
			"no other replica takes over; name three sites, each another cluster", at.Child("voters"), site))
	}
	return all
}

// onlyVoter is the one site that votes: declared, or that of all replicas.
func (w *World) onlyVoter(g *v1alpha1.AvailabilityGroup) (v1alpha1.SiteName, bool) {
	var sites []v1alpha1.SiteName
	for _, r := range g.Spec.Replicas {
		s := w.Servers[string(r.Server)]
		if s == nil {
			return "", false
		}
		sites = append(sites, s.Spec.Site)
	}
	if len(g.Spec.Voters) > 0 {
		sites = slices.Clone(g.Spec.Voters)
	}
	slices.Sort(sites)
	sites = slices.Compact(sites)
	if len(sites) != 1 {
		return "", false
	}
	return sites[0], true
}

// environments are the labels by which people say what an object is for, and production the words that they use.
var (
	environments = []string{"environment", "env", "stage", "tier", "app.kubernetes.io/environment"}
	production   = []string{"production", "prod", "prd", "live"}
)

// productive says by what an object looks like production: its namespace, its name, or a label.
func productive(obj client.Object) (by string, looks bool) {
	says := func(text string) bool {
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune("-._/", r) })
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(production, word) })
	}
	if says(obj.GetNamespace()) {
		return "namespace " + obj.GetNamespace(), true
	}
	for _, key := range environments {
		if value := obj.GetLabels()[key]; says(value) {
			return fmt.Sprintf("label %s=%s", key, value), true
		}
	}
	return "name " + obj.GetName(), says(obj.GetName())
}

// drillable tells of an object that drills may break.
func drillable(obj client.Object) bool {
	return obj.GetLabels()[v1alpha1.DrillsLabel] == v1alpha1.DrillsAllowed
}

// breakable warns of the label that lets drills break what looks like production.
func breakable(kind string, obj client.Object) admission.Warnings {
	by, looks := productive(obj)
	if !looks || !drillable(obj) {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("metadata.labels[%s]: drills may break this %s, and by its %s it looks like "+
		"production: take the label off unless that is meant", v1alpha1.DrillsLabel, kind, by)}
}

// drillRisks warns of a drill whose target looks like production, or is not there.
func (w *World) drillRisks(at *field.Path, t v1alpha1.DrillTarget) admission.Warnings {
	all := awaits(to(at.Child("availabilityGroup"), "AvailabilityGroup", string(t.AvailabilityGroup), w.Groups),
		to(at.Child("subscription"), "Subscription", string(t.Subscription), w.Subscriptions),
		to(at.Child("topology"), "Topology", string(t.Topology), w.Topologies))
	var target client.Object
	switch {
	case w.Groups[string(t.AvailabilityGroup)] != nil:
		target = w.Groups[string(t.AvailabilityGroup)]
	case w.Subscriptions[string(t.Subscription)] != nil:
		target = w.Subscriptions[string(t.Subscription)]
	case w.Topologies[string(t.Topology)] != nil:
		target = w.Topologies[string(t.Topology)]
	default:
		return all
	}
	if by, looks := productive(target); looks {
		all = append(all, fmt.Sprintf("%s: by its %s it looks like production, and the drill breaks it on purpose", at, by))
	}
	return all
}
