// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/topology"
)

// reference is one object's naming of another, and what there is of the kind.
type reference struct {
	at         *field.Path
	kind, name string
	declared   []string
}

// to is the reference to an object of a map; the name may be empty.
func to[V any](at *field.Path, kind string, name string, objects map[string]V) reference {
	return reference{at, kind, name, slices.Sorted(maps.Keys(objects))}
}

// leads tells that what is named is there, or that nothing is named.
func (r reference) leads() bool { return r.name == "" || slices.Contains(r.declared, r.name) }

// those lists what there is, for a message.
func (r reference) those() string {
	if len(r.declared) == 0 {
		return "none"
	}
	return strings.Join(r.declared, ", ")
}

// either is the reference to a server or a group.
func (w *World) either(at *field.Path, x v1alpha1.ServerOrGroup) []reference {
	return []reference{to(at.Child("server"), "SQLServer", string(x.Server), w.Servers),
		to(at.Child("availabilityGroup"), "AvailabilityGroup", string(x.AvailabilityGroup), w.Groups)}
}

// profileOf is the reference to an AgentProfile.
func (w *World) profileOf(at *field.Path, name v1alpha1.ObjectName) reference {
	return to(at, "AgentProfile", string(name), w.Profiles)
}

func (w *World) ofGroup(at *field.Path, g *v1alpha1.AvailabilityGroup) []reference {
	var all []reference
	for i, r := range g.Spec.Replicas {
		all = append(all, to(at.Child("replicas").Index(i).Child("server"), "SQLServer", string(r.Server), w.Servers))
	}
	return all
}

func (w *World) ofDistributor(at *field.Path, d *v1alpha1.Distributor) []reference {
	all := []reference{to(at.Child("server"), "SQLServer", string(d.Spec.Server), w.Servers)}
	for i, p := range d.Spec.Publishers {
		all = append(all, w.either(at.Child("publishers").Index(i), p)...)
	}
	return all
}

func (w *World) ofPublication(at *field.Path, p *v1alpha1.Publication) []reference {
	return append(w.either(at.Child("publisher"), p.Spec.Publisher),
		to(at.Child("distributor"), "Distributor", string(p.Spec.Distributor), w.Distributors),
		w.profileOf(at.Child("logReaderProfile"), p.Spec.LogReaderProfile),
		w.profileOf(at.Child("snapshotProfile"), p.Spec.SnapshotProfile))
}

func (w *World) ofSubscription(at *field.Path, s *v1alpha1.Subscription) []reference {
	all := []reference{to(at.Child("publication"), "Publication", string(s.Spec.Publication), w.Publications)}
	return append(append(all, w.either(at.Child("subscriber"), s.Spec.Subscriber)...),
		w.profileOf(at.Child("profile"), s.Spec.Profile))
}

// ofPolicy is what a policy names; whose target comes from what a Topology has, has one.
func (w *World) ofPolicy(at *field.Path, p *v1alpha1.BackupPolicy) []reference {
	all := w.either(at.Child("target"), p.Spec.Target)
	if t := p.Spec.RestoreTest; t != nil {
		all = append(all, to(at.Child("restoreTest", "server"), "SQLServer", string(t.Server), w.Servers))
	}
	for i, s := range p.Spec.Stores {
		all = append(all, to(at.Child("stores").Index(i), "BackupStore", string(s), w.Stores))
	}
	return all
}

// references refuses those of a Topology that lead nowhere.
func (w *World) references(at *field.Path, o *topology.Objects) field.ErrorList {
	var all []reference
	for i, g := range o.Groups {
		all = append(all, w.ofGroup(at.Child("availabilityGroups").Index(i), g)...)
	}
	for i, d := range o.Distributors {
		all = append(all, w.ofDistributor(at.Child("distributors").Index(i), d)...)
	}
	for i, p := range o.Publications {
		all = append(all, w.ofPublication(at.Child("publications").Index(i), p)...)
	}
	for i, s := range o.Subscriptions {
		all = append(all, w.ofSubscription(at.Child("subscriptions").Index(i), s)...)
	}
	for i, p := range o.Policies {
		if i > 0 && o.PolicyEntries[i] == o.PolicyEntries[i-1] {
			continue // of the same entry, which names the same stores
		}
		all = append(all, w.ofPolicy(at.Child("backupPolicies").Index(o.PolicyEntries[i]), p)...)
	}
	var errs field.ErrorList
	for _, r := range all {
		if !r.leads() {
			errs = append(errs, field.NotFound(r.at, fmt.Sprintf("%s; declared are: %s", r.name, r.those())))
		}
	}
	return errs
}

// awaits warns of what an object names and is not there: it waits until that is made, and for ever after a slip of the
// pen. Objects may come in any order.
func awaits(all ...reference) (warnings admission.Warnings) {
	for _, r := range all {
		if !r.leads() {
			warnings = append(warnings, fmt.Sprintf("%s: there is no %s %s yet, and nothing is done before there is one; "+
				"there are: %s", r.at, r.kind, r.name, r.those()))
		}
	}
	return warnings
}

// awaitsSite warns of a site that is not there, or does not let the namespace in.
func (w *World) awaitsSite(at *field.Path, site v1alpha1.SiteName, namespace string) admission.Warnings {
	s := w.Sites[string(site)]
	if s == nil || slices.Contains(s.Spec.AllowedNamespaces, namespace) {
		return awaits(to(at, "Site", string(site), w.Sites))
	}
	return admission.Warnings{fmt.Sprintf("%s: Site %s does not let in namespace %s yet, and nothing is done there "+
		"before it does (kubectl geosql site join %s --add-namespaces %s); it lets in: %s", at, site, namespace, site,
		namespace, strings.Join(s.Spec.AllowedNamespaces, ", "))}
}
