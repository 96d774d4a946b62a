// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/podshape"
)

// What a server makes of its pod is what an API server takes, and is written once: what it fills in by itself is no
// reason to write it again. The product key and the password of sa come from the user's Secrets.
func TestAShapedServer(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	part := func(value any) v1alpha1.PodPart {
		p, err := podshape.Part(value)
		g.Expect(err).NotTo(HaveOccurred())
		return p
	}
	secret := func(name, key, value string) {
		g.Expect(b.hub.Client.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			StringData: map[string]string{key: value}})).To(Succeed())
	}
	secret("licence", "productKey", "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE\n")
	secret("admin", "password", "An-0ther-of-mine")
	b.create(t, "shaped", func(spec *v1alpha1.SQLServerSpec) {
		spec.Edition, spec.ProductKeySecretRef = "", &v1alpha1.SecretReference{Name: "licence"}
		spec.SAPasswordSecretRef = &v1alpha1.SecretReference{Name: "admin"}
		spec.InheritedMetadata = &v1alpha1.ExtraMetadata{Labels: map[string]string{"team": "db"}}
		affinity := part(corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1,
				PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone",
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}}}}})
		spec.Scheduling = &v1alpha1.ServerScheduling{Affinity: &affinity,
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
				WhenUnsatisfiable: corev1.ScheduleAnyway}}}
		spec.ServiceAccount = &v1alpha1.ServerServiceAccount{Annotations: map[string]string{"cloud/role": "r"}}
		spec.Agent = &v1alpha1.ServerAgent{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")}}}
		spec.Pod = &v1alpha1.ServerPod{
			Metadata:     &v1alpha1.ExtraMetadata{Annotations: map[string]string{"sidecar.istio.io/inject": "false"}},
			Env:          []corev1.EnvVar{{Name: "KRB5_CONFIG", Value: "/etc/krb/krb5.conf"}, {Name: "EMPTY"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "krb", MountPath: "/etc/krb", ReadOnly: true}},
			Volumes: []v1alpha1.PodPart{part(corev1.Volume{Name: "krb", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "krb"}}})},
			InitContainers: []v1alpha1.PodPart{part(corev1.Container{Name: "first", Image: "x:1"})},
			Sidecars: []v1alpha1.PodPart{part(corev1.Container{Name: "ship", Image: "x:1",
				Ports: []corev1.ContainerPort{{ContainerPort: 9090}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
					corev1.ResourceMemory: resource.MustParse("1024Mi")}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"true"}}}}})},
			SecurityContext: &corev1.PodSecurityContext{},
		}
	})
	var set appsv1.StatefulSet
	g.Eventually(get(t, b.site.Client, "shaped", &set), patient, often).Should(Succeed(), b.why(t, "shaped"))
	g.Eventually(b.ready(t, "shaped"), patient, often).
		Should(Satisfy(reason(v1alpha1.ReasonPodPending)), b.why(t, "shaped"))
	written := set.ResourceVersion
	b.startPod(t, "shaped")
	g.Eventually(b.ready(t, "shaped"), patient, often).
		Should(Satisfy(reason(v1alpha1.ReasonEngineNotAnswering)), b.why(t, "shaped"))
	g.Expect(get(t, b.site.Client, "shaped", &set)()).To(Succeed())
	g.Expect(set.ResourceVersion).To(Equal(written), "it was written once")
	g.Expect(set.Spec.Template.Spec.Containers).To(HaveLen(3))
	g.Expect(set.Labels).To(And(HaveKeyWithValue("team", "db"), HaveKeyWithValue(v1alpha1.LabelAppInstance, "shaped")))

	var key, passwords corev1.Secret
	g.Expect(get(t, b.site.Client, "shaped-product-key", &key)()).To(Succeed())
	g.Expect(key.Data).To(HaveKeyWithValue("productKey", []byte("AAAAA-BBBBB-CCCCC-DDDDD-EEEEE")))
	g.Expect(get(t, b.site.Client, "shaped-credentials", &passwords)()).To(Succeed())
	g.Expect(passwords.Data).To(HaveKeyWithValue("sa-password", []byte("An-0ther-of-mine")))
	var account corev1.ServiceAccount
	g.Expect(get(t, b.site.Client, "shaped-agent", &account)()).To(Succeed())
	g.Expect(account.Annotations).To(HaveKeyWithValue("cloud/role", "r"))

	// A label goes to the running pod and from it.
	var s v1alpha1.SQLServer
	var pod corev1.Pod
	g.Expect(get(t, b.site.Client, "shaped-0", &pod)()).To(Succeed())
	uid := pod.UID
	label := func() (map[string]string, error) {
		err := get(t, b.site.Client, "shaped-0", &pod)()
		return pod.Labels, err
	}
	for _, labels := range []map[string]string{{"cost": "17"}, nil} {
		g.Eventually(func() error {
			g.Expect(get(t, b.hub.Client, "shaped", &s)()).To(Succeed())
			s.Spec.Pod.Metadata.Labels = labels
			return b.hub.Client.Update(t.Context(), &s)
		}, patient, often).Should(Succeed())
		if labels != nil {
			g.Eventually(label, patient, often).Should(HaveKeyWithValue("cost", "17"))
		} else {
			g.Eventually(label, patient, often).ShouldNot(HaveKey("cost"))
		}
	}
	g.Expect(pod.UID).To(Equal(uid))

	// What is not taken leaves the pod's template as the API server has it, and that is written once at most.
	var kept string
	for _, zone := range []string{"Europe/Dublin", "Etc/UTC"} {
		g.Eventually(func() error {
			g.Expect(get(t, b.hub.Client, "shaped", &s)()).To(Succeed())
			s.Spec.Pod.Env = []corev1.EnvVar{{Name: "TZ", Value: zone}}
			return b.hub.Client.Update(t.Context(), &s)
		}, patient, often).Should(Succeed())
		g.Eventually(b.ready(t, "shaped"), patient, often).Should(And(HaveField("ObservedGeneration", s.Generation),
			Satisfy(reason(v1alpha1.ReasonEngineNotAnswering))), b.why(t, "shaped"))
		before := set.Spec.Template.DeepCopy()
		g.Expect(get(t, b.site.Client, "shaped", &set)()).To(Succeed())
		g.Expect(set.Spec.Template.Spec).To(Equal(before.Spec))
		if kept != "" {
			g.Expect(set.ResourceVersion).To(Equal(kept))
		}
		kept = set.ResourceVersion
	}
	g.Expect(get(t, b.site.Client, "shaped-0", &pod)()).To(Succeed())
	g.Expect(pod.UID).To(Equal(uid))
}
