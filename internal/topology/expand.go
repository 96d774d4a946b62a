// SPDX-License-Identifier: Apache-2.0

// Package topology turns a Topology into the objects that it declares. It is pure: admission checks what it returns,
// the controller of Topologies applies it, and the plugin plans with it.
package topology

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Objects are what a Topology declares, in the order of its lists.
type Objects struct {
	Servers       []*v1alpha1.SQLServer
	Groups        []*v1alpha1.AvailabilityGroup
	Distributors  []*v1alpha1.Distributor
	Profiles      []*v1alpha1.AgentProfile
	Publications  []*v1alpha1.Publication
	Subscriptions []*v1alpha1.Subscription
	Stores        []*v1alpha1.BackupStore
	Policies      []*v1alpha1.BackupPolicy
	// PolicyEntries are, for each of Policies, the index of the entry of spec.backupPolicies that it is made of.
	PolicyEntries []int
}

// All returns the objects, each after those that it refers to.
func (o *Objects) All() []client.Object {
	var all []client.Object
	for _, x := range o.Profiles {
		all = append(all, x)
	}
	for _, x := range o.Stores {
		all = append(all, x)
	}
	for _, x := range o.Servers {
		all = append(all, x)
	}
	for _, x := range o.Groups {
		all = append(all, x)
	}
	for _, x := range o.Distributors {
		all = append(all, x)
	}
	for _, x := range o.Publications {
		all = append(all, x)
	}
	for _, x := range o.Subscriptions {
		all = append(all, x)
	}
	for _, x := range o.Policies {
		all = append(all, x)
	}
	return all
}

// Expand returns the objects of a Topology, in its namespace and with its label. They share nothing with it.
func Expand(t *v1alpha1.Topology) (*Objects, error) {
	meta := func(name string) metav1.ObjectMeta { return meta(t, name) }
	spec := t.Spec.DeepCopy()
	o := &Objects{}
	for _, s := range spec.Servers {
		merged, err := MergeServer(spec.ServerDefaults, &s.SQLServerSpec)
		if err != nil {
			return nil, fmt.Errorf("server %s of Topology %s/%s: %w", s.Name, t.Namespace, t.Name, err)
		}
		o.Servers = append(
			o.Servers,
			&v1alpha1.SQLServer{TypeMeta: kind("SQLServer"), ObjectMeta: meta(string(s.Name)), Spec: *merged},
		)
	}
	for _, g := range spec.AvailabilityGroups {
		o.Groups = append(
			o.Groups,
			&v1alpha1.AvailabilityGroup{
				TypeMeta:   kind("AvailabilityGroup"),
				ObjectMeta: meta(string(g.Name)),
				Spec:       g.AvailabilityGroupSpec,
			},
		)
	}
	for _, d := range spec.Distributors {
		o.Distributors = append(
			o.Distributors,
			&v1alpha1.Distributor{TypeMeta: kind("Distributor"), ObjectMeta: meta(string(d.Name)), Spec: d.DistributorSpec},
		)
	}
	for _, p := range spec.AgentProfiles {
		o.Profiles = append(
			o.Profiles,
			&v1alpha1.AgentProfile{TypeMeta: kind("AgentProfile"), ObjectMeta: meta(string(p.Name)), Spec: p.AgentProfileSpec},
		)
	}
	for _, p := range spec.Publications {
		o.Publications = append(
			o.Publications,
			&v1alpha1.Publication{TypeMeta: kind("Publication"), ObjectMeta: meta(string(p.Name)), Spec: p.PublicationSpec},
		)
	}
	for _, s := range spec.Subscriptions {
		o.Subscriptions = append(
			o.Subscriptions,
			&v1alpha1.Subscription{TypeMeta: kind("Subscription"), ObjectMeta: meta(string(s.Name)), Spec: s.SubscriptionSpec},
		)
	}
	o.backups(t, spec)
	return o, nil
}

func meta(t *v1alpha1.Topology, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: t.Namespace,
		Name:      name,
		Labels:    map[string]string{v1alpha1.LabelTopology: t.Name},
	}
}

func kind(k string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: k}
}

// MergeServer lays a server's spec over the defaults, field by field: objects and maps are merged, and whatever else
// the server says (a list too) takes the place of the default. A server cannot unset what the defaults set.
func MergeServer(defaults, spec *v1alpha1.SQLServerSpec) (*v1alpha1.SQLServerSpec, error) {
	if defaults == nil {
		return spec.DeepCopy(), nil
	}
	base, err := toMap(defaults)
	if err != nil {
		return nil, err
	}
	over, err := toMap(spec)
	if err != nil {
		return nil, err
	}
	oneCertificate(base, over)
	data, err := json.Marshal(merge(base, over))
	if err != nil {
		return nil, fmt.Errorf("merging serverDefaults: %w", err)
	}
	merged := &v1alpha1.SQLServerSpec{}
	if err := json.Unmarshal(data, merged); err != nil {
		return nil, fmt.Errorf("merging serverDefaults: %w", err)
	}
	return merged, nil
}

func toMap(spec *v1alpha1.SQLServerSpec) (map[string]any, error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("merging serverDefaults: %w", err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("merging serverDefaults: %w", err)
	}
	dropZeroSizes(m)
	return m, nil
}

// oneCertificate forgets where the defaults take a certificate from when the server says where its own comes from.
func oneCertificate(base, over map[string]any) {
	under, _ := base["tls"].(map[string]any)
	upper, _ := over["tls"].(map[string]any)
	for one, other := range map[string]string{"secretName": "issuerRef", "issuerRef": "secretName"} {
		if upper[one] != nil {
			delete(under, other)
		}
	}
}

// dropZeroSizes forgets a volume's size that was not said: a Quantity has no way to be absent in JSON, and a volume may
// name its class alone.
func dropZeroSizes(m map[string]any) {
	storage, _ := m["storage"].(map[string]any)
	for _, v := range storage {
		if volume, ok := v.(map[string]any); ok && volume["size"] == "0" {
			delete(volume, "size")
		}
	}
}

func merge(base, over map[string]any) map[string]any {
	for k, v := range over {
		under, okUnder := base[k].(map[string]any)
		upper, okUpper := v.(map[string]any)
		if okUnder && okUpper {
			base[k] = merge(under, upper)
		} else {
			base[k] = v
		}
	}
	return base
}
