// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// Leave takes a site out: the Site, when no server runs there any more, then its credentials, then the account and its
// rights at the member if that is given. Namespaces and what is in them stay. wait bounds how long the Site may take to
// go.
func Leave(ctx context.Context, r Request, wait time.Duration) error {
	if r.OperatorNamespace == "" {
		r.OperatorNamespace = sites.OperatorNamespace
	}
	hub := &writer{r: &r, cluster: r.Hub, where: "hub"}
	site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}
	at, err := hub.current(ctx, site)
	if err != nil {
		return err
	}
	if r.self.Hub, err = sites.HubUID(ctx, r.Hub.Client); err != nil {
		return err
	}
	// Of a Site that is gone the epoch is not known: with a higher one a copy of this hub may have taken the site over.
	r.self.Epoch = 1
	isHub, before := false, (*v1alpha1.Site)(nil)
	if at != nil {
		before = at.(*v1alpha1.Site)
		r.self.Epoch = sites.EpochOf(before)
		isHub, r.Spec.AllowedNamespaces = before.Spec.KubeconfigSecretRef == nil, before.Spec.AllowedNamespaces
	}
	if err := r.checkLeaving(ctx, before); err != nil {
		return err
	}
	if err := hub.remove(ctx, site); err != nil {
		return err
	}
	if !r.DryRun {
		if err := hub.waitGone(ctx, site, wait); err != nil {
			return err
		}
	}
	member := hub
	if !isHub {
		if err := hub.remove(ctx, &corev1.Secret{ObjectMeta: r.meta(r.OperatorNamespace, r.Name)}); err != nil {
			return err
		}
		if r.Member == nil {
			fmt.Fprintf(r.Out, "%-10s its account and rights are left: unless another hub has the site by now, name its "+
				"cluster (--context) to remove them too\n", r.Name)
			return nil
		}
		member = &writer{r: &r, cluster: *r.Member, where: r.Name}
	}
	return r.leaveMember(ctx, member, isHub)
}

func (r *Request) leaveMember(ctx context.Context, w *writer, isHub bool) error {
	if err := r.withdrawDrills(ctx, w); err != nil {
		return err
	}
	if err := r.giveUp(ctx, w); err != nil {
		return err
	}
	if err := r.withdraw(ctx, w, nil); err != nil {
		return err
	}
	objects := []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: r.meta("", sites.SiteRole)},
		&rbacv1.ClusterRole{ObjectMeta: r.meta("", sites.SiteRole)},
	}
	flow := r.flow()
	// The FlowSchema before the level that it names.
	slices.Reverse(flow)
	objects = append(objects, flow...)
	objects = append(objects, r.processConfig(), r.processAccount())
	if !isHub {
		for _, name := range sites.TokenSecrets() {
			objects = append(objects, &corev1.Secret{ObjectMeta: r.meta(r.OperatorNamespace, name)})
		}
	}
	// After the rights that it bounds.
	objects = append(objects, r.policy()...)
	if !isHub {
		account, err := w.current(ctx, r.account())
		if err != nil {
			return err
		}
		// That of a manager in the member's own cluster stays. It goes last: by its label an attempt that was interrupted
		// is known when the Site is gone.
		if account != nil && account.GetLabels()[v1alpha1.LabelManagedBy] == "" {
			objects = append(objects, account)
		}
	}
	for _, obj := range objects {
		if err := w.remove(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// waitGone waits until the manager has let the Site go, and says why it has not.
func (w *writer) waitGone(parent context.Context, site *v1alpha1.Site, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(parent, wait)
	defer cancel()
	message := "the manager has not answered"
	for {
		err := w.cluster.Client.Get(ctx, client.ObjectKeyFromObject(site), site)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			if c := meta.FindStatusCondition(site.Status.Conditions, v1alpha1.ConditionReady); c != nil &&
				c.Status != metav1.ConditionTrue {
				message = c.Message
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("site %s is not gone after %s: %s", site.Name, wait, message)
		case <-time.After(500 * time.Millisecond):
		}
	}
}
