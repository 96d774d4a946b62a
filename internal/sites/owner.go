// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// OwnerLease is the Lease that says, in each allowed namespace of a site, which hub writes there: its holder is an
// Owner's Hub, its transitions are the Epoch. Nobody renews it, and it does not end. No group's votes have that name.
const OwnerLease = "hub.geosql.dev"

// Owner is a hub that writes at a site. Of two that name the same site the one with the higher epoch does.
type Owner struct {
	// Hub is the UID of the hub's namespace kube-system.
	Hub string
	// Epoch is 1 for the first hub of a site, and one more with each that took the site over.
	Epoch int32
}

// String names hub and epoch.
func (o Owner) String() string { return fmt.Sprintf("%s (epoch %d)", o.Hub, o.Epoch) }

// ReadOwner reads an OwnerLease. One that names no hub is nobody's, with epoch 0.
func ReadOwner(lease *coordinationv1.Lease) Owner {
	return Owner{Hub: ptr.Deref(lease.Spec.HolderIdentity, ""), Epoch: ptr.Deref(lease.Spec.LeaseTransitions, 0)}
}

// Write makes the Lease name the owner.
func (o Owner) Write(lease *coordinationv1.Lease) {
	lease.Name = OwnerLease
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	for k, v := range OwnLabels() {
		lease.Labels[k] = v
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseTransitions = ptr.To(o.Hub), ptr.To(o.Epoch)
}

// EpochOf is the epoch with which a hub writes at a site that it declares.
func EpochOf(site *v1alpha1.Site) int32 { return max(site.Spec.HubEpoch, 1) }

// HubUID reads what a hub is known by.
func HubUID(ctx context.Context, hub client.Reader) (string, error) {
	uid, err := ClusterUID(ctx, hub)
	if err != nil {
		return "", fmt.Errorf("reading namespace %s of the hub: %w", metav1.NamespaceSystem, err)
	}
	return uid, nil
}

// ClusterUID reads what any cluster is known by: the UID of its namespace kube-system.
func ClusterUID(ctx context.Context, cluster client.Reader) (string, error) {
	var ns corev1.Namespace
	err := cluster.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &ns)
	return string(ns.UID), err
}

// claims is how often a claim is tried while others write the Lease too.
const claims = 3

// Claim makes sure that a namespace of a site is the owner's: it is when the Lease says so and has the label by which
// it is watched; it becomes so when there is no Lease, or one of a lower epoch. The error is an *OtherHubError when it
// is another hub's, or this one's with a higher epoch. Creation, or the version that was read, decides between two that
// claim at once.
func (o Owner) Claim(
	ctx context.Context,
	leases coordinationclient.LeaseInterface,
	site v1alpha1.SiteName,
	namespace string,
) error {
	var err error
	for range claims {
		var lease *coordinationv1.Lease
		lease, err = leases.Get(ctx, OwnerLease, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			lease = &coordinationv1.Lease{}
			o.Write(lease)
			_, err = leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: string(FieldOwner)})
		case err != nil:
		case ReadOwner(lease) == o && OwnLabels().AsSelector().Matches(labels.Set(lease.Labels)):
			return nil
		case ReadOwner(lease) != o && ReadOwner(lease).Epoch >= o.Epoch:
			return &OtherHubError{Site: site, Namespace: namespace, Owner: ReadOwner(lease), Self: o}
		default:
			o.Write(lease)
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{FieldManager: string(FieldOwner)})
		}
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("claiming namespace %s of site %s (Lease %s): %w", namespace, site, OwnerLease, err)
	}
	return nil
}
