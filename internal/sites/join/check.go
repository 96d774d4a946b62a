// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// checkNames refuses names that the hub would refuse once the member has been changed.
func (r *Request) checkNames() error {
	name := func(what, name string) error {
		if why := validation.IsDNS1123Label(name); len(why) > 0 {
			return fmt.Errorf("%q is no name of %s: use lower-case letters, digits and hyphens, 63 at most", name, what)
		}
		return nil
	}
	errs := []error{name("a site", r.Name)}
	for _, ns := range slices.Concat([]string{r.OperatorNamespace}, r.Spec.AllowedNamespaces, r.AddNamespaces) {
		errs = append(errs, name("a namespace", ns))
	}
	for _, link := range r.Spec.Links {
		errs = append(errs, name("a site", string(link.To)))
		if string(link.To) == r.Name {
			errs = append(errs, fmt.Errorf("a link of site %s leads to another site, not to itself", r.Name))
		}
	}
	for _, text := range r.Spec.SourceRanges {
		if prefix, err := netip.ParsePrefix(text); err != nil || prefix != prefix.Masked() {
			errs = append(errs, fmt.Errorf("%q is no range in CIDR notation, such as 10.101.0.0/16", text))
		}
	}
	if e := r.Spec.Exposure.Type; e != "" && !slices.Contains(v1alpha1.Exposures(), e) {
		errs = append(errs, fmt.Errorf("%q is no exposure: use one of %v", e, v1alpha1.Exposures()))
	}
	return errors.Join(errs...)
}

// checkClasses refuses storage classes that were said and that the member does not have: servers would wait for their
// volumes for ever.
func (r *Request) checkClasses(parent context.Context, said v1alpha1.VolumeClasses) error {
	var wanted []string
	for _, class := range []string{said.Data, said.Log, said.TempDB, said.Backup, said.Agent} {
		if class != "" && !slices.Contains(wanted, class) {
			wanted = append(wanted, class)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	var list storagev1.StorageClassList
	if err := r.member().Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the storage classes at %s: %w", r.Name, err)
	}
	var there []string
	for _, class := range list.Items {
		there = append(there, class.Name)
	}
	slices.Sort(there)
	for _, class := range wanted {
		if !slices.Contains(there, class) {
			return fmt.Errorf("the cluster of site %s has no storage class %s; it has: %s", r.Name, class, or(there))
		}
	}
	return nil
}

// checkCluster refuses a cluster that is another site's, or not the one that the site was, and names it in the Site. A
// cluster is known by the UID of its namespace kube-system. before is the Site as it is, nil for a new one.
func (r *Request) checkCluster(parent context.Context, before *v1alpha1.Site) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	uid, err := clusterUID(ctx, r.member(), r.Name)
	if err != nil {
		return err
	}
	if r.Member != nil {
		hub, err := clusterUID(ctx, r.Hub, "the hub")
		if err != nil {
			return err
		}
		if hub == uid {
			return fmt.Errorf("the context is the hub's own cluster: join it with --hub, or name another context")
		}
	}
	var list v1alpha1.SiteList
	if err := r.Hub.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the Sites of the hub: %w", err)
	}
	for _, other := range list.Items {
		if other.Name != r.Name && other.Cluster() == uid && other.Spec.Lifecycle != v1alpha1.SiteLost {
			return fmt.Errorf(
				"this cluster is site %s already: two sites may not be one cluster; name another context",
				other.Name,
			)
		}
	}
	if before != nil && before.Cluster() != "" && before.Cluster() != uid && !r.NewCluster {
		return fmt.Errorf(
			"site %s is another cluster (kube-system had UID %s, here it has %s): name its context, or say with "+
				"--new-cluster that the site's cluster was made anew",
			r.Name,
			before.Cluster(),
			uid,
		)
	}
	r.Spec.ClusterUID = uid
	return nil
}

// clusterUID waits for the namespace: an API server that has just begun makes it a moment later.
func clusterUID(ctx context.Context, c Cluster, where string) (string, error) {
	for {
		uid, err := sites.ClusterUID(ctx, c.Client)
		switch {
		case err == nil:
			return uid, nil
		case !apierrors.IsNotFound(err):
			return "", fmt.Errorf("reading namespace kube-system at %s: %w", where, err)
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("reading namespace kube-system at %s: %w", where, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// checkLeaving refuses to take out a site that is not there, and rights at a cluster that is not the site's. What an
// interrupted attempt has left, with the Site gone, is taken out. before is the Site as it is, nil when it is gone.
func (r *Request) checkLeaving(parent context.Context, before *v1alpha1.Site) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	joined := ""
	if r.Member != nil {
		var err error
		if joined, err = r.checkLeaver(ctx, before); err != nil {
			return err
		}
	}
	if before != nil || joined != "" {
		return nil
	}
	secret := r.secret(nil)
	err := r.Hub.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if !apierrors.IsNotFound(err) {
		return err
	}
	var list v1alpha1.SiteList
	if err := r.Hub.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the Sites of the hub: %w", err)
	}
	var known []string
	for _, s := range list.Items {
		known = append(known, s.Name)
	}
	return fmt.Errorf("no Site %s; there are: %s", r.Name, or(known))
}

// checkLeaver refuses a cluster that is not the site's, since the account, its rights and the policy are taken away
// there: in a hub they are those of its manager. It returns the name under which the cluster was joined, empty where
// the account is gone already.
func (r *Request) checkLeaver(ctx context.Context, before *v1alpha1.Site) (joined string, err error) {
	uid, err := clusterUID(ctx, *r.Member, r.Name)
	if err != nil {
		return "", err
	}
	isHub, known := false, ""
	if before != nil {
		isHub, known = before.Spec.KubeconfigSecretRef == nil, before.Cluster()
	}
	switch {
	case uid == r.self.Hub && isHub:
		return "", nil
	case uid == r.self.Hub:
		return "", fmt.Errorf("the context is the hub's own cluster, and site %s is another one: name its context", r.Name)
	case isHub:
		return "", fmt.Errorf("site %s is the hub itself, and the context is another cluster: name none", r.Name)
	}
	account, err := (&writer{r: r, cluster: *r.Member, where: r.Name}).current(ctx, r.account())
	if err != nil {
		return "", err
	}
	if account != nil {
		joined = account.GetLabels()[v1alpha1.LabelSite]
	}
	switch {
	case joined != "" && joined != r.Name:
		return "", fmt.Errorf("the cluster of that context was joined as site %s: name the context of site %s", joined,
			r.Name)
	case known != "" && known != uid:
		return "", fmt.Errorf("site %s is another cluster (kube-system has UID %s there, and %s here): name its context, or "+
			"none to leave its account and rights", r.Name, known, uid)
	case account != nil && joined == "" && known == "":
		return "", fmt.Errorf("nobody joined the cluster of that context: its account %s/%s is another one; name the "+
			"context of site %s", r.OperatorNamespace, sites.Account, r.Name)
	}
	return joined, r.checkLeft(ctx, uid)
}

// checkLeft refuses a cluster that is another site of this hub, or another hub's, of whatever name. A copy of this hub
// that took the site over is another hub.
func (r *Request) checkLeft(ctx context.Context, uid string) error {
	var list v1alpha1.SiteList
	if err := r.Hub.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the Sites of the hub: %w", err)
	}
	for _, other := range list.Items {
		if other.Name != r.Name && other.Cluster() == uid && other.Spec.Lifecycle != v1alpha1.SiteLost {
			return fmt.Errorf("the cluster of that context is site %s: name the context of site %s", other.Name, r.Name)
		}
	}
	leases, err := r.ownerLeases(ctx)
	if err != nil {
		return err
	}
	for _, lease := range leases {
		owner := sites.ReadOwner(lease)
		another := owner.Hub != "" && owner.Hub != r.self.Hub
		if another || owner.Epoch > r.self.Epoch {
			return fmt.Errorf("the cluster of that context is a site of hub %s (Lease %s/%s): account and rights there are "+
				"that hub's; name no context, or make the site this hub's first (site join --take-over)", owner,
				lease.Namespace, lease.Name)
		}
	}
	return nil
}

func or(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
