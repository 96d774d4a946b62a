// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
)

// siteView is one site as far as names are concerned.
type siteView struct {
	name     v1alpha1.SiteName
	exposure v1alpha1.ExposureType
	// member is nil when the site cannot be used now; err says why.
	member *sites.Member
	err    error
	// settling says that the site may only be unknown because this process has just begun.
	settling bool
	// has is what the site has under the names in question; readErr is why that is not known.
	has     map[string]published
	readErr error
	// keeps says that the site's own process keeps the names of the namespace, declares that the object's are among those
	// that it was told of.
	keeps, declares bool
	// told is all that it was told of.
	told told.Names
	// leads are the slices of all names of the namespace there, read when it matters who leads to a server.
	leads []discoveryv1.EndpointSlice
}

// serverView is where one server is.
type serverView struct {
	name v1alpha1.ServerName
	home v1alpha1.SiteName
	// now is the time of the observation.
	now time.Time
	// known is false when the home site does not answer: the pod may be anywhere or nowhere.
	known bool
	// silent says that the home site has not answered the last heartbeat; what is known of it may be old.
	silent bool
	// address of the pod, empty when it has none.
	address string
	// ready says that the pod is.
	ready bool
	// node on which it runs and that node's internal address.
	node, nodeAddress string
	// nodePorts of the server by port name and balancer, its Service of type LoadBalancer, as far as the home has them.
	nodePorts map[string]int32
	balancer  *corev1.Service
	// looked is what the DNS says of the load balancer's hostname; nil when it was not asked.
	looked *answer
	// opened tells whether a site may be led from the former ways to the load balancer; nil when it may.
	opened func(v1alpha1.SiteName, *serverView) bool
	// exposure and balancerSpec are what the home declares.
	exposure     v1alpha1.ExposureType
	balancerSpec *v1alpha1.LoadBalancerExposure
}

// observeSites looks at all sites in which the namespace may be used. Sites that are lost are left out, and so are
// those that do not allow the namespace: nobody there asks for the name.
func (r *reconciler) observeSites(ctx context.Context, namespace string) ([]*siteView, error) {
	var list v1alpha1.SiteList
	if err := r.hub.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing Sites: %w", err)
	}
	var views []*siteView
	for i := range list.Items {
		site := &list.Items[i]
		if site.Spec.Lifecycle == v1alpha1.SiteLost || !slices.Contains(site.Spec.AllowedNamespaces, namespace) {
			continue
		}
		v := &siteView{name: v1alpha1.SiteName(site.Name), exposure: site.Spec.Exposure.Type, has: map[string]published{}}
		v.member, v.err = r.sites.Member(v.name)
		v.settling = r.settling.Of(v.err, time.Now())
		if v.err == nil {
			if v.err = v.member.CheckNamespace(namespace); v.err != nil {
				v.member = nil
			}
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b *siteView) int { return strings.Compare(string(a.name), string(b.name)) })
	return views, nil
}

// readNames fills in what a site has under the names, and under others that carry the owner's labels: a listener that
// was renamed leaves its old name behind. All reads are from the site's cache.
func (v *siteView) readNames(ctx context.Context, namespace string, services []string, labels map[string]string) error {
	var own corev1.ServiceList
	if err := v.member.Client.List(ctx, &own, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return fmt.Errorf("reading the Services of namespace %s at site %s: %w", namespace, v.name, err)
	}
	services = slices.Clone(services)
	for i := range own.Items {
		if !slices.Contains(services, own.Items[i].Name) {
			services = append(services, own.Items[i].Name)
		}
	}
	for _, name := range services {
		var at published
		service := &corev1.Service{}
		err := v.member.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, service)
		if err == nil {
			at.service = service
		} else if !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading Service %s/%s at site %s: %w", namespace, name, v.name, err)
		}
		var list discoveryv1.EndpointSliceList
		err = v.member.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, discoveryv1.LabelServiceName: name,
			discoveryv1.LabelManagedBy: sliceManager})
		if err != nil {
			return fmt.Errorf("reading the EndpointSlices of %s/%s at site %s: %w", namespace, name, v.name, err)
		}
		at.slices = list.Items
		v.has[name] = at
	}
	return nil
}

// reach finds a site for what is in a namespace there; the errors are those of sites.Provider.Member.
type reach func(site v1alpha1.SiteName, namespace string) (*sites.Member, error)

// observeServer finds out where a server is.
func observeServer(
	ctx context.Context,
	reach reach,
	namespace string,
	server v1alpha1.ServerName,
	home v1alpha1.SiteName,
) (*serverView, error) {
	view := &serverView{name: server, home: home, now: time.Now(), exposure: v1alpha1.ExposureFlatNetwork}
	member, err := reach(home, namespace)
	if errors.Is(err, sites.ErrSiteLost) {
		// A person says that nothing is there: connections are better refused than left hanging.
		view.known = true
		return view, nil
	}
	if err != nil {
		if sites.IsUnreachable(err) || errors.Is(err, sites.ErrUnknownSite) {
			return view, nil
		}
		return nil, err
	}
	if member.Site.Spec.Exposure.Type != "" {
		view.exposure = member.Site.Spec.Exposure.Type
	}
	view.balancerSpec = member.Site.Spec.Exposure.LoadBalancer
	if member.CheckNamespace(namespace) != nil {
		return view, nil
	}
	view.known = true
	if err := view.readExposed(ctx, member, namespace); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	err = member.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: podName(server)}, pod)
	if apierrors.IsNotFound(err) {
		return view, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod %s/%s at site %s: %w", namespace, podName(server), home, err)
	}
	if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		// hostIP is the node's internal address (kubernetes.io/docs/reference, PodStatus).
		view.address, view.node, view.nodeAddress = pod.Status.PodIP, pod.Spec.NodeName, pod.Status.HostIP
		view.ready = sites.PodReady(pod)
	}
	return view, nil
}

// podName of a server, which is its instance's name and its Service's.
func podName(server v1alpha1.ServerName) string { return string(server) + "-0" }
