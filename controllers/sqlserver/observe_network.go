// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// observePolicy reads the NetworkPolicy from the API server: the kind is not among those that are watched at sites. Of
// a server that has none and is to have none nothing is asked.
func (r *Reconciler) observePolicy(ctx context.Context, d Desired, o *Observed) error {
	if o.StatefulSet != nil && policyMode(d, *o) == v1alpha1.NetworkPolicyNone &&
		o.StatefulSet.Annotations[annotationNetwork] != string(v1alpha1.NetworkPolicyManaged) {
		return nil
	}
	var policy networkingv1.NetworkPolicy
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: d.Server.Name}
	err := d.member.APIReader.Get(ctx, key, &policy)
	switch {
	case err == nil:
		o.Policy = &policy
	case apierrors.IsForbidden(err):
		o.PolicyDenied = true
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read NetworkPolicy %s at site %s: %w", key, d.member.Name(), err)
	}
	return nil
}
