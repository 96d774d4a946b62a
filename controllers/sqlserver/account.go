// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// Account is what the sidecar acts as at its site: a ServiceAccount of its server that may read the Secret with the
// sidecar's orders, the one that says who may read the sidecar, and nothing else.
type Account struct {
	ServiceAccount *corev1.ServiceAccount
	Role           *rbacv1.Role
	Binding        *rbacv1.RoleBinding
}

// account as it should be.
func account(d Desired) Account {
	name := credentials.OrdersName(d.name())
	serviceAccount := &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   meta(d, name),
		AutomountServiceAccountToken: ptr.To(false),
	}
	if declared := d.Server.Spec.ServiceAccount; declared != nil {
		serviceAccount.Annotations = with(serviceAccount.Annotations, declared.Annotations)
	}
	return Account{
		ServiceAccount: stamp(serviceAccount),
		Role: stamp(&rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: meta(d, name),
			Rules: []rbacv1.PolicyRule{{
				// list and watch are granted for a field selector on one of the names
				// (kubernetes.io/docs/reference/access-authn-authz/rbac, "Referring to resources").
				APIGroups: []string{
					"",
				}, Resources: []string{"secrets"}, ResourceNames: []string{name, credentials.ReaderName},
				Verbs: []string{"get", "list", "watch"},
			}},
		}),
		Binding: stamp(&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: meta(d, name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: d.Server.Namespace}},
		}),
	}
}

// pair is an object as it should be and as it is.
type pair struct{ want, have client.Object }

// pairs are the account's objects with those that are there.
func (a Account) pairs(have Account) []pair {
	return []pair{{a.ServiceAccount, have.ServiceAccount}, {a.Role, have.Role}, {a.Binding, have.Binding}}
}

// planAccount adds the steps that make the account so.
func planAccount(d Desired, o Observed, p *reconcile.Plan) {
	for _, one := range account(d).pairs(o.Account) {
		if why := drift(one.want, one.have); why != "" {
			p.Add(ApplyObject{Object: one.want, Reason: why})
		}
	}
}

// observeAccount reads the account from the API server: the kinds are not among those that are watched at sites.
func (r *Reconciler) observeAccount(ctx context.Context, d Desired, o *Observed) error {
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: credentials.OrdersName(d.name())}
	var (
		serviceAccount corev1.ServiceAccount
		role           rbacv1.Role
		binding        rbacv1.RoleBinding
	)
	read := func(obj client.Object, keep func()) error {
		err := d.member.APIReader.Get(ctx, key, obj)
		if err == nil {
			keep()
			return nil
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read %T %s at site %s: %w", obj, key, d.member.Name(), err)
	}
	a := &o.Account
	if err := read(&serviceAccount, func() { a.ServiceAccount = &serviceAccount }); err != nil {
		return err
	}
	if err := read(&role, func() { a.Role = &role }); err != nil {
		return err
	}
	return read(&binding, func() { a.Binding = &binding })
}

// removeAccount deletes the account and the orders, which are worth nothing without the pod.
func removeAccount(ctx context.Context, member *sites.Member, d Desired) error {
	a := account(d)
	orders := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: credentials.OrdersName(d.name())},
	}
	for _, obj := range []client.Object{a.Binding, a.Role, a.ServiceAccount, orders} {
		if err := removeOwn(ctx, d, member.APIReader, member.Client, obj); err != nil {
			return err
		}
	}
	return nil
}
