// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

func deleteStatefulSet(ctx context.Context, d Desired, s DeleteStatefulSet) error {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: d.Server.Name, UID: s.UID},
	}
	return reconcile.Remove(ctx, d.member.Client, set, client.PropagationPolicy(metav1.DeletePropagationForeground))
}

func (r *Reconciler) takeAway(ctx context.Context, d Desired, s TakeAway) error {
	conf := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: confName(d.Server.Name)}}
	if err := removeOwn(ctx, d, d.member.APIReader, d.member.Client, conf); err != nil {
		return err
	}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: d.Server.Name},
	}
	// Credentials of an earlier release don't allow it, and then there is none.
	if err := removeOwn(ctx, d, d.member.APIReader, d.member.Client, budget); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	// Last of what the pod had around it: until here nobody else could reach it.
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: d.Server.Name},
	}
	if err := removeOwn(ctx, d, d.member.APIReader, d.member.Client, policy); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	if err := r.removeProductKey(ctx, d, RemoveProductKey{Secret: credentials.ProductKeyName(d.name())}); err != nil {
		return err
	}
	if err := r.removeIssued(ctx, d); err != nil {
		return err
	}
	if err := removeAccount(ctx, d.member, d); err != nil {
		return err
	}
	if err := r.removeReaders(ctx, d); err != nil {
		return err
	}
	if !s.Data {
		return nil
	}
	return r.removeData(ctx, d.member, d)
}

// removeData deletes volumes and Secrets, the Secrets of the site last: without them the volumes could not be used. A
// certificate that the user made stays.
func (r *Reconciler) removeData(ctx context.Context, member *sites.Member, d Desired) error {
	for _, role := range roles() {
		c := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: claimName(d.Server.Name, role)},
		}
		if err := removeOwn(ctx, d, member.APIReader, member.Client, c); err != nil {
			return err
		}
	}
	for _, where := range []struct {
		reader client.Reader
		client client.Client
		hub    bool
	}{{r.secrets, r.hub, true}, {member.APIReader, member.Client, member.Site.Spec.KubeconfigSecretRef == nil}} {
		for _, name := range []string{credentials.CertificateName(d.name()), credentials.PasswordsName(d.name())} {
			if where.hub && d.userSecret(name) {
				continue
			}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: name}}
			if err := removeOwn(ctx, d, where.reader, where.client, secret); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeOwn deletes an object if it is there and the server's.
func removeOwn(ctx context.Context, d Desired, reader client.Reader, c client.Client, obj client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) || err == nil && !owned(d, obj.GetLabels()) {
		return nil
	}
	if err == nil {
		err = reconcile.RemoveUnchanged(ctx, c, obj)
	}
	if err != nil {
		return fmt.Errorf("delete %T %s/%s: %w", obj, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
