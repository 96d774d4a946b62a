// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
)

// Prune shows which names a site keeps of objects that the hub does not declare, and takes them away once confirm,
// which is asked when there are any, returns nil. Names of a server whose pod is at the site, and of a group that has
// votes there, stay, and with a group's its servers', their sites' and its voters'. Nothing but names is taken away.
func Prune(ctx context.Context, r Request, confirm func() error) error {
	if r.OperatorNamespace == "" {
		r.OperatorNamespace = sites.OperatorNamespace
	}
	site, err := r.readSite(ctx)
	if err != nil {
		return err
	}
	if site == nil {
		return fmt.Errorf("the hub has no Site %s: join it first", r.Name)
	}
	if err := r.checkCluster(ctx, site); err != nil {
		return err
	}
	if err := r.checkOwner(ctx); err != nil {
		return err
	}
	w := &writer{r: &r, cluster: r.member(), where: r.Name}
	var all []*undeclared
	found := false
	for _, ns := range r.Spec.AllowedNamespaces {
		u, err := w.undeclared(ctx, ns)
		if err != nil {
			return err
		}
		for _, line := range u.lines() {
			fmt.Fprintf(r.Out, "%-10s %s\n", r.Name, line)
		}
		found = found || u.any()
		all = append(all, u)
	}
	switch {
	case !found:
		fmt.Fprintf(r.Out, "%-10s nothing to take away\n", r.Name)
		return nil
	case r.DryRun:
		return nil
	}
	if err := confirm(); err != nil {
		return err
	}
	for _, u := range all {
		if err := w.prune(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// undeclared is what a site keeps in a namespace of objects that the hub does not declare.
type undeclared struct {
	namespace string
	told      told.Names
	// keys of what the site was told, objects the Services and EndpointSlices, peers the keys of Secret geosql-peers.
	keys    []string
	objects []client.Object
	secret  *corev1.Secret
	peers   []string
	// stay says why names of an object stay, by its key.
	stay map[string]string
}

func (u *undeclared) any() bool { return len(u.keys)+len(u.objects)+len(u.peers) > 0 }

// lines say what is found.
func (u *undeclared) lines() []string {
	var lines []string
	for _, key := range u.keys {
		lines = append(lines, fmt.Sprintf("ConfigMap %s/%s, key %s: not declared", u.namespace, orders.NamesObject, key))
	}
	for _, obj := range u.objects {
		kind := "Service"
		if _, slice := obj.(*discoveryv1.EndpointSlice); slice {
			kind = "EndpointSlice"
		}
		lines = append(lines, fmt.Sprintf("%s %s/%s: of %s, not declared", kind, u.namespace, obj.GetName(), ownerKey(obj)))
	}
	for _, key := range u.peers {
		lines = append(lines, fmt.Sprintf("Secret %s/%s, key %s: not declared", u.namespace, orders.PeersObject, key))
	}
	for _, key := range slices.Sorted(maps.Keys(u.stay)) {
		lines = append(lines, fmt.Sprintf("%s in namespace %s is not declared, and its names stay: %s", key, u.namespace,
			u.stay[key]))
	}
	return lines
}

// ownerKey is the key of the object whose name it is; empty when that cannot be told.
func ownerKey(obj client.Object) string {
	if server := obj.GetLabels()[v1alpha1.LabelServer]; server != "" {
		return orders.ServerKey(server)
	}
	if group := obj.GetLabels()[v1alpha1.LabelGroup]; group != "" {
		return orders.GroupKey(group)
	}
	return ""
}

// declaredKeys are the keys of all objects that the hub declares.
func (r *Request) declaredKeys(ctx context.Context, namespace string) (map[string]bool, error) {
	var (
		all     v1alpha1.SiteList
		servers v1alpha1.SQLServerList
		groups  v1alpha1.AvailabilityGroupList
	)
	for _, list := range []client.ObjectList{&all, &servers, &groups} {
		options := []client.ListOption{client.InNamespace(namespace)}
		if list == &all {
			options = nil
		}
		if err := r.Hub.Client.List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("listing %T of the hub: %w", list, err)
		}
	}
	keys := map[string]bool{}
	for i := range all.Items {
		keys[orders.SiteKey(all.Items[i].Name)] = true
	}
	for i := range servers.Items {
		keys[orders.ServerKey(servers.Items[i].Name)] = true
	}
	for i := range groups.Items {
		keys[orders.GroupKey(groups.Items[i].Name)] = true
	}
	return keys, nil
}

// undeclared looks for what the hub does not declare. The site is read first: what is declared meanwhile is not taken
// for undeclared.
func (w *writer) undeclared(parent context.Context, namespace string) (*undeclared, error) {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	u := &undeclared{namespace: namespace, stay: map[string]string{}, secret: &corev1.Secret{}}
	var err error
	if u.told, err = told.Read(ctx, w.cluster.Client, namespace); err != nil {
		return nil, fmt.Errorf("at %s: %w", w.where, err)
	}
	key := client.ObjectKey{Namespace: namespace, Name: orders.PeersObject}
	if err := w.cluster.Client.Get(ctx, key, u.secret); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s at %s: %w", key, w.where, err)
	}
	objects, err := w.names(ctx, namespace)
	if err != nil {
		return nil, err
	}
	declared, err := w.r.declaredKeys(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return u, w.sort(ctx, u, objects, declared)
}

// sort says of what was found what goes, and why the rest stays.
func (w *writer) sort(ctx context.Context, u *undeclared, objects []client.Object, declared map[string]bool) error {
	var needs map[string]string
	may := func(key string) (bool, error) {
		if key == "" || declared[key] {
			return false, nil
		}
		if why := needs[key]; why != "" {
			u.stay[key] = why
			return false, nil
		}
		why, err := w.lives(ctx, u.namespace, key)
		if why != "" {
			u.stay[key] = why
		}
		return why == "" && err == nil, err
	}
	needs, err := needed(u.told.Keys, func(key string) (bool, error) {
		goes, err := may(key)
		return !goes, err
	})
	if err != nil {
		return fmt.Errorf("at %s: %w", w.where, err)
	}
	for _, key := range slices.Sorted(maps.Keys(u.told.Keys)) {
		switch goes, err := may(key); {
		case err != nil:
			return err
		case goes:
			u.keys = append(u.keys, key)
		}
	}
	for _, obj := range objects {
		switch goes, err := may(ownerKey(obj)); {
		case err != nil:
			return err
		case goes:
			u.objects = append(u.objects, obj)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.secret.Data)) {
		if site, peer := strings.CutPrefix(key, orders.PeerKey("")); peer && !declared[orders.SiteKey(site)] &&
			needs[orders.SiteKey(site)] == "" {
			u.peers = append(u.peers, key)
		}
	}
	return nil
}

// names are the Services and EndpointSlices of servers and groups in a namespace.
func (w *writer) names(ctx context.Context, namespace string) ([]client.Object, error) {
	var (
		services corev1.ServiceList
		ends     discoveryv1.EndpointSliceList
		objects  []client.Object
	)
	labels := client.MatchingLabels(sites.OwnLabels())
	labels[v1alpha1.LabelNamespace] = namespace
	for _, list := range []client.ObjectList{&services, &ends} {
		if err := w.cluster.Client.List(ctx, list, client.InNamespace(namespace), labels); err != nil {
			return nil, fmt.Errorf("listing %T at %s: %w", list, w.where, err)
		}
	}
	for i := range services.Items {
		objects = append(objects, &services.Items[i])
	}
	for i := range ends.Items {
		objects = append(objects, &ends.Items[i])
	}
	return objects, nil
}

// lives says by what an object that is not declared is alive at the site; empty when nothing tells.
func (w *writer) lives(ctx context.Context, namespace, key string) (string, error) {
	var (
		obj client.Object
		why string
	)
	if server, is := strings.CutPrefix(key, orders.ServerKey("")); is {
		obj = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: server + "-0"}}
		why = "pod " + server + "-0 is at the site; declare the server again, or delete its StatefulSet"
	} else if group, is := strings.CutPrefix(key, orders.GroupKey("")); is {
		obj = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: votes.LeaseName(group)}}
		why = "it has votes at the site (Lease " + obj.GetName() + "); declare the group again"
	} else {
		return "", nil
	}
	err := w.cluster.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading %T %s at %s: %w", obj, client.ObjectKeyFromObject(obj), w.where, err)
	}
	return why, nil
}

// prune takes away what was shown, if it is as it was read: first out of what the site was told, since its process
// would make the names again.
func (w *writer) prune(parent context.Context, u *undeclared) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	if len(u.keys) > 0 {
		keys := maps.Clone(u.told.Keys)
		for _, key := range u.keys {
			delete(keys, key)
		}
		object, err := u.told.With(keys)
		if err != nil {
			return err
		}
		if object != nil {
			if err := sites.ApplyUnchanged(ctx, w.cluster.Client, object); err != nil {
				return fmt.Errorf("at %s: %w", w.where, err)
			}
			w.say("without "+strings.Join(u.keys, ", "), object)
		}
	}
	if len(u.peers) > 0 {
		before := client.MergeFromWithOptions(u.secret.DeepCopy(), client.MergeFromWithOptimisticLock{})
		for _, key := range u.peers {
			delete(u.secret.Data, key)
		}
		if err := w.cluster.Client.Patch(ctx, u.secret, before, sites.FieldOwner); err != nil {
			return fmt.Errorf("writing Secret %s at %s: %w", client.ObjectKeyFromObject(u.secret), w.where, err)
		}
		w.say("without "+strings.Join(u.peers, ", "), u.secret)
	}
	for _, obj := range u.objects {
		if err := reconcile.Remove(ctx, w.cluster.Client, obj); err != nil {
			return fmt.Errorf("at %s: %w", w.where, err)
		}
		w.say("deleted", obj)
	}
	return nil
}
