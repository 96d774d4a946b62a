// SPDX-License-Identifier: Apache-2.0

//go:build integration

package join_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// own is an object's metadata as the operator writes it.
func own(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "web", Name: name, Labels: sites.OwnLabels()}
}

// set is a StatefulSet as the operator runs a server's pod.
func set(change func(*corev1.PodSpec)) *appsv1.StatefulSet {
	spec := corev1.PodSpec{
		ServiceAccountName: "tukpub-agent",
		SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)},
		Containers: []corev1.Container{{Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			Capabilities: &corev1.Capabilities{
				Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"},
			},
		}}},
	}
	change(&spec)
	labels := map[string]string{"app": "tukpub"}
	return &appsv1.StatefulSet{ObjectMeta: own("tukpub"), Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
}

func binding(subject rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: own("b"), Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: sites.SiteRole}}
}

// bounds tries what rights allow and the admission policy of the site does not.
func bounds(t *testing.T, c, admin client.Client) {
	g, ctx := NewWithT(t), t.Context()
	theirs := metav1.ObjectMeta{Namespace: "web", Name: "theirs"}
	pod := &corev1.Pod{ObjectMeta: theirs, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	account := &corev1.ServiceAccount{ObjectMeta: theirs}
	role := &rbacv1.Role{ObjectMeta: theirs}
	for _, obj := range []client.Object{account, role, pod} {
		pod.Spec.ServiceAccountName = "theirs"
		g.Expect(admin.Create(ctx, obj)).To(Succeed())
	}
	accounts := []string{orders.PeerAccount, orders.VoteAccount("content")}
	for _, name := range accounts {
		g.Expect(c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: own(name)})).To(Succeed())
	}
	token := func(namespace, name string, bound *authenticationv1.BoundObjectReference) func() error {
		return func() error {
			return c.SubResource("token").Create(ctx, &corev1.ServiceAccount{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			}, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}})
		}
	}
	create := func(obj client.Object) func() error {
		return func() error { return c.Create(ctx, obj.DeepCopyObject().(client.Object), client.DryRunAll) }
	}
	patched := pod.DeepCopy()
	patched.Spec.Containers[0].Image = "evil"
	relabelled := account.DeepCopy()
	relabelled.Labels = sites.OwnLabels()
	for name, try := range map[string]func() error{
		"a token of another's account":            token("web", "theirs", nil),
		"a token of its own that nothing revokes": token(sites.OperatorNamespace, sites.Account, nil),
		"a token for a year": func() error {
			return c.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: own(orders.PeerAccount)},
				&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
					ExpirationSeconds: ptr.To(int64(365 * 24 * time.Hour / time.Second))}})
		},
		"a Secret that would hold a token": create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s",
				Annotations: map[string]string{corev1.ServiceAccountNameKey: "theirs"}},
			Type: corev1.SecretTypeServiceAccountToken}),
		"a Secret of the operator's namespace": create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: "s"}}),
		"a pod as another's account": create(set(func(s *corev1.PodSpec) { s.ServiceAccountName = "theirs" })),
		"a pod as the default one":   create(set(func(s *corev1.PodSpec) { s.ServiceAccountName = "" })),
		"a pod with the node's files": create(set(func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "v",
				VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		})),
		"a pod in the node's network": create(set(func(s *corev1.PodSpec) { s.HostNetwork = true })),
		"a privileged pod": create(set(func(s *corev1.PodSpec) {
			s.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		})),
		"a privileged init container": create(set(func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "i", Image: "i"}}
		})),
		"a pod as root": create(set(func(s *corev1.PodSpec) { s.SecurityContext = nil })),
		"rights for everybody": create(binding(rbacv1.Subject{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"})),
		"rights for another namespace's account": create(binding(rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "default"})),
		"another image in another's pod": func() error { return c.Patch(ctx, patched, client.MergeFrom(pod)) },
		"the end of another's pod":       func() error { return c.Delete(ctx, pod, client.DryRunAll) },
		"another's account as its own":   func() error { return c.Patch(ctx, relabelled, client.MergeFrom(account)) },
		"the end of another's account":   func() error { return c.Delete(ctx, account, client.DryRunAll) },
		"the end of another's role":      func() error { return c.Delete(ctx, role, client.DryRunAll) },
	} {
		// API servers take some seconds to go by a policy.
		g.Eventually(try, "60s", "500ms").Should(And(Satisfy(apierrors.IsForbidden),
			MatchError(ContainSubstring("ValidatingAdmissionPolicy"))), name)
	}
	for name, try := range map[string]func() error{
		"a server's pod":          create(set(func(*corev1.PodSpec) {})),
		"a server's account":      create(&corev1.ServiceAccount{ObjectMeta: own("tukpub-agent")}),
		"a Secret with passwords": create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s"}}),
		"rights for an account": create(binding(rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: "web", Name: "tukpub-agent"})),
	} {
		g.Expect(try()).To(Succeed(), name)
	}
	for _, name := range accounts {
		g.Expect(token("web", name, nil)()).To(Succeed())
	}
}

// nothingLeft checks that of a site that has left nothing is there by which the hub had rights.
func nothingLeft(t *testing.T, c client.Client) {
	g := NewWithT(t)
	ofSite := client.MatchingLabels{v1alpha1.LabelSite: "quincy"}
	for _, list := range []client.ObjectList{&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{},
		&rbacv1.ClusterRoleBindingList{}, &corev1.ServiceAccountList{}, &corev1.ConfigMapList{},
		&admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{}} {
		g.Expect(c.List(t.Context(), list, ofSite)).To(Succeed())
		g.Expect(list).To(HaveField("Items", BeEmpty()), "%T", list)
	}
	for _, name := range sites.TokenSecrets() {
		err := c.Get(t.Context(), client.ObjectKey{Namespace: sites.OperatorNamespace, Name: name}, &corev1.Secret{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), name)
	}
}

// revoke ends the former token as the manager does, by the one that it uses now.
func revoke(t *testing.T, hub *apiserver.Server, s *v1alpha1.Site, former, now sites.Token) {
	g, ctx := NewWithT(t), t.Context()
	told, err := sites.FormerToken(ctx, hub.Client, sites.OperatorNamespace, s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told).To(Equal(former.Secret))
	c := asOperator(t, credentials(t, hub, s.Name))
	use := sites.TokenUse{Reader: c, Writer: c}
	g.Expect(sites.RevokeToken(ctx, hub.Client, sites.OperatorNamespace, s, use, former, told)).
		To(MatchError(ContainSubstring("in use")))
	for range 2 {
		g.Expect(sites.RevokeToken(ctx, hub.Client, sites.OperatorNamespace, s, use, now, told)).To(Succeed())
	}
	told, err = sites.FormerToken(ctx, hub.Client, sites.OperatorNamespace, s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told).To(BeZero())
}
