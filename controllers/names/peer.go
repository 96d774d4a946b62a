// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/orders"
	"geosql.dev/operator/internal/sites"
)

const (
	// peerTokenLife is asked for the tokens with which sites read each other; an API server may grant less.
	peerTokenLife = 7 * 24 * time.Hour
	// peerRenewBelow is the part of a token's life below which the manager makes a new one. The sites do so earlier.
	peerRenewBelow = 0.25
)

// readPeers is what other sites may read in a namespace: where pods are, at which ports of their nodes they are exposed,
// and who holds the votes of groups. The account may renew its own token and nothing else.
func readPeers() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: read},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{orders.PeerAccount}, Verbs: []string{"create"}},
	}
}

// peer is how a site is reached by the others, with a token that is good for a while. before is what they were told.
func (d declarer) peer(ctx context.Context, member *sites.Member, namespace string, before orders.Voter, now time.Time) (orders.Voter, error) {
	p := orders.Voter{Site: string(member.Name()), Account: orders.PeerAccount}
	config := rest.CopyConfig(member.RESTConfig)
	if err := rest.LoadTLSFiles(config); err != nil {
		return p, fmt.Errorf("reading the CA of the API server of site %s: %w", member.Name(), err)
	}
	p.Server, p.CA, p.TLSServerName = config.Host, config.CAData, config.ServerName
	switch {
	case member.Site.Spec.APIServer != "":
		p.Server = member.Site.Spec.APIServer
	case member.Site.Spec.KubeconfigSecretRef == nil:
		// Nobody has said where the other sites reach the hub's API server; the Site's condition says so.
		return before, nil
	}
	var account corev1.ServiceAccount
	err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.PeerAccount}, &account)
	if client.IgnoreNotFound(err) != nil {
		return p, fmt.Errorf("reading ServiceAccount %s/%s at site %s: %w", namespace, orders.PeerAccount, member.Name(), err)
	}
	if err == nil && before.Token != "" && before.AccountUID == string(account.UID) && before.Left(now) >= peerRenewBelow {
		p.AccountUID, p.Token, p.Issued, p.Expires = before.AccountUID, before.Token, before.Issued, before.Expires
		return p, nil
	}
	if err := ensurePeerAccount(ctx, member, namespace); err != nil {
		return p, err
	}
	if err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.PeerAccount}, &account); err != nil {
		return p, fmt.Errorf("reading ServiceAccount %s/%s at site %s: %w", namespace, orders.PeerAccount, member.Name(), err)
	}
	return p, mintPeer(ctx, member.Client, &account, &p, now)
}

func ensurePeerAccount(ctx context.Context, member *sites.Member, namespace string) error {
	meta := toldMeta(namespace, orders.PeerAccount)
	for _, obj := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta, AutomountServiceAccountToken: ptr.To(false)},
		&rbacv1.Role{ObjectMeta: meta, Rules: readPeers()},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: orders.PeerAccount},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: orders.PeerAccount, Namespace: namespace}}},
	} {
		if err := member.Apply(ctx, obj); err != nil {
			return fmt.Errorf("at site %s: %w", member.Name(), err)
		}
	}
	return nil
}

// mintPeer makes a token for the account.
func mintPeer(ctx context.Context, c client.Client, account *corev1.ServiceAccount, p *orders.Voter, now time.Time) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(peerTokenLife / time.Second))}}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("making a token for ServiceAccount %s/%s at site %s: %w", account.Namespace, account.Name, p.Site, err)
	}
	p.Account, p.AccountUID = account.Name, string(account.UID)
	p.Token, p.Issued, p.Expires = request.Status.Token, now, request.Status.ExpirationTimestamp.Time
	return nil
}
