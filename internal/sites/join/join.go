// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// Join makes the cluster a member and returns when its credentials end; the zero time for the hub itself and in a dry
// run.
func Join(ctx context.Context, r Request) (time.Time, error) {
	if err := r.withDefaults(); err != nil {
		return time.Time{}, err
	}
	said := r.Spec.StorageClasses
	before, err := r.readSite(ctx)
	if err != nil {
		return time.Time{}, err
	}
	// Before anything is planned: the member is changed first, and the hub refuses last.
	if err := r.checkCluster(ctx, before); err != nil {
		return time.Time{}, err
	}
	r.addNamespaces()
	if err := r.checkOwner(ctx); err != nil {
		return time.Time{}, err
	}
	if err := r.checkClasses(ctx, said); err != nil {
		return time.Time{}, err
	}
	if err := r.readKubeconfig(ctx); err != nil {
		return time.Time{}, err
	}
	if err := r.withAddress(); err != nil {
		return time.Time{}, err
	}
	if len(r.Spec.AllowedNamespaces) == 0 {
		return time.Time{}, fmt.Errorf("say with --namespaces in which namespaces servers may run at site %s", r.Name)
	}
	if err := r.atMember(ctx); err != nil {
		return time.Time{}, err
	}
	var (
		kubeconfig []byte
		expires    time.Time
	)
	if r.Member != nil && !r.DryRun {
		if kubeconfig, expires, err = r.credentials(ctx); err != nil {
			return time.Time{}, err
		}
	}
	if err := r.atHub(ctx, kubeconfig); err != nil {
		return expires, err
	}
	return expires, r.revoke(ctx)
}

// readSite takes over what an existing Site says, and returns it; nil for a new one.
func (r *Request) readSite(parent context.Context) (*v1alpha1.Site, error) {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	var old v1alpha1.Site
	err := r.Hub.Client.Get(ctx, client.ObjectKey{Name: r.Name}, &old)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("the hub does not know the kind Site: install the chart geosql-operator there first")
	case err != nil:
		return nil, fmt.Errorf("reading Site %s in the hub: %w", r.Name, err)
	}
	if (old.Spec.KubeconfigSecretRef == nil) != (r.Member == nil) {
		return nil, fmt.Errorf(
			"site %s exists and is %s: use another name, or leave first",
			r.Name,
			map[bool]string{true: "the hub itself", false: "another cluster"}[old.Spec.KubeconfigSecretRef == nil],
		)
	}
	r.keep(old.Spec)
	return &old, nil
}

// readKubeconfig reads how the hub reaches the site at present. One that the manager would refuse is as none.
func (r *Request) readKubeconfig(parent context.Context) error {
	if r.Member == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: r.OperatorNamespace, Name: r.Name}
	if err := r.Hub.Client.Get(ctx, key, &secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s in the hub: %w", key, err)
	}
	if config, err := sites.LoadKubeconfig(secret.Data[sites.KubeconfigKey]); err == nil {
		r.kept = config
	}
	return nil
}

// atMember makes account and rights.
func (r *Request) atMember(ctx context.Context) error {
	w := &writer{r: r, cluster: r.member(), where: r.Name, hub: r.Member == nil}
	namespaces := append([]string{r.OperatorNamespace}, r.Spec.AllowedNamespaces...)
	for _, ns := range slices.Compact(namespaces) {
		if err := w.namespace(ctx, ns); err != nil {
			return err
		}
	}
	// It bounds the rights that follow.
	if err := w.applyAll(ctx, r.policy()...); err != nil {
		return err
	}
	if err := r.takeOver(ctx, w); err != nil {
		return err
	}
	if r.Member != nil {
		if r.TakeOver || r.keptToken().Secret.Name == "" {
			if err := r.endTokens(ctx, w); err != nil {
				return err
			}
		}
		// In the hub the account is the manager's own, which the chart makes.
		if err := w.apply(ctx, r.account()); err != nil {
			return err
		}
		if !slices.Contains(r.Spec.AllowedNamespaces, r.OperatorNamespace) {
			if err := w.applyAll(ctx, r.access(r.OperatorNamespace, sites.SiteRole, sites.TokenRules())...); err != nil {
				return err
			}
		}
	}
	// Before the other Role, which had these rights in an earlier release: a drill that runs must not lose them in
	// between.
	if err := r.settleDrills(ctx, w); err != nil {
		return err
	}
	if err := r.grantDrills(ctx, w); err != nil {
		return err
	}
	if err := w.applyAll(ctx, r.clusterAccess()...); err != nil {
		return err
	}
	for _, ns := range r.Spec.AllowedNamespaces {
		if err := w.applyAll(ctx, append(r.access(ns, sites.SiteRole, sites.NamespaceRules()),
			r.processAccess(ns)...)...); err != nil {
			return err
		}
	}
	if err := w.applyAll(ctx, r.flow()...); err != nil {
		return err
	}
	process := append([]client.Object{r.processAccount()}, r.processAccess(r.OperatorNamespace)...)
	if err := w.applyAll(ctx, append(process, r.processConfig())...); err != nil {
		return err
	}
	return r.withdraw(ctx, w, r.Spec.AllowedNamespaces)
}

// withdraw takes the rights away in namespaces that are no longer allowed.
func (r *Request) withdraw(ctx context.Context, w *writer, keep []string) error {
	listCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var bindings rbacv1.RoleBindingList
	if err := w.cluster.Client.List(listCtx, &bindings, client.MatchingLabels{joinedLabel: "true"}); err != nil {
		return fmt.Errorf("listing RoleBindings at %s: %w", w.where, err)
	}
	for i := range bindings.Items {
		b := &bindings.Items[i]
		switch {
		case b.Name == sites.DrillsRole && keep != nil && !*r.Drills:
			// Taken away in every namespace.
		case b.Name != sites.SiteRole && b.Name != sites.SiteAccount && b.Name != sites.DrillsRole,
			slices.Contains(keep, b.Namespace), b.Namespace == r.OperatorNamespace && keep != nil:
			continue
		}
		// The Role first: a Role without a binding would not be found again.
		role := &rbacv1.Role{ObjectMeta: r.meta(b.Namespace, b.Name)}
		if err := w.remove(ctx, role); err != nil {
			return err
		}
		if err := w.remove(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// credentials mints a token for the account and wraps it in a kubeconfig.
func (r *Request) credentials(parent context.Context) ([]byte, time.Time, error) {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	use := sites.TokenUse{Reader: r.Member.Client, Writer: r.Member.Client}
	token, err := use.Mint(ctx, r.OperatorNamespace, sites.Account, r.keptToken().Secret, r.TokenLife)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("at %s: %w", r.Name, err)
	}
	expires := token.Status.ExpirationTimestamp.Time
	kubeconfig, err := r.kubeconfig(token.Status.Token)
	if err != nil {
		return nil, time.Time{}, err
	}
	fmt.Fprintf(
		r.Out,
		"%-10s token for %s/%s: good until %s\n",
		r.Name,
		r.OperatorNamespace,
		sites.Account,
		expires.UTC().Format(time.RFC3339),
	)
	return kubeconfig, expires, nil
}

// keptToken is that of the account that the hub has; the zero one where it has none.
func (r *Request) keptToken() sites.Token {
	if r.kept == nil {
		return sites.Token{}
	}
	token, _ := sites.ReadToken(r.kept.BearerToken)
	if token.Namespace != r.OperatorNamespace || token.Account != sites.Account {
		return sites.Token{}
	}
	return token
}

// endTokens ends all tokens of the account, with the account: those that a former hub has, and those of an earlier
// release, which are bound to nothing else that could be taken away. An account that `site join` did not make stays: it
// is that of a manager in the member's own cluster.
func (r *Request) endTokens(ctx context.Context, w *writer) error {
	account, err := w.current(ctx, r.account())
	if err != nil {
		return err
	}
	if account != nil && (account.GetLabels()[joinedLabel] == "" || account.GetLabels()[v1alpha1.LabelManagedBy] != "") {
		return nil
	}
	if err := w.remove(ctx, r.account()); err != nil {
		return err
	}
	for _, name := range sites.TokenSecrets() {
		if err := w.remove(ctx, &corev1.Secret{ObjectMeta: r.meta(r.OperatorNamespace, name)}); err != nil {
			return err
		}
	}
	return nil
}

// revoke ends the token that the hub had before, once it has another.
func (r *Request) revoke(ctx context.Context) error {
	former := r.keptToken().Secret
	if r.Member == nil || r.DryRun || former.Name == "" {
		return nil
	}
	w := &writer{r: r, cluster: *r.Member, where: r.Name}
	return w.remove(ctx, &corev1.Secret{ObjectMeta: r.meta(r.OperatorNamespace, former.Name)})
}

func (r *Request) kubeconfig(token string) ([]byte, error) {
	cfg := r.Member.Config
	ca := cfg.CAData
	if len(ca) == 0 && cfg.CAFile != "" {
		var err error
		if ca, err = os.ReadFile(cfg.CAFile); err != nil {
			return nil, fmt.Errorf("reading the CA of %s: %w", r.Name, err)
		}
	}
	file := clientcmdapi.NewConfig()
	ca, name := r.verifies(ca)
	file.Clusters[r.Name] = &clientcmdapi.Cluster{Server: r.Server, CertificateAuthorityData: ca, TLSServerName: name}
	file.AuthInfos[sites.Account] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts[r.Name] = &clientcmdapi.Context{Cluster: r.Name, AuthInfo: sites.Account}
	file.CurrentContext = r.Name
	data, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	// What the manager would refuse must not be stored.
	if _, err := sites.LoadKubeconfig(data); err != nil {
		return nil, fmt.Errorf("the kubeconfig for site %s cannot be used: %w", r.Name, err)
	}
	return data, nil
}

// atHub declares the site.
func (r *Request) atHub(ctx context.Context, kubeconfig []byte) error {
	w := &writer{r: r, cluster: r.Hub, where: "hub", hub: true}
	if r.Member != nil {
		for _, ns := range append([]string{r.OperatorNamespace}, r.Spec.AllowedNamespaces...) {
			if err := w.namespace(ctx, ns); err != nil {
				return err
			}
		}
		for _, ns := range r.Spec.AllowedNamespaces {
			if err := w.applyAll(ctx, r.hubAccess(ns)...); err != nil {
				return err
			}
		}
		if err := w.apply(ctx, r.secret(kubeconfig)); err != nil {
			return err
		}
	}
	return w.apply(ctx, r.site())
}
