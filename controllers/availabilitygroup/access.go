// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/orders"
	"geosql.dev/operator/internal/sites"
)

const (
	// tokenLife is asked for the agents' tokens; an API server may grant less. The agents renew them themselves at half
	// of it, so that a group outlives the hub and its own object.
	tokenLife = 7 * 24 * time.Hour
	// renewBelow is the part of a token's life below which the manager makes a new one.
	renewBelow = 0.25
)

// accountName is the ServiceAccount at every voter that the agents of a group's replicas act as.
func accountName(group string) string { return "geosql-agent-" + group }

// voterAccess is how the agents reach a voter.
type voterAccess struct {
	// voter has no token; without an account its AccountUID is empty.
	voter orders.Voter
	// err is why the voter can't be used.
	err error
}

// errNoAPIServer means that nobody has said where the hub's API server is reached from elsewhere.
var errNoAPIServer = errors.New("its Site is the hub itself and has no spec.apiServer: set it to the URL at which the other sites reach the hub's API server, or run `kubectl geosql site join` again with --kubeconfig-server")

// observeAccess finds out how agents reach a voter, and the account that they act as there.
func observeAccess(ctx context.Context, member *sites.Member, group *v1alpha1.AvailabilityGroup) voterAccess {
	a := voterAccess{voter: orders.Voter{Site: string(member.Name()), Account: accountName(group.Name)}}
	if a.err = reach(member, &a.voter); a.err != nil {
		return a
	}
	var account corev1.ServiceAccount
	err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: a.voter.Account}, &account)
	if apierrors.IsNotFound(err) {
		return a
	}
	if err != nil {
		a.err = fmt.Errorf("read ServiceAccount %s at voter %s: %w", a.voter.Account, member.Name(), err)
		return a
	}
	a.voter.AccountUID = string(account.UID)
	return a
}

// reach fills in the address and CA of a voter's API server.
func reach(member *sites.Member, v *orders.Voter) error {
	config := rest.CopyConfig(member.RESTConfig)
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("voter %s: read the CA of its API server: %w", member.Name(), err)
	}
	v.Server, v.CA, v.TLSServerName = config.Host, config.CAData, config.ServerName
	switch {
	case member.Site.Spec.APIServer != "":
		v.Server = member.Site.Spec.APIServer
	case member.Site.Spec.KubeconfigSecretRef == nil:
		return fmt.Errorf("voter %s: %w", member.Name(), errNoAPIServer)
	}
	return nil
}

// ensureAccount makes the agents' account at a voter, with the right to read and change this group's Lease and to renew
// its own tokens, and nothing else.
func ensureAccount(ctx context.Context, member *sites.Member, group *v1alpha1.AvailabilityGroup) (*corev1.ServiceAccount, error) {
	name, lease := accountName(group.Name), election.LeaseName(group.Name)
	meta := metav1.ObjectMeta{Namespace: group.Namespace, Name: name, Labels: groupLabels(group)}
	objects := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta, AutomountServiceAccountToken: ptr.To(false)},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{lease}, Verbs: []string{"get", "update"}},
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{name}, Verbs: []string{"create"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: group.Namespace}}},
	}
	for _, obj := range objects {
		if err := member.Apply(ctx, obj); err != nil {
			return nil, fmt.Errorf("at voter %s: %w", member.Name(), err)
		}
	}
	var account corev1.ServiceAccount
	if err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: name}, &account); err != nil {
		return nil, fmt.Errorf("read ServiceAccount %s at voter %s: %w", name, member.Name(), err)
	}
	return &account, nil
}

// mint makes a token for the agents' account at a voter.
func mint(ctx context.Context, member *sites.Member, account *corev1.ServiceAccount, v *orders.Voter, now time.Time) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLife / time.Second))}}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	if err := member.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("make a token for ServiceAccount %s at voter %s: %w", account.Name, member.Name(), err)
	}
	v.Account, v.AccountUID = account.Name, string(account.UID)
	v.Token, v.Issued, v.Expires = request.Status.Token, now, request.Status.ExpirationTimestamp.Time
	return nil
}

// groupLabels are on everything of a group at a site.
func groupLabels(group *v1alpha1.AvailabilityGroup) map[string]string {
	labels := map[string]string(sites.OwnLabels())
	labels[v1alpha1.LabelNamespace] = group.Namespace
	labels[v1alpha1.LabelGroup] = group.Name
	return labels
}
