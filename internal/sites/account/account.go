// SPDX-License-Identifier: Apache-2.0

// Package account makes the accounts that the processes of one site act as at another: with the rights that they need,
// tokens that they renew themselves, and nothing else.
package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
)

const (
	// tokenLife is asked for the tokens; an API server may grant less. Their users renew them earlier than the manager
	// does, so that they outlive the hub.
	tokenLife = 7 * 24 * time.Hour
	// RenewBelow is the part of a token's life below which the manager makes a new one.
	RenewBelow = 0.25
)

// ErrNoAPIServer means that nobody has said where the hub's API server is reached from elsewhere.
var ErrNoAPIServer = errors.New(
	"its Site is the hub itself and has no spec.apiServer: set it to the URL at which the other sites reach the hub's " +
		"API server, or run `kubectl geosql site join` again with --kubeconfig-server",
)

// Reach fills in address and CA of a site's API server as other sites reach it. The error is ErrNoAPIServer or that the
// CA can't be read.
func Reach(member *sites.Member, v *orders.Voter) error {
	config := rest.CopyConfig(member.RESTConfig)
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("read the CA of its API server: %w", err)
	}
	v.Server, v.CA, v.TLSServerName = config.Host, config.CAData, config.ServerName
	switch {
	case member.Site.Spec.APIServer != "":
		v.Server = member.Site.Spec.APIServer
	case member.Site.Spec.KubeconfigSecretRef == nil:
		return ErrNoAPIServer
	}
	return nil
}

// Ensure makes the ServiceAccount that meta names, with a Role of its own: these rights, that to renew its own token,
// and nothing else.
func Ensure(
	ctx context.Context,
	member *sites.Member,
	meta metav1.ObjectMeta,
	rights []rbacv1.PolicyRule,
) (*corev1.ServiceAccount, error) {
	own := rbacv1.PolicyRule{
		APIGroups:     []string{""},
		Resources:     []string{"serviceaccounts/token"},
		ResourceNames: []string{meta.Name},
		Verbs:         []string{"create"},
	}
	rules := append(append([]rbacv1.PolicyRule{}, rights...), own)
	for _, obj := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta, AutomountServiceAccountToken: ptr.To(false)},
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}}},
	} {
		if err := member.Apply(ctx, obj); err != nil {
			return nil, err
		}
	}
	var made corev1.ServiceAccount
	if err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: meta.Namespace, Name: meta.Name}, &made); err != nil {
		return nil, fmt.Errorf("read ServiceAccount %s/%s: %w", meta.Namespace, meta.Name, err)
	}
	return &made, nil
}

// Mint makes a token for the account by its site's API server c.
func Mint(ctx context.Context, c client.Client, account *corev1.ServiceAccount, v *orders.Voter, now time.Time) error {
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLife / time.Second))},
	}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("make a token for ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	v.Account, v.AccountUID = account.Name, string(account.UID)
	v.Token, v.Issued, v.Expires = request.Status.Token, now, request.Status.ExpirationTimestamp.Time
	return nil
}
