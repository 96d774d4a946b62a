// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// Annotations on the objects at a site.
const (
	// annotationApplied is the hash of the object as it was applied: a field that is no longer declared shows by it.
	annotationApplied = "geosql.dev/applied"
	// annotationTemplate is the hash of the pod's template without what only matters for scheduling.
	annotationTemplate = "geosql.dev/template"
	// annotationEngine is the hash of that template without the sidecar: while it is the same, a running engine need not
	// be restarted.
	annotationEngine = "geosql.dev/engine-template"
	// annotationSidecar is the hash of the sidecar's container without its image: while it is the same, a running pod can
	// be given another image.
	annotationSidecar = "geosql.dev/sidecar-template"
	// annotationReplaced of a pod is how often its sidecar had been restarted when it was given another image.
	annotationReplaced = "geosql.dev/sidecar-restarts"
	// annotationCertificate is the hash of the certificate that the pod was started with: the engine reads it once.
	annotationCertificate = "geosql.dev/certificate"
	// annotationProductKey tells the product key that the pod was started with from another one; there is none without.
	annotationProductKey = "geosql.dev/product-key"
	// annotationConf is the hash of mssql.conf, which the engine reads once too.
	annotationConf = "geosql.dev/mssql-conf"
	// annotationImage of the pod's template is the engine's image as it was declared, where the container names it by the
	// digest with which it has first started.
	annotationImage = "geosql.dev/engine-image"
	// annotationSpent of the pod's template is the hash of a request for an update that asks for nothing any more.
	annotationSpent = "geosql.dev/update-spent"
	// annotationWrittenBy of the data volume's claim is the version of the engine that answered last: what is of a lower
	// major version can't open the data, and a hub that was rebuilt knows it.
	annotationWrittenBy = "geosql.dev/written-by"
	// annotationMetadata of a pod are the keys of the labels and annotations that its server declares, as JSON: one that
	// is declared no more is taken from the running pod by it.
	annotationMetadata = "geosql.dev/declared-metadata"
	// annotationRefreshed is when the pod's Secrets were last said to have changed.
	annotationRefreshed = "geosql.dev/refreshed"
	// annotationRestarted is the cause for which the pod was last restarted once.
	annotationRestarted = "geosql.dev/restarted-for"
	// annotationEvictable of the PodDisruptionBudget is since when the pod may be evicted, in RFC 3339. It stays when the
	// turn was given to others.
	annotationEvictable = "geosql.dev/evictable-since"
	// annotationNetwork of the StatefulSet says whether the server has a NetworkPolicy; one of an earlier release says
	// nothing.
	annotationNetwork = "geosql.dev/network-policy"
	// annotationIssued of the StatefulSet is the issuer of the server's Certificate, while there is one.
	annotationIssued = "geosql.dev/issued-by"
	// annotationLast of the PodDisruptionBudget is the group of which the server is primary, the term, and since when
	// nobody could follow it whose node is not cordoned, in RFC 3339.
	annotationLast = "geosql.dev/last-since"
)

// confKey is the key of mssql.conf in its ConfigMap.
const confKey = conf.Name

func confName(server string) string { return server + "-mssql-conf" }

func meta(d Desired, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: name, Labels: d.labels(), Annotations: d.annotations()}
}

// configMap has the server's mssql.conf.
func configMap(d Desired) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(d, confName(d.Server.Name)),
		Data: map[string]string{confKey: conf.Render(d.name(), d.Server.Spec.MSSQLConf,
			conf.Folders{From: d.Distributors, Others: d.Others})},
	}
}

// claim is the claim of one volume. class is the resolved storage class.
func claim(d Desired, v volume, class string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: meta(d, claimName(d.Server.Name, v.role)),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: v.spec.Size}},
		},
	}
	if class != "" {
		c.Spec.StorageClassName = ptr.To(class)
	}
	return c
}

// statefulSet runs the server's pod. Its pod is replaced by nobody but the operator: OnDelete.
func statefulSet(d Desired, o Observed, decision placement.Decision) *appsv1.StatefulSet {
	tuned := tuningOf(d, o)
	d.buffers = tuned.sysctls
	template := corev1.PodTemplateSpec{
		ObjectMeta: podMeta(d),
		Spec:       podSpec(d, decision.Terms),
	}
	switch key := o.productKey(); {
	case d.keptMark != "":
		template.Annotations[annotationProductKey] = d.keptMark
	case key != nil:
		template.Annotations[annotationProductKey] = o.SitePasswords.ProductKeyMark(key)
	}
	maps.Copy(template.Annotations, templateAnnotations(d, template, o.SiteCertificate[credentials.KeyCertificate]))
	if d.keptTemplate != nil {
		template = keptTemplate(d, template.Annotations)
	}
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: meta(d, d.Server.Name),
		Spec: appsv1.StatefulSetSpec{
			Replicas:       ptr.To[int32](1),
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:       &metav1.LabelSelector{MatchLabels: podSelector(d)},
			Template:       template,
		},
	}
	if policyMark(d, o) == v1alpha1.NetworkPolicyManaged {
		// Where there is none it says nothing, so that no StatefulSet is written for a release that brings the mark.
		set.Annotations = with(set.Annotations, map[string]string{
			annotationNetwork: string(v1alpha1.NetworkPolicyManaged)})
	}
	markBuffers(d, set, tuned)
	if hasIssue(d, o) {
		set.Annotations = with(set.Annotations, map[string]string{annotationIssued: sites.CertManagerGroup})
	}
	return set
}

// disruptionBudget decides about evictions of the server's pod: by it `kubectl drain` waits until the server can be
// spared.
func disruptionBudget(d Desired, evictable bool, times map[string]string) *policyv1.PodDisruptionBudget {
	most := intstr.FromInt32(0)
	if evictable {
		most = intstr.FromInt32(1)
	}
	b := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: meta(d, d.Server.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &most,
			Selector:       &metav1.LabelSelector{MatchLabels: podSelector(d)},
		},
	}
	if evictable {
		// Of a pod that is not ready Kubernetes counts no healthy one, so it would refuse the eviction for ever: the drain of
		// a node on which the engine ends again and again would not end either.
		b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	}
	b.Annotations = with(b.Annotations, times)
	return b
}

// podSelector matches the server's pod alone.
func podSelector(d Desired) map[string]string {
	return map[string]string{v1alpha1.LabelServer: d.Server.Name, v1alpha1.LabelNamespace: d.Server.Namespace}
}

func templateAnnotations(d Desired, template corev1.PodTemplateSpec, certificate []byte) map[string]string {
	spec := template.Spec.DeepCopy()
	spec.Affinity, spec.Tolerations, spec.PriorityClassName = nil, nil, ""
	spec.TopologySpreadConstraints = nil
	// The digest of a tag follows from the pod that runs: it restarts none.
	spec.Containers[0].Image = d.image().declared
	withoutLasting(d, spec)
	annotations := map[string]string{
		annotationCertificate: hashOf(certificate),
		annotationConf: hashOf(map[string]string{
			confKey: conf.RestartsFor(d.name(), d.Server.Spec.MSSQLConf, d.Distributors),
		}),
	}
	engine := []any{annotations[annotationCertificate], annotations[annotationConf]}
	if mark := template.Annotations[annotationProductKey]; mark != "" {
		annotations[annotationProductKey] = mark
		engine = append(engine, mark)
	}
	annotations[annotationTemplate] = hashOf([]any{spec, annotations})
	sidecar := spec.Containers[1].DeepCopy()
	sidecar.Image = ""
	annotations[annotationSidecar] = hashOf(sidecar)
	spec.Containers = slices.Delete(spec.Containers, 1, 2)
	annotations[annotationEngine] = hashOf(append([]any{spec}, engine...))
	if i := d.image(); i.use != i.declared {
		annotations[annotationImage] = i.declared
	}
	if asked := d.image().asked; asked != "" {
		annotations[v1alpha1.UpdateAnnotation] = asked
	}
	if spent := d.image().spent; spent != "" {
		annotations[annotationSpent] = spent
	}
	if asked := d.Server.Annotations[v1alpha1.RestartAnnotation]; asked != "" {
		// Whatever its length and content, it names a request. It is in no hash: without it nobody restarts.
		annotations[v1alpha1.RestartAnnotation] = hashOf(asked)
	}
	return annotations
}

// passwordSecret has the server's passwords.
func passwordSecret(d Desired, passwords credentials.Passwords) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta(d, credentials.PasswordsName(d.name())),
		Type:       corev1.SecretTypeOpaque,
		Data:       passwords,
	}
}

// certificateSecret has the server's certificate.
func certificateSecret(d Desired, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta(d, credentials.CertificateName(d.name())),
		Type:       corev1.SecretTypeTLS,
		Data:       data,
	}
}

// hashOf is a short hash of a value's JSON form.
func hashOf(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		// Every caller passes plain data.
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}
