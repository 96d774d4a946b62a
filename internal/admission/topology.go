// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/topology"
)

// topology checks a Topology by checking every object it declares against the world as it would be. Inside a Topology
// a reference must lead to something that it declares or that exists: here nothing comes later by itself.
func (w *World) topology(at *field.Path, old, t *v1alpha1.Topology) field.ErrorList {
	objects, err := topology.Expand(t)
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	errs := w.ownership(at, t, objects)
	next := w.with(t, objects)
	errs = append(errs, next.references(at, objects)...)
	before := map[string]*v1alpha1.SQLServer{}
	if old != nil {
		if was, err := topology.Expand(old); err == nil {
			for _, s := range was.Servers {
				before[s.Name] = s
			}
		}
	}
	for i, s := range objects.Servers {
		path := at.Child("servers").Index(i)
		errs = append(errs, complete(path, s)...)
		errs = append(errs, next.server(path, before[s.Name], s)...)
		if b := before[s.Name]; b != nil && b.Spec.Site != "" && b.Spec.Site != s.Spec.Site {
			errs = append(
				errs,
				field.Invalid(
					path.Child("site"),
					s.Spec.Site,
					fmt.Sprintf("is immutable (%s): declare another server at the other site and add it to the group", b.Spec.Site),
				),
			)
		}
	}
	for i, g := range objects.Groups {
		path := at.Child("availabilityGroups").Index(i)
		old := w.Groups[g.Name]
		errs = append(append(errs, next.group(path, g)...), next.takesOver(path, old, g)...)
		errs = append(errs, next.groupOwners(path, old, g)...)
		errs = append(errs, next.newEditions(path, w, old, g)...)
		errs = append(errs, next.versions(path, old, g)...)
	}
	for i, d := range objects.Distributors {
		errs = append(errs, next.distributor(at.Child("distributors").Index(i), d)...)
	}
	for i, p := range objects.Publications {
		path := at.Child("publications").Index(i)
		was := w.Publications[p.Name]
		errs = append(append(errs, next.publication(path, p)...), next.publishesForItself(path, was, p)...)
		errs = append(errs, next.lessCopiesOf(path, w, was, p)...)
	}
	for i, s := range objects.Subscriptions {
		path := at.Child("subscriptions").Index(i)
		was := w.Subscriptions[s.Name]
		errs = append(append(errs, next.subscription(path, s)...), next.receivesForItself(path, was, s)...)
		errs = append(append(errs, groupReceives(path, was, s)...), next.lessCopies(path, w, was, s)...)
		errs = append(errs, next.retyped(path, w, was, s)...)
	}
	return append(errs, w.topologyBackups(at, t, objects)...)
}

// ownership refuses objects that somebody else declares: another Topology, or a person, unless the Topology says that
// it adopts.
func (w *World) ownership(at *field.Path, t *v1alpha1.Topology, objects *topology.Objects) field.ErrorList {
	var errs field.ErrorList
	check := func(path *field.Path, kind string, existing client.Object, name string) {
		owner := existing.GetLabels()[v1alpha1.LabelTopology]
		switch {
		case owner == t.Name:
		case owner != "":
			errs = append(
				errs,
				field.Invalid(
					path,
					name,
					fmt.Sprintf(
						"%s %s belongs to Topology %s: use another name, or take it out of that Topology first",
						kind,
						name,
						owner,
					),
				),
			)
		case t.Annotations[v1alpha1.AdoptAnnotation] != "true":
			errs = append(
				errs,
				field.Invalid(
					path,
					name,
					fmt.Sprintf(
						"%s %s exists and no Topology declares it: use another name, or annotate this Topology with %s: \"true\" to "+
							"take it over",
						kind,
						name,
						v1alpha1.AdoptAnnotation,
					),
				),
			)
		}
	}
	claim(at.Child("servers"), "SQLServer", objects.Servers, w.Servers, check)
	claim(at.Child("availabilityGroups"), "AvailabilityGroup", objects.Groups, w.Groups, check)
	claim(at.Child("distributors"), "Distributor", objects.Distributors, w.Distributors, check)
	claim(at.Child("agentProfiles"), "AgentProfile", objects.Profiles, w.Profiles, check)
	claim(at.Child("publications"), "Publication", objects.Publications, w.Publications, check)
	claim(at.Child("subscriptions"), "Subscription", objects.Subscriptions, w.Subscriptions, check)
	claim(at.Child("backupStores"), "BackupStore", objects.Stores, w.Stores, check)
	for i, p := range objects.Policies {
		if e, ok := w.Policies[p.Name]; ok {
			check(at.Child("backupPolicies").Index(objects.PolicyEntries[i]).Child("name"), "BackupPolicy", e, p.Name)
		}
	}
	return append(errs, w.rivals(at, t, objects)...)
}

func claim[P client.Object](
	at *field.Path,
	kind string,
	objects []P,
	existing map[string]P,
	check func(*field.Path, string, client.Object, string),
) {
	for i, o := range objects {
		if e, ok := existing[o.GetName()]; ok {
			check(at.Index(i).Child("name"), kind, e, o.GetName())
		}
	}
}

// rivals refuses servers that another Topology declares, although neither may have been expanded yet.
func (w *World) rivals(at *field.Path, t *v1alpha1.Topology, objects *topology.Objects) field.ErrorList {
	var errs field.ErrorList
	for _, other := range sorted(w.Topologies) {
		if other.Name == t.Name {
			continue
		}
		for i, s := range objects.Servers {
			exists := w.Servers[s.Name]
			known := exists != nil && exists.Labels[v1alpha1.LabelTopology] != ""
			declared := slices.ContainsFunc(
				other.Spec.Servers,
				func(o v1alpha1.TopologyServer) bool { return string(o.Name) == s.Name },
			)
			if declared && !known {
				errs = append(
					errs,
					field.Invalid(
						at.Child("servers").Index(i).Child("name"),
						s.Name,
						fmt.Sprintf(
							"Topology %s declares the SQLServer of this name: use another name, or take it out of that Topology first",
							other.Name,
						),
					),
				)
			}
		}
	}
	return errs
}

// with is the world as it would be with the Topology's objects, and without those it no longer declares.
func (w *World) with(t *v1alpha1.Topology, objects *topology.Objects) *World {
	next := NewWorld()
	next.strict = true
	maps.Copy(next.Sites, w.Sites)
	maps.Copy(next.Logins, w.Logins)
	for _, s := range objects.Servers {
		if live := w.Servers[s.Name]; live != nil {
			// What is known of the server that there is counts: what its volumes have, and what wrote its data.
			live.Status.DeepCopyInto(&s.Status)
		}
	}
	overlay(next.Servers, w.Servers, objects.Servers, t.Name)
	overlay(next.Groups, w.Groups, objects.Groups, t.Name)
	overlay(next.Distributors, w.Distributors, objects.Distributors, t.Name)
	overlay(next.Profiles, w.Profiles, objects.Profiles, t.Name)
	overlay(next.Publications, w.Publications, objects.Publications, t.Name)
	overlay(next.Subscriptions, w.Subscriptions, objects.Subscriptions, t.Name)
	overlay(next.Stores, w.Stores, objects.Stores, t.Name)
	overlay(next.Policies, w.Policies, objects.Policies, t.Name)
	return next
}

func overlay[P client.Object](into, existing map[string]P, objects []P, topology string) {
	for name, o := range existing {
		if o.GetLabels()[v1alpha1.LabelTopology] != topology {
			into[name] = o
		}
	}
	for _, o := range objects {
		into[o.GetName()] = o
	}
}

// complete refuses a server that lacks what a SQLServer must have, after serverDefaults have been laid under it.
func complete(at *field.Path, s *v1alpha1.SQLServer) field.ErrorList {
	var errs field.ErrorList
	need := func(ok bool, child, detail string) {
		if !ok {
			errs = append(errs, field.Required(at.Child(child), detail+"; say it here or in serverDefaults"))
		}
	}
	need(s.Spec.Site != "", "site", "the Site where the server runs")
	need(s.Spec.AcceptEULA, "acceptEULA", "must be true: read the licence of the image and accept it yourself")
	need(
		s.Spec.Edition != "" || s.Spec.ProductKeySecretRef != nil,
		"edition",
		"Evaluation, Developer, Express, Web, Standard, Enterprise, EnterpriseCore, StandardDeveloper, "+
			"EnterpriseDeveloper; or productKeySecretRef",
	)
	need(s.Spec.Image != "", "image", "the image of the engine")
	for _, v := range roles(s.Spec.Storage) {
		if v.volume == nil && v.role == roleAgent {
			continue
		}
		if v.volume == nil || v.volume.Size.Sign() <= 0 {
			errs = append(
				errs,
				field.Required(
					at.Child("storage", v.role, "size"),
					"each of the volumes data, log, tempdb and backup needs a size; say it here or in serverDefaults",
				),
			)
		}
	}
	return errs
}
