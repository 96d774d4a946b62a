// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// staticMapper knows the kinds that are used at sites without asking: discovery takes no context, so a server that
// falls silent in the middle of it would hold an engagement up for its own long time-out.
func staticMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, r := range siteResources() {
		scope := meta.RESTScopeNamespace
		if r.cluster {
			scope = meta.RESTScopeRoot
		}
		gv := r.kind.GroupVersion()
		// A cache of several namespaces asks for the scope of list kinds; they come first, so that the resource leads
		// back to the kind itself.
		mapper.AddSpecific(gv.WithKind(r.kind.Kind+"List"), gv.WithResource(r.plural), gv.WithResource(r.plural), scope)
		mapper.AddSpecific(r.kind, gv.WithResource(r.plural), gv.WithResource(r.plural), scope)
	}
	return mapper, nil
}

// siteResource is a kind that is used at sites.
type siteResource struct {
	kind    schema.GroupVersionKind
	plural  string
	cluster bool
}

func siteResources() []siteResource {
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	storage, rbac := storagev1.SchemeGroupVersion, rbacv1.SchemeGroupVersion
	chaos := schema.GroupVersion{Group: "chaos-mesh.org", Version: "v1alpha1"}
	return []siteResource{
		// Where Chaos Mesh is not installed, the API server answers that there is no such resource.
		{chaos.WithKind("DNSChaos"), "dnschaos", false},
		{chaos.WithKind("HTTPChaos"), "httpchaos", false},
		{chaos.WithKind("IOChaos"), "iochaos", false},
		{chaos.WithKind("JVMChaos"), "jvmchaos", false},
		{chaos.WithKind("NetworkChaos"), "networkchaos", false},
		{chaos.WithKind("PodChaos"), "podchaos", false},
		{chaos.WithKind("StressChaos"), "stresschaos", false},
		{chaos.WithKind("TimeChaos"), "timechaos", false},
		// Nor has every site cert-manager.
		{schema.GroupVersionKind{Group: CertManagerGroup, Version: "v1", Kind: "Certificate"}, "certificates", false},
		{apps.WithKind("StatefulSet"), "statefulsets", false},
		{apps.WithKind("DaemonSet"), "daemonsets", false},
		{core.WithKind("Service"), "services", false},
		{core.WithKind("PersistentVolumeClaim"), "persistentvolumeclaims", false},
		{core.WithKind("Pod"), "pods", false},
		{core.WithKind("Secret"), "secrets", false},
		{core.WithKind("ConfigMap"), "configmaps", false},
		{core.WithKind("ServiceAccount"), "serviceaccounts", false},
		{core.WithKind("Event"), "events", false},
		{discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), "endpointslices", false},
		{coordinationv1.SchemeGroupVersion.WithKind("Lease"), "leases", false},
		{policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), "poddisruptionbudgets", false},
		{networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), "networkpolicies", false},
		{rbac.WithKind("Role"), "roles", false},
		{rbac.WithKind("RoleBinding"), "rolebindings", false},
		{storage.WithKind("CSIStorageCapacity"), "csistoragecapacities", false},
		{core.WithKind("Namespace"), "namespaces", true},
		{core.WithKind("Node"), "nodes", true},
		{core.WithKind("PersistentVolume"), "persistentvolumes", true},
		{storage.WithKind("StorageClass"), "storageclasses", true},
		{storage.WithKind("CSINode"), "csinodes", true},
	}
}
