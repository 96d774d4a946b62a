// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/sites"
)

// finalize takes the server's pod away and keeps its volumes and Secrets, unless the reclaim policy says Delete. Nothing
// is taken away while another object names the server, and the finalizer waits for a site that does not answer, unless a
// person has declared it lost.
func (r *Reconciler) finalize(ctx context.Context, server *v1alpha1.SQLServer) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(server, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	outcome, err := r.remove(ctx, server)
	if err != nil {
		outcome = &conditions.Outcome{Ready: metav1.ConditionFalse, Reason: conditions.ReasonDeleting, Progress: conditions.Working,
			Message: "deletion is tried again: " + err.Error()}
	}
	if outcome == nil {
		r.connector.Forget(server.Namespace, v1alpha1.ServerName(server.Name))
		return ctrl.Result{}, r.setFinalizer(ctx, server, false)
	}
	status := server.Status.DeepCopy()
	changes := conditions.Set(&status.StatusBase, server.Generation, *outcome)
	if err := r.writeStatus(ctx, server, status); err != nil {
		return ctrl.Result{}, err
	}
	conditions.Emit(r.events, server, changes)
	return ctrl.Result{RequeueAfter: 5 * time.Second}, err
}

// remove returns what is waited for, nil when everything is gone.
func (r *Reconciler) remove(ctx context.Context, server *v1alpha1.SQLServer) (*conditions.Outcome, error) {
	around, err := r.surroundings(ctx, server.Namespace)
	if err != nil {
		return nil, err
	}
	d := Desire(server, v1alpha1.Site{}, r.agentImage, around)
	member, err := r.sites.Member(server.Spec.Site)
	if errors.Is(err, sites.ErrSiteLost) {
		return nil, nil
	}
	if len(d.References) > 0 {
		return deleting("the server is still named by " + strings.Join(d.References, ", ") + "; delete or change them first"), nil
	}
	if errors.Is(err, sites.ErrUnknownSite) {
		return deleting(fmt.Sprintf("%v: declare the Site again; with lifecycle Lost if it is gone for good, which keeps nothing waiting", err)), nil
	}
	if err != nil {
		o := conditions.Unknown(conditions.ReasonSiteUnreachable, fmt.Sprintf(
			"deletion waits for site %s: %v; if the site is gone for good set its lifecycle to Lost", server.Spec.Site, err))
		return &o, nil
	}
	if member.CheckNamespace(server.Namespace) != nil {
		// Nothing of this server can be there, or nothing can be done about it with these credentials.
		return nil, nil
	}
	if gone, err := removePod(ctx, member, d); err != nil || !gone {
		return deleting("the pod is ending"), err
	}
	conf := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace, Name: confName(server.Name)}}
	if err := client.IgnoreNotFound(member.Client.Delete(ctx, conf)); err != nil {
		return nil, fmt.Errorf("delete ConfigMap %s: %w", conf.Name, err)
	}
	if err := removeAccount(ctx, member, d); err != nil {
		return nil, err
	}
	if server.Spec.ReclaimPolicy != v1alpha1.ReclaimDelete {
		return nil, nil
	}
	return nil, r.removeData(ctx, member, d)
}

func deleting(message string) *conditions.Outcome {
	return &conditions.Outcome{Ready: metav1.ConditionFalse, Reason: conditions.ReasonDeleting, Message: message, Progress: conditions.Working}
}

// removePod deletes the StatefulSet and tells whether it and its pod are gone. The API server is asked, not the cache:
// the volumes may follow.
func removePod(ctx context.Context, member *sites.Member, d Desired) (bool, error) {
	var set appsv1.StatefulSet
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: d.Server.Name}
	err := member.APIReader.Get(ctx, key, &set)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return false, fmt.Errorf("read StatefulSet %s: %w", key, err)
	case owned(d, set.Labels):
		uid := set.UID
		err := member.Client.Delete(ctx, &set, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationForeground))
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("delete StatefulSet %s: %w", key, err)
		}
		return false, nil
	}
	var pod corev1.Pod
	key.Name = d.host()
	err = member.APIReader.Get(ctx, key, &pod)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read pod %s: %w", key, err)
	}
	return !owned(d, pod.Labels), nil
}

// removeData deletes volumes and Secrets, the Secrets of the site last: without them the volumes could not be used.
func (r *Reconciler) removeData(ctx context.Context, member *sites.Member, d Desired) error {
	for _, role := range roles() {
		var c corev1.PersistentVolumeClaim
		key := client.ObjectKey{Namespace: d.Server.Namespace, Name: claimName(d.Server.Name, role)}
		err := member.APIReader.Get(ctx, key, &c)
		if apierrors.IsNotFound(err) || err == nil && !owned(d, c.Labels) {
			continue
		}
		if err == nil {
			err = member.Client.Delete(ctx, &c)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete PersistentVolumeClaim %s: %w", key, err)
		}
	}
	for _, where := range []client.Client{r.hub, member.Client} {
		for _, name := range []string{credentials.CertificateName(d.name()), credentials.PasswordsName(d.name())} {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: name}}
			bounded, cancel := context.WithTimeout(ctx, callTimeout)
			err := where.Delete(bounded, secret)
			cancel()
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("delete Secret %s/%s: %w", secret.Namespace, name, err)
			}
		}
	}
	return nil
}
