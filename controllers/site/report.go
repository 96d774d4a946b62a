// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// refresh is how often heartbeat and round trip are written at most when nothing else has changed, and then only where
// the round trip has become another one: a heartbeat alone is confirmed in the Lease of all Sites.
const refresh = 15 * time.Second

// otherDistance tells that a round trip differs from the one that is known by a fifth of it, and by what people notice.
func otherDistance(known *metav1.Duration, now time.Duration) bool {
	if known == nil {
		return true
	}
	by := (now - known.Duration).Abs()
	return by > known.Duration/5 && by > 5*time.Millisecond
}

// warnBefore is how long before their end credentials are warned of.
const warnBefore = 7 * 24 * time.Hour

// report writes the status when it says something new.
func (r *reconciler) report(ctx context.Context, _ Desired, o *Observed, _ reconcile.Plan, _ error) error {
	before := o.site.DeepCopy()
	changes := fill(o)
	if equality.Semantic.DeepEqual(before.Status, o.site.Status) {
		if o.health.Cause == nil && o.known {
			r.confirmed.Confirm(before, o.health.LastHeartbeat)
		}
		return nil
	}
	if err := client.IgnoreNotFound(r.hub.Status().Patch(ctx, o.site, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("writing the status of Site %s: %w", o.site.Name, err)
	}
	conditions.Emit(r.events, o.site, changes)
	return nil
}

// fill computes the status from the Observed.
func fill(o *Observed) []conditions.Change {
	status := &o.site.Status
	old := status.DeepCopy()
	changes := conditions.Set(&status.StatusBase, o.site.Generation, outcome(o))
	if c := conditions.SetOne(&status.StatusBase, o.site.Generation, credentials(o)); c != nil && c.Old != nil {
		changes = append(changes, *c)
	}
	if renewal := renewal(o); renewal != nil {
		if c := conditions.SetOne(&status.StatusBase, o.site.Generation, *renewal); c != nil &&
			(c.Old != nil || c.New.Status == metav1.ConditionFalse) {
			changes = append(changes, *c)
		}
	}
	if o.health.Version != "" {
		status.KubernetesVersion, status.ClusterUID = o.health.Version, o.health.ClusterUID
	}
	if !o.health.CredentialsExpire.IsZero() {
		status.CredentialsExpire = &metav1.Time{Time: o.health.CredentialsExpire}
	} else if o.known {
		status.CredentialsExpire = nil
	}
	if o.storage != nil {
		status.StorageClasses = storageClasses(o.storage)
	}
	status.Links = links(o, old)
	told := linkConditions(status)
	if !o.compares() {
		told = nil
		apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionLinkSlowerThanDeclared)
		apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionWindowTooSmall)
	}
	for _, c := range told {
		if c := conditions.SetOne(&status.StatusBase, o.site.Generation, c); c != nil &&
			(c.Old != nil || c.New.Status == metav1.ConditionTrue) {
			changes = append(changes, *c)
		}
	}
	if beat := o.health.LastHeartbeat; !beat.IsZero() {
		stale := old.LastHeartbeat == nil || beat.Sub(old.LastHeartbeat.Time) >= refresh &&
			otherDistance(old.RoundTrip, o.health.RoundTrip)
		// What else changed is written with the time; a time alone is no reason to write.
		if stale || !equality.Semantic.DeepEqual(old, status) {
			status.LastHeartbeat = &metav1.Time{Time: beat.Truncate(time.Second)}
			status.RoundTrip = &metav1.Duration{Duration: o.health.RoundTrip.Round(100 * time.Microsecond)}
			last := status.DeepCopy()
			last.Links = old.Links
			status.Links = links(o, last)
		}
	}
	return changes
}

// outcome says what is so, from the first of these that applies.
func outcome(o *Observed) conditions.Outcome {
	var (
		badConfig *sites.KubeconfigError
		denied    *sites.CredentialsError
		other     *sites.OtherClusterError
		duplicate *sites.DuplicateClusterError
		otherHub  *sites.OtherHubError
	)
	cause := o.health.Cause
	switch {
	case o.site.DeletionTimestamp != nil && len(o.users) > 0 && o.site.Spec.Lifecycle != v1alpha1.SiteLost:
		return conditions.Stalled(v1alpha1.ReasonDeleting, fmt.Sprintf(
			"these servers run at the site: %s; delete them first, or set spec.lifecycle to Lost if the site is gone for good",
			strings.Join(o.users, ", "),
		))
	case o.site.DeletionTimestamp != nil && len(o.voting) > 0 && o.site.Spec.Lifecycle != v1alpha1.SiteLost:
		return conditions.Stalled(v1alpha1.ReasonDeleting, fmt.Sprintf(
			"these groups have a vote at the site: %s; name another site in their spec.voters first, or set spec.lifecycle "+
				"to Lost if the site is gone for good",
			strings.Join(o.voting, ", "),
		))
	case o.site.Spec.Lifecycle == v1alpha1.SiteLost:
		return conditions.Outcome{
			Ready:    metav1.ConditionFalse,
			Progress: conditions.Settled,
			Reason:   v1alpha1.ReasonSiteLost,
			Message:  "the site is declared lost: finalizers do not wait for it; set spec.lifecycle to Active should it return",
		}
	case !o.known:
		return conditions.Unknown(v1alpha1.ReasonConnecting, "the first heartbeat is awaited")
	case errors.As(cause, &badConfig):
		return conditions.Stalled(v1alpha1.ReasonKubeconfigInvalid, cause.Error())
	case errors.As(cause, &denied) && !denied.Expired.IsZero():
		return conditions.Stalled(v1alpha1.ReasonCredentialsExpired, cause.Error())
	case errors.As(cause, &denied):
		return conditions.Stalled(v1alpha1.ReasonCredentialsDenied, cause.Error())
	case errors.As(cause, &other):
		return conditions.Stalled(v1alpha1.ReasonOtherCluster, cause.Error())
	case errors.As(cause, &duplicate):
		return conditions.Stalled(v1alpha1.ReasonDuplicateCluster, cause.Error())
	case errors.As(cause, &otherHub):
		return conditions.Stalled(v1alpha1.ReasonOtherHub, cause.Error())
	case !o.health.Reachable(o.now, o.unknownAfter):
		return unreachable(o)
	case len(o.health.UnusableNamespaces) > 0:
		return conditions.Stalled(v1alpha1.ReasonNamespaceMissing, unusable(o))
	case o.storageErr != nil:
		return conditions.Unknown(v1alpha1.ReasonSiteUnreachable, o.storageErr.Error())
	}
	return conditions.Ready(v1alpha1.ReasonSiteReady, fmt.Sprintf("Kubernetes %s answers; namespaces %s",
		o.health.Version, strings.Join(o.health.Namespaces, ", ")))
}

func unreachable(o *Observed) conditions.Outcome {
	cause := o.health.Cause
	if cause == nil {
		return conditions.Unknown(v1alpha1.ReasonConnecting, "the site answers; its caches are being filled")
	}
	err := &sites.UnreachableError{Site: v1alpha1.SiteName(o.site.Name), Since: o.health.LastHeartbeat, Cause: cause}
	return conditions.Unknown(
		v1alpha1.ReasonSiteUnreachable, err.Error()+"; what is there is unknown, other sites are not affected",
	)
}

func unusable(o *Observed) string {
	var parts []string
	for ns, reason := range o.health.UnusableNamespaces {
		parts = append(parts, fmt.Sprintf("namespace %s: %s", ns, reason))
	}
	sort.Strings(parts)
	const wayOut = "; run `kubectl geosql site join %s` again or take it out of spec.allowedNamespaces"
	return strings.Join(parts, "; ") + fmt.Sprintf(wayOut, o.site.Name)
}

// credentials is the condition that warns before the kubeconfig ends.
func credentials(o *Observed) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCredentialsValid}
	expire := o.health.CredentialsExpire
	switch {
	case !o.known:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonConnecting,
			"the kubeconfig has not been read yet"
	case expire.IsZero():
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonCredentialsGood, "the credentials tell no end"
	case !o.now.Before(expire):
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpired
		c.Message = fmt.Sprintf(
			"they ended at %s; run `kubectl geosql site join %s` again",
			expire.UTC().Format(time.RFC3339),
			o.site.Name,
		)
	case expire.Sub(o.now) < warnBefore:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpireSoon
		c.Message = fmt.Sprintf(
			"they end at %s; run `kubectl geosql site join %s` again before that",
			expire.UTC().Format(time.RFC3339),
			o.site.Name,
		)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonCredentialsGood
		c.Message = "they end at " + expire.UTC().Format(time.RFC3339)
	}
	return c
}

// renewal is the condition that says whether the manager renews its token for the site; nil while its token is not
// known. It fails long before the token ends: the rights are missing, say, of a site that an earlier release joined.
func renewal(o *Observed) *metav1.Condition {
	if o.member == nil {
		return nil
	}
	c := &metav1.Condition{
		Type:   v1alpha1.ConditionTokenRenewed,
		Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonTokenRenewed,
	}
	switch ends := o.token.Expires.UTC().Format(time.RFC3339); {
	case o.token.Expires.IsZero():
		c.Message = "the kubeconfig has no token that ends"
	case o.renewed.err != nil && o.token.RenewalDue(o.now):
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonTokenNotRenewed
		c.Message = fmt.Sprintf(
			"less than a third of the life of the manager's token is left (it ends at %s), and it cannot be renewed: %v; it "+
				"is tried again every hour. Run `kubectl geosql site join %s` again: it gives the rights and a new token",
			ends,
			o.renewed.err,
			o.site.Name,
		)
	default:
		c.Message = "the manager renews its token when a third of its life is left; it ends at " + ends
	}
	return c
}

// maxListed bounds what a status lists.
const (
	maxClasses = 64
	maxNodes   = 256
)

func storageClasses(s *storage) []v1alpha1.StorageClassStatus {
	var list []v1alpha1.StorageClassStatus
	for i := range s.classes {
		class := &s.classes[i]
		entry := v1alpha1.StorageClassStatus{Name: class.Name, Provisioner: class.Provisioner,
			Nodes: classNodes(s, class), Capacity: classCapacity(s, class)}
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b v1alpha1.StorageClassStatus) int { return strings.Compare(a.Name, b.Name) })
	if len(list) > maxClasses {
		list = list[:maxClasses]
	}
	return list
}
