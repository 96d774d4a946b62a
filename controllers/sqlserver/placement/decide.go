// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// defaultClassAnnotation marks a cluster's default class (Kubernetes documentation, "Storage Classes").
const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"

// group is the volumes of one class, or one bound volume: what excludes nodes for one reason.
type group struct {
	class *storagev1.StorageClass
	// className is kept apart because the class of a bound volume may be gone.
	className string
	volumes   []Volume
	bound     *corev1.PersistentVolume
}

func (g group) roles() []Role {
	roles := make([]Role, len(g.volumes))
	for i, v := range g.volumes {
		roles[i] = v.Role
	}
	return roles
}

// name is how messages call the group.
func (g group) name() string {
	if g.bound != nil {
		return roleList(g.roles()) + " of class " + g.className
	}
	return "class " + g.className
}

// Decide computes where the pod may run. Its errors are *ClassNotFoundError and *NoNodeError; with a NoNodeError the
// Decision still has the terms and the resolved classes.
func Decide(request Request, cluster Cluster) (Decision, error) {
	groups, err := groupVolumes(request.Volumes, cluster.Classes)
	if err != nil {
		return Decision{}, err
	}
	decision := Decision{Terms: terms(groups, request.NodeSelector), Claims: map[Role]string{}}
	for _, g := range groups {
		for _, v := range g.volumes {
			decision.Claims[v.Role] = g.className
		}
	}
	view := newView(request, cluster, groups)
	decision.Candidates = view.candidates()
	decision.Reason = view.explain(decision.Candidates)
	if len(decision.Candidates) == 0 {
		return decision, &NoNodeError{Reason: decision.Reason}
	}
	return decision, nil
}

// groupVolumes sorts the volumes by class, in the order in which they come; a bound volume is a group of its own.
func groupVolumes(volumes []Volume, classes []storagev1.StorageClass) ([]group, error) {
	var groups []group
	index := map[string]int{}
	missing := map[string]int{}
	var notFound []*ClassNotFoundError
	for _, v := range volumes {
		class := findClass(v.Class, classes)
		if v.Bound != nil {
			name := v.Bound.Spec.StorageClassName
			groups = append(groups, group{class: class, className: name, volumes: []Volume{v}, bound: v.Bound})
			continue
		}
		if class == nil {
			i, ok := missing[v.Class]
			if !ok {
				i = len(notFound)
				missing[v.Class] = i
				notFound = append(notFound, &ClassNotFoundError{Class: v.Class, Existing: classNames(classes)})
			}
			notFound[i].Roles = append(notFound[i].Roles, v.Role)
			continue
		}
		i, ok := index[class.Name]
		if !ok {
			i = len(groups)
			index[class.Name] = i
			groups = append(groups, group{class: class, className: class.Name})
		}
		groups[i].volumes = append(groups[i].volumes, v)
	}
	if len(notFound) > 0 {
		return nil, notFound[0]
	}
	return groups, nil
}

// findClass finds a class by name; of several default classes the youngest counts, as in Kubernetes' own admission.
func findClass(name string, classes []storagev1.StorageClass) *storagev1.StorageClass {
	var found *storagev1.StorageClass
	for i := range classes {
		c := &classes[i]
		switch {
		case name != "":
			if c.Name == name {
				return c
			}
		case c.Annotations[defaultClassAnnotation] == "true":
			if found == nil || younger(c, found) {
				found = c
			}
		}
	}
	return found
}

func younger(a, b *storagev1.StorageClass) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name < b.Name
}

func classNames(classes []storagev1.StorageClass) []string {
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = c.Name
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
