// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// ExtraMetadata are labels and annotations that objects get beside the operator's own. Those of the operator, which are
// geosql.dev/* and app.kubernetes.io/name, instance, component and managed-by, are refused.
type ExtraMetadata struct {
	// labels by key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// annotations by key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodPart is a part of a pod in Kubernetes' own form, which the resource's schema does not spell out: with it a
// resource would be larger than `kubectl apply` takes. Admission checks its fields.
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
type PodPart struct {
	runtime.RawExtension `json:",inline"`
}

// AntiAffinity says how strongly a group's replicas keep apart.
// +kubebuilder:validation:Enum=Preferred;Required
type AntiAffinity string

const (
	// AntiAffinityPreferred puts replicas on different nodes where there are enough; the default.
	AntiAffinityPreferred AntiAffinity = "Preferred"
	// AntiAffinityRequired rather lets a pod wait.
	AntiAffinityRequired AntiAffinity = "Required"
)

// ServerPod shapes the server's pod. What would break a promise of the operator is refused: its volumes, mounts, ports,
// probes, containers and environment stay.
type ServerPod struct {
	// metadata of the pod. A change is written to the running pod; what is read when a pod is made, such as a mesh's
	// annotation, takes effect with its next start.
	// +optional
	Metadata *ExtraMetadata `json:"metadata,omitempty"`
	// env of the engine's container. ACCEPT_EULA, HOME, SSL_CERT_FILE, TZ and MSSQL_* are the operator's.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`
	// volumes of the pod beside the server's, as a pod's spec.volumes. Secrets and volumes that the operator keeps for the
	// servers of the namespace, tokens of the pod's account and folders of the node are refused.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Volumes []PodPart `json:"volumes,omitempty"`
	// volumeMounts of the engine's container, of these volumes alone: keytabs, CA bundles.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// initContainers that run before the engine and after the operator's, as a pod's spec.initContainers.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	InitContainers []PodPart `json:"initContainers,omitempty"`
	// sidecars beside the engine and its agent, as a pod's spec.containers. They may mount the volumes that the pod gets
	// here, the volume backup, and data, log and tempdb to read.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Sidecars []PodPart `json:"sidecars,omitempty"`
	// securityContext of the pod, for the engine and its agent alike: both have one user, since the agent must be able to
	// end the engine. Unless given, user, group and fsGroup are 10001, the image's; given, those that it lacks are the
	// site's to choose: with {} OpenShift takes them from the namespace's range.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// terminationGracePeriodSeconds is how long the engine may take to end; 60 unless given. A change takes effect with
	// the pod's next start.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=3600
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// ServerAgent shapes the agent's container. A change takes effect with the pod's next start.
type ServerAgent struct {
	// resources of the agent. What is left out of them is, unless given: requests of 100m CPU and 64Mi memory, and a limit
	// of 256Mi memory. There is no CPU limit unless one is given: an agent that is throttled misses its lease.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// imagePullPolicy of the agent's image; IfNotPresent unless given.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
}

// ServerServiceAccount shapes the pod's ServiceAccount.
type ServerServiceAccount struct {
	// annotations of the ServiceAccount, such as those by which a cloud gives it an identity.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]string `json:"annotations,omitempty"`
}

// What the agent's container has unless told otherwise.
var (
	agentRequests = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("64Mi"),
	}
	agentMemory = resource.MustParse("256Mi")
)

// AgentResources are the resources of the agent's container, what the spec leaves out filled in. A request of more
// memory than the limit that nobody declared raises that limit.
func (s *SQLServerSpec) AgentResources() corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{}
	if s.Agent != nil {
		r = *s.Agent.Resources.DeepCopy()
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	if r.Limits == nil {
		r.Limits = corev1.ResourceList{}
	}
	for name, least := range agentRequests {
		if _, declared := r.Requests[name]; declared {
			continue
		}
		request := least.DeepCopy()
		if limit, limited := r.Limits[name]; limited && limit.Cmp(request) < 0 {
			request = limit.DeepCopy()
		}
		r.Requests[name] = request
	}
	if _, declared := r.Limits[corev1.ResourceMemory]; !declared {
		limit := agentMemory.DeepCopy()
		if request := r.Requests[corev1.ResourceMemory]; request.Cmp(limit) > 0 {
			limit = request.DeepCopy()
		}
		r.Limits[corev1.ResourceMemory] = limit
	}
	return r
}
