// SPDX-License-Identifier: Apache-2.0

// Package placement computes on which nodes a server's pod can run from where its volumes can live: the storage
// classes' topologies, what drivers publish about nodes and capacity, volumes that exist already, and the nodes
// themselves. Everything here is pure.
package placement

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Role is what a volume is for.
type Role string

// Roles of a server's volumes.
const (
	RoleData   Role = "data"
	RoleLog    Role = "log"
	RoleTempDB Role = "tempdb"
	RoleBackup Role = "backup"
	// RoleAgent is the volume of the sidecar alone: what it has promised, and credentials of votes.
	RoleAgent Role = "agent"
)

// Volume is one volume that the pod needs.
type Volume struct {
	// Role of the volume.
	Role Role
	// Class is its storage class; empty means the cluster's default class.
	Class string
	// Size that is asked for.
	Size resource.Quantity
	// Bound is the volume that the claim is bound to, if it is: it pins the pod to the nodes that reach it, whatever its
	// class says now.
	Bound *corev1.PersistentVolume
}

// Request is what a pod needs.
type Request struct {
	// Volumes of the pod.
	Volumes []Volume
	// NodeSelector that the user asks for.
	NodeSelector map[string]string
	// Tolerations of the pod.
	Tolerations []corev1.Toleration
	// NodeAffinity that the user requires; nil for none. It is no part of the Decision's terms.
	NodeAffinity *corev1.NodeSelector
	// Occupied are the nodes that the pod has to keep away from, with the server that is there.
	Occupied map[string]string
}

// Cluster is what is known of a site.
type Cluster struct {
	// Nodes of the site.
	Nodes []corev1.Node
	// Classes are its storage classes.
	Classes []storagev1.StorageClass

	// CSINodes say which drivers run on which nodes.
	CSINodes []storagev1.CSINode
	// Capacities that drivers publish.
	Capacities []storagev1.CSIStorageCapacity
	// Volumes are persistent volumes that no claim is bound to; local volumes without a provisioner are found there.
	Volumes []corev1.PersistentVolume
}

// Decision is where the pod may run.
type Decision struct {
	// Terms are the pod's required node affinity, any of which must match; none means that every node will do. They
	// follow from classes and the user's selector alone, not from the nodes of the moment, so that they stay the same
	// when nodes come and go.
	Terms []corev1.NodeSelectorTerm
	// Candidates are the names of the nodes that can take the pod now, sorted.
	Candidates []string
	// Reason explains in words which class allows which nodes and what excludes the others.
	Reason string
	// Claims has the storage class by role, the default class resolved.
	Claims map[Role]string
}
