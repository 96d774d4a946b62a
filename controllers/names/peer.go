// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/account"
	"geosql.dev/operator/internal/sites/told"
)

// readPeers is what other sites may read in a namespace: where pods are, at which ports of their nodes they are
// exposed, and who holds the votes of groups.
func readPeers() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: read},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	}
}

// peer is how a site is reached by the others, with a token that is good for a while. before is what they were told.
func (d declarer) peer(
	ctx context.Context,
	member *sites.Member,
	namespace string,
	before orders.Voter,
	now time.Time,
) (orders.Voter, error) {
	p := orders.Voter{Site: string(member.Name()), Account: orders.PeerAccount}
	switch err := account.Reach(member, &p); {
	case errors.Is(err, account.ErrNoAPIServer):
		// The Site's condition says so.
		return before, nil
	case err != nil:
		return p, fmt.Errorf("site %s: %w", member.Name(), err)
	}
	var present corev1.ServiceAccount
	err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.PeerAccount}, &present)
	if client.IgnoreNotFound(err) != nil {
		return p, fmt.Errorf("reading ServiceAccount %s/%s at site %s: %w", namespace, orders.PeerAccount, member.Name(), err)
	}
	if err == nil && before.Token != "" && before.AccountUID == string(present.UID) &&
		before.Left(now) >= account.RenewBelow {
		p.AccountUID, p.Token, p.Issued, p.Expires = before.AccountUID, before.Token, before.Issued, before.Expires
		return p, nil
	}
	made, err := account.Ensure(ctx, member, told.Meta(namespace, orders.PeerAccount), readPeers())
	if err == nil {
		err = account.Mint(ctx, member.Client, made, &p, now)
	}
	if err != nil {
		return p, fmt.Errorf("at site %s: %w", member.Name(), err)
	}
	return p, nil
}
