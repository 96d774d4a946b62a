// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Main(m)) }

// TestServersAreUsedAgain shows that a test gets what an earlier one has left, without anything that was made there.
func TestServersAreUsedAgain(t *testing.T) {
	var first types.UID
	t.Run("makes", func(t *testing.T) {
		g, hub := NewWithT(t), apiserver.StartHub(t)
		first = cluster(t, hub)
		hub.Namespace(t, "web")
		for _, object := range leftovers() {
			g.Expect(hub.Client.Create(t.Context(), object)).To(Succeed(), "%T", object)
		}
		// Nobody is there who would take the finalizer away.
		g.Expect(hub.Client.Delete(t.Context(), leftovers()[0])).To(Succeed())
	})
	t.Run("finds nothing", func(t *testing.T) {
		g, hub := NewWithT(t), apiserver.StartHub(t)
		g.Expect(cluster(t, hub)).To(Equal(first))
		for _, object := range append(leftovers(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}) {
			err := hub.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%T: %v", object, err)
		}
		for _, list := range []client.ObjectList{&corev1.SecretList{}, &v1alpha1.SiteList{}, &corev1.NodeList{}} {
			// From the API server's cache, as an informer begins.
			g.Expect(hub.Client.List(t.Context(), list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})).
				To(Succeed())
			g.Expect(list).To(HaveField("Items", BeEmpty()), "%T", list)
		}
		g.Expect(hub.Client.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})).To(Succeed())
		hub.Namespace(t, "web")
		for _, object := range leftovers() {
			g.Expect(hub.Client.Create(t.Context(), object)).To(Succeed(), "%T once more", object)
		}
	})
}

// TestServersThatAreOthersAreNotUsedAgain shows that a test gets another server where more was changed in an earlier
// one than is taken away, and where the earlier one is in use.
func TestServersThatAreOthersAreNotUsedAgain(t *testing.T) {
	known := map[types.UID]bool{}
	for _, change := range []struct {
		what string
		do   func(g *WithT, server *apiserver.Server)
	}{
		{"what it has by itself", func(g *WithT, server *apiserver.Server) {
			role := &rbacv1.ClusterRole{}
			g.Expect(server.Client.Get(t.Context(), client.ObjectKey{Name: "view"}, role)).To(Succeed())
			role.Labels["changed"] = "yes"
			g.Expect(server.Client.Update(t.Context(), role)).To(Succeed())
		}},
		{"rules of admission", func(g *WithT, server *apiserver.Server) {
			g.Expect(server.Client.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: "left"}})).To(Succeed())
		}},
		{"rules of admission, for a time", func(g *WithT, server *apiserver.Server) {
			webhooks := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "left"}}
			g.Expect(server.Client.Create(t.Context(), webhooks)).To(Succeed())
			g.Expect(server.Client.Delete(t.Context(), webhooks)).To(Succeed())
		}},
		{"who serves an API", func(g *WithT, server *apiserver.Server) {
			service := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
				"metadata": map[string]any{"name": "v1.example.org"},
				"spec": map[string]any{"group": "example.org", "version": "v1", "groupPriorityMinimum": int64(100),
					"versionPriority": int64(1), "insecureSkipTLSVerify": true,
					"service": map[string]any{"namespace": "default", "name": "kubernetes"}},
			}}
			g.Expect(server.Client.Create(t.Context(), service)).To(Succeed())
		}},
		{"nothing, while it is in use", func(g *WithT, server *apiserver.Server) {
			g.Expect(cluster(t, apiserver.StartMember(t))).NotTo(Equal(cluster(t, server)))
		}},
	} {
		t.Run(change.what, func(t *testing.T) {
			g, member := NewWithT(t), apiserver.StartMember(t)
			g.Expect(known[cluster(t, member)]).To(BeFalse())
			known[cluster(t, member)] = true
			change.do(g, member)
		})
	}
}

// leftovers are of kinds whose keys are made in different ways, the first with a finalizer.
func leftovers() []client.Object {
	named := metav1.ObjectMeta{Namespace: "web", Name: "left"}
	site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "left", Finalizers: []string{"geosql.dev/test"}}}
	site.Spec.AllowedNamespaces = []string{"web"}
	level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "left"}}
	level.Spec = flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}}}
	flow := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "left"}}
	flow.Spec.PriorityLevelConfiguration.Name, flow.Spec.MatchingPrecedence = "global-default", 9000
	return []client.Object{
		site, level, flow,
		&corev1.Secret{ObjectMeta: named},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "left"}},
		&corev1.Endpoints{ObjectMeta: named}, //nolint:staticcheck // its key is unlike the others'
		&corev1.Service{ObjectMeta: named, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1433}}}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "left"}},
	}
}

// cluster is what a cluster is known by.
func cluster(t *testing.T, server *apiserver.Server) types.UID {
	t.Helper()
	var system corev1.Namespace
	NewWithT(t).Expect(server.Client.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, &system)).To(Succeed())
	return system.UID
}
