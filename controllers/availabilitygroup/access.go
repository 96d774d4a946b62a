// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/account"
)

// accountName is the ServiceAccount at every voter that the agents of a group's replicas act as.
func accountName(group string) string { return orders.VoteAccount(group) }

// voterAccess is how the agents reach a voter.
type voterAccess struct {
	// voter has no token; without an account its AccountUID is empty.
	voter orders.Voter
	// err is why the voter can't be used.
	err error
}

// observeAccess finds out how agents reach a voter, and the account that they act as there.
func observeAccess(ctx context.Context, member *sites.Member, group *v1alpha1.AvailabilityGroup) voterAccess {
	a := voterAccess{voter: orders.Voter{Site: string(member.Name()), Account: accountName(group.Name)}}
	if err := account.Reach(member, &a.voter); err != nil {
		a.err = fmt.Errorf("voter %s: %w", member.Name(), err)
		return a
	}
	var present corev1.ServiceAccount
	err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: a.voter.Account}, &present)
	if apierrors.IsNotFound(err) {
		return a
	}
	if err != nil {
		a.err = fmt.Errorf("read ServiceAccount %s at voter %s: %w", a.voter.Account, member.Name(), sites.Explain(ctx, err))
		return a
	}
	a.voter.AccountUID = string(present.UID)
	return a
}

// mintAt makes the agents' account at a voter, with the right to read and change this group's Lease, and a token of it.
func mintAt(
	ctx context.Context,
	member *sites.Member,
	group *v1alpha1.AvailabilityGroup,
	v *orders.Voter,
	now time.Time,
) error {
	meta := metav1.ObjectMeta{Namespace: group.Namespace, Name: accountName(group.Name), Labels: groupLabels(group)}
	made, err := account.Ensure(ctx, member, meta, []rbacv1.PolicyRule{
		{
			APIGroups:     []string{"coordination.k8s.io"},
			Resources:     []string{"leases"},
			ResourceNames: []string{votes.LeaseName(group.Name)},
			Verbs:         []string{"get", "update"},
		},
	})
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, siteTimeout)
		defer cancel()
		err = account.Mint(bounded, member.Client, made, v, now)
	}
	if err != nil {
		return fmt.Errorf("at voter %s: %w", member.Name(), err)
	}
	return nil
}

// groupLabels are on everything of a group at a site.
func groupLabels(group *v1alpha1.AvailabilityGroup) map[string]string {
	labels := map[string]string(sites.OwnLabels())
	labels[v1alpha1.LabelNamespace] = group.Namespace
	labels[v1alpha1.LabelGroup] = group.Name
	labels[v1alpha1.LabelApp], labels[v1alpha1.LabelAppInstance] = v1alpha1.App, group.Name
	labels[v1alpha1.LabelAppComponent] = v1alpha1.ComponentServer
	return labels
}
