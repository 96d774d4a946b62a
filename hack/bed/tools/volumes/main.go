// SPDX-License-Identifier: Apache-2.0

// Command volumes gives the claims whose pods land on its node a folder there, and removes it with the volume. One runs
// on each node: a folder is made by the process that is there already, where provisioners without one start a pod for
// it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const (
	// provisionerName is what the bed's storage classes name.
	provisionerName = "bed.geosql.dev/folders"
	// root is the folder of all volumes. /var is a volume of the node's container: it outlives restarts of the node.
	root = "/var/geosql-bed/volumes"
	// selectedNode is where the scheduler says which node a claim's pod goes to
	// (kubernetes.io, "Well-Known Labels, Annotations and Taints").
	selectedNode = "volume.kubernetes.io/selected-node"
)

// folders are those of the node.
type folders struct{ node string }

var (
	_ controller.Provisioner   = folders{}
	_ controller.Qualifier     = folders{}
	_ controller.DeletionGuard = folders{}
)

func (f folders) ShouldProvision(_ context.Context, claim *corev1.PersistentVolumeClaim) bool {
	return claim.Annotations[selectedNode] == f.node
}

func (f folders) ShouldDelete(_ context.Context, volume *corev1.PersistentVolume) bool {
	return nodeOf(volume) == f.node
}

// Provision makes the folder. It can be written by anybody: the security contexts of pods decide. A "local" volume,
// unlike a host path, gets the pod's fsGroup.
func (f folders) Provision(
	_ context.Context,
	o controller.ProvisionOptions,
) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	claim := o.PVC
	path := filepath.Join(root, o.StorageClass.Name, strings.Join([]string{o.PVName, claim.Namespace, claim.Name}, "_"))
	err := os.MkdirAll(path, 0o777)
	if err == nil {
		err = os.Chmod(path, 0o777)
	}
	if err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf(
			"make a folder for claim %s/%s: %w",
			claim.Namespace,
			claim.Name,
			err,
		)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{
				Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{f.node}},
					},
				}}},
			},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes the folder of a volume that nobody claims any more.
func (f folders) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	local := volume.Spec.Local
	if local == nil || !strings.HasPrefix(filepath.Clean(local.Path), root+"/") {
		return fmt.Errorf("volume %s is not a folder in %s", volume.Name, root)
	}
	if err := os.RemoveAll(local.Path); err != nil {
		return fmt.Errorf("remove the folder of volume %s: %w", volume.Name, err)
	}
	return nil
}

// nodeOf is the node that a volume is bound to, "" for none.
func nodeOf(volume *corev1.PersistentVolume) string {
	if a := volume.Spec.NodeAffinity; a != nil && a.Required != nil {
		for _, term := range a.Required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Key == corev1.LabelHostname && len(e.Values) == 1 {
					return e.Values[0]
				}
			}
		}
	}
	return ""
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "volumes:", err)
		os.Exit(1)
	}
}

func run() error {
	node := os.Getenv("NODE_NAME")
	if node == "" {
		return fmt.Errorf("NODE_NAME is not set: it is the node that the process runs on")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client of the API server: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// Each process leads: it looks after the claims of its own node alone.
	controller.NewProvisionController(ctx, client, provisionerName, folders{node}, controller.LeaderElection(false)).
		Run(ctx)
	return nil
}
