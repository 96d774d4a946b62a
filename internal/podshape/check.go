// SPDX-License-Identifier: Apache-2.0

package podshape

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// checkMetadata refuses labels and annotations that are the operator's, or none.
func checkMetadata(at *field.Path, spec *v1alpha1.SQLServerSpec) field.ErrorList {
	var errs field.ErrorList
	metadata := func(at *field.Path, m *v1alpha1.ExtraMetadata) {
		if m == nil {
			return
		}
		errs = append(errs, metav1validation.ValidateLabels(m.Labels, at.Child("labels"))...)
		errs = append(errs, ownKeys(at.Child("labels"), m.Labels)...)
		errs = append(errs, annotations(at.Child("annotations"), m.Annotations)...)
	}
	metadata(at.Child("inheritedMetadata"), spec.InheritedMetadata)
	if spec.Pod != nil {
		metadata(at.Child("pod", "metadata"), spec.Pod.Metadata)
	}
	if spec.ServiceAccount != nil {
		errs = append(errs, annotations(at.Child("serviceAccount", "annotations"), spec.ServiceAccount.Annotations)...)
	}
	return errs
}

func annotations(at *field.Path, m map[string]string) field.ErrorList {
	return append(apivalidation.ValidateAnnotations(m, at), ownKeys(at, m)...)
}

func ownKeys(at *field.Path, m map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if OwnsLabel(key) {
			errs = append(errs, field.Forbidden(at.Key(key), "the operator finds its objects by this key; use one of your own"))
		}
	}
	return errs
}

// checkScheduling refuses constraints that the site's API server would.
func checkScheduling(at *field.Path, spec *v1alpha1.SQLServerSpec, s Shape) field.ErrorList {
	if spec.Scheduling == nil {
		return nil
	}
	at = at.Child("scheduling")
	var errs field.ErrorList
	for i, c := range spec.Scheduling.TopologySpreadConstraints {
		path := at.Child("topologySpreadConstraints").Index(i)
		if c.MaxSkew < 1 {
			errs = append(errs, field.Invalid(path.Child("maxSkew"), c.MaxSkew, "must be 1 or more"))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(path.Child("topologyKey"), "the label of nodes, such as "+
				"topology.kubernetes.io/zone"))
		}
		if when := c.WhenUnsatisfiable; when != corev1.DoNotSchedule && when != corev1.ScheduleAnyway {
			errs = append(errs, field.NotSupported(path.Child("whenUnsatisfiable"), when,
				[]corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}))
		}
		errs = append(errs, metav1validation.ValidateLabelSelector(c.LabelSelector,
			metav1validation.LabelSelectorValidationOptions{}, path.Child("labelSelector"))...)
	}
	if s.Affinity != nil && s.Affinity.NodeAffinity != nil {
		if need := s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; need != nil &&
			len(need.NodeSelectorTerms) == 0 {
			errs = append(errs, field.Required(at.Child("affinity", "nodeAffinity",
				"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"), "one term at least"))
		}
	}
	return errs
}

func checkEnv(at *field.Path, env []corev1.EnvVar) field.ErrorList {
	var errs field.ErrorList
	for i, v := range env {
		path := at.Index(i).Child("name")
		for _, why := range validation.IsEnvVarName(v.Name) {
			errs = append(errs, field.Invalid(path, v.Name, why))
		}
		if OwnsEnv(v.Name) {
			errs = append(errs, field.Forbidden(path, v.Name+" is the operator's: the engine would obey the one and the "+
				"operator believe the other. Settings of SQL Server are said in edition, timeZone, collation, memory, startup "+
				"and mssqlConf"))
		}
		if v.Value != "" && v.ValueFrom != nil {
			errs = append(errs, field.Invalid(at.Index(i).Child("valueFrom"), v.Name, "must not be given beside value"))
		}
	}
	return errs
}

func checkVolumes(at *field.Path, volumes []corev1.Volume) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, v := range volumes {
		path := at.Index(i)
		for _, why := range validation.IsDNS1123Label(v.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), v.Name, why))
		}
		switch {
		case OwnsVolume(v.Name):
			errs = append(errs, field.Forbidden(path.Child("name"), fmt.Sprintf("the pod has a volume %s of the "+
				"operator's, or a "+
				"later release may have one: use another name", v.Name)))
		case seen[v.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), v.Name))
		}
		seen[v.Name] = true
		if v.HostPath != nil {
			errs = append(errs, field.Forbidden(path.Child("hostPath"), "a folder of the node is not for a server's pod: the "+
				"operator's account may run none with one"))
		}
	}
	return errs
}

// checkEngineMounts refuses mounts that hide what the operator mounts, and volumes that are not for the engine.
func checkEngineMounts(at *field.Path, mounts []corev1.VolumeMount, volumes []corev1.Volume) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, m := range mounts {
		path := at.Index(i)
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			errs = append(errs, field.NotFound(path.Child("name"), m.Name+"; the engine mounts what pod.volumes declares"))
		}
		switch {
		case m.MountPath == "":
			errs = append(errs, field.Required(path.Child("mountPath"), "where in the engine's container"))
		case OwnsFolder(m.MountPath):
			errs = append(errs, field.Forbidden(path.Child("mountPath"), fmt.Sprintf("%s would hide what the operator "+
				"mounts, or "+
				"the engine itself: use another folder, such as /etc/mssql-extra, and say it in mssqlConf where the engine is to "+
				"look there", m.MountPath)))
		case seen[m.MountPath]:
			errs = append(errs, field.Duplicate(path.Child("mountPath"), m.MountPath))
		}
		seen[m.MountPath] = true
	}
	return errs
}

// checkSecurity refuses a user of the pod that the engine and its agent cannot have.
func checkSecurity(at *field.Path, s *corev1.PodSecurityContext) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if s.RunAsUser != nil && *s.RunAsUser == 0 {
		errs = append(errs, field.Forbidden(at.Child("runAsUser"), "the pod does not run as root"))
	}
	if s.RunAsNonRoot != nil && !*s.RunAsNonRoot {
		errs = append(errs, field.Forbidden(at.Child("runAsNonRoot"), "the pod does not run as root"))
	}
	if s.WindowsOptions != nil {
		errs = append(errs, field.Forbidden(at.Child("windowsOptions"), "SQL Server runs in containers on Linux"))
	}
	if p := s.SeccompProfile; p != nil && p.Type == corev1.SeccompProfileTypeUnconfined {
		errs = append(errs, field.Forbidden(at.Child("seccompProfile", "type"), "the pod keeps to the restricted profile: "+
			"RuntimeDefault or Localhost"))
	}
	return errs
}
