// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// left is what is left of a server that is being deleted.
type left struct {
	// Site is why the site can't be used; Namespace why nothing of the server can be there or be done about it.
	Site, Namespace error
	// Set is the StatefulSet's UID, empty when there is none of this server's; Ending tells that it is being deleted.
	Set    types.UID
	Ending bool
	// Pod tells that the server's pod is there.
	Pod bool
}

// observeLeft looks at what is left. The API server is asked, not the cache: the volumes may follow.
func (r *Reconciler) observeLeft(ctx context.Context, server *v1alpha1.SQLServer) (*world, error) {
	around, err := r.surroundings(ctx, server.Namespace)
	if err != nil {
		return nil, err
	}
	w := &world{desired: Desire(server, v1alpha1.Site{}, r.agentImage, around)}
	if w.member, w.left.Site = r.sites.Member(server.Spec.Site); w.left.Site != nil {
		return w, nil
	}
	if w.left.Namespace = w.member.CheckNamespace(server.Namespace); w.left.Namespace != nil {
		return w, nil
	}
	if err := w.left.read(ctx, w.member.APIReader, w.desired); err != nil {
		if !unreachable(err) {
			return nil, err
		}
		w.left = left{Site: &sites.UnreachableError{Site: server.Spec.Site, Since: r.now(), Cause: err}}
	}
	return w, nil
}

func (l *left) read(ctx context.Context, reader client.Reader, d Desired) error {
	var set appsv1.StatefulSet
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: d.Server.Name}
	if err := reader.Get(ctx, key, &set); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read StatefulSet %s: %w", key, err)
	} else if err == nil && owned(d, set.Labels) {
		l.Set, l.Ending = set.UID, set.DeletionTimestamp != nil
	}
	var pod corev1.Pod
	key.Name = d.host()
	err := reader.Get(ctx, key, &pod)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read pod %s: %w", key, err)
	}
	l.Pod = err == nil && owned(d, pod.Labels)
	return nil
}

// planDelete takes the server's pod away and keeps its volumes and Secrets, unless the reclaim policy says Delete.
// Nothing is taken away while another object names the server, and the finalizer waits for a site that does not answer,
// unless a person has declared it lost.
func planDelete(d Desired, l left) Plan {
	deleting := func(message string) conditions.Outcome {
		return conditions.InProgress(conditions.ReasonDeleting, message)
	}
	switch {
	case errors.Is(l.Site, sites.ErrSiteLost):
		return Plan{Done: true}
	case len(d.References) > 0:
		return Plan{
			Outcome: deleting(
				"the server is still named by " + strings.Join(d.References, ", ") + "; delete or change them first",
			),
		}
	case errors.Is(l.Site, sites.ErrUnknownSite):
		return Plan{
			Outcome: deleting(
				fmt.Sprintf(
					"%v: declare the Site again; with lifecycle Lost if it is gone for good, which keeps nothing waiting",
					l.Site,
				),
			),
		}
	case l.Site != nil:
		return Plan{Outcome: conditions.Unknown(conditions.ReasonSiteUnreachable, fmt.Sprintf(
			"deletion waits for site %s: %v; if the site is gone for good set its lifecycle to Lost",
			d.Server.Spec.Site,
			l.Site,
		))}
	case sites.IsNamespaceGone(l.Namespace):
		return Plan{Done: true}
	case l.Namespace != nil:
		// The pod may be there and run on, and nobody would look for it.
		return Plan{Outcome: conditions.InProgress(conditions.ReasonNamespaceMissing, fmt.Sprintf(
			"deletion waits for site %s: %v; if the site is gone for good set its lifecycle to Lost",
			d.Server.Spec.Site,
			l.Namespace,
		))}
	case l.Set != "" && !l.Ending:
		return Plan{Outcome: deleting("the pod is ending"), Steps: []Step{DeleteStatefulSet{UID: l.Set}}}
	case l.Set != "" || l.Pod:
		return Plan{Outcome: deleting("the pod is ending")}
	}
	return Plan{Outcome: deleting("what the server has at its site is being taken away"), Done: true,
		Steps: []Step{TakeAway{Data: v1alpha1.MayDestroy(d.Server, d.Server.Spec.ReclaimPolicy)}}}
}

func deleteStatefulSet(ctx context.Context, w *world, s DeleteStatefulSet) error {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.desired.Server.Namespace, Name: w.desired.Server.Name},
	}
	return client.IgnoreNotFound(w.member.Client.Delete(ctx, set, client.Preconditions{UID: &s.UID},
		client.PropagationPolicy(metav1.DeletePropagationForeground)))
}

func (r *Reconciler) takeAway(ctx context.Context, w *world, s TakeAway) error {
	d := w.desired
	conf := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: confName(d.Server.Name)}}
	if err := removeOwn(ctx, d, w.member.APIReader, w.member.Client, conf); err != nil {
		return err
	}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: d.Server.Name},
	}
	// Credentials of an earlier release don't allow it, and then there is none.
	if err := removeOwn(ctx, d, w.member.APIReader, w.member.Client, budget); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	if err := removeAccount(ctx, w.member, d); err != nil {
		return err
	}
	if err := r.removeReaders(ctx, w); err != nil {
		return err
	}
	if !s.Data {
		return nil
	}
	return r.removeData(ctx, w.member, d)
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
		uid := obj.GetUID()
		err = client.IgnoreNotFound(c.Delete(ctx, obj, client.Preconditions{UID: &uid}))
	}
	if err != nil {
		return fmt.Errorf("delete %T %s/%s: %w", obj, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
