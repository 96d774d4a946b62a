// SPDX-License-Identifier: Apache-2.0

// Package podshape is what users may make of a server's pod: it reads the parts that a SQLServer declares in
// Kubernetes' own form, and refuses what would break a promise of the operator. Admission and the controller of
// SQLServers use it alike: where a webhook was away, nothing is run that it would have refused.
package podshape

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubejson "sigs.k8s.io/json"

	"geosql.dev/operator/api/v1alpha1"
)

// Shape has the parts of a server's pod that its specification declares in Kubernetes' own form, decoded.
type Shape struct {
	// Affinity that is declared; nil when none is.
	Affinity *corev1.Affinity
	// Volumes of the pod beside the server's own.
	Volumes []corev1.Volume
	// InitContainers that run after the operator's and before the engine.
	InitContainers []corev1.Container
	// Sidecars beside the engine and its agent.
	Sidecars []corev1.Container
}

// Of reads the shape of a server's pod and checks it. The errors name fields below at, the path of the specification;
// with any the shape is not to be used. server is the SQLServer's name, others are those of its namespace.
func Of(at *field.Path, server string, spec *v1alpha1.SQLServerSpec, others []string) (Shape, field.ErrorList) {
	s, errs := read(at, spec)
	if len(errs) > 0 {
		return Shape{}, errs
	}
	errs = append(errs, checkMetadata(at, spec)...)
	errs = append(errs, checkScheduling(at, spec, s)...)
	pod := spec.Pod
	if pod == nil {
		pod = &v1alpha1.ServerPod{}
	}
	path := at.Child("pod")
	errs = append(errs, checkEnv(path.Child("env"), pod.Env)...)
	errs = append(errs, checkVolumes(path.Child("volumes"), s.Volumes)...)
	errs = append(errs, checkEngineMounts(path.Child("volumeMounts"), pod.VolumeMounts, s.Volumes)...)
	errs = append(errs, checkContainers(path, s)...)
	for _, part := range []struct {
		name  string
		value any
	}{{"env", pod.Env}, {"volumes", s.Volumes}, {"initContainers", s.InitContainers}, {"sidecars", s.Sidecars}} {
		errs = append(errs, checkKept(path.Child(part.name), server, others, part.value)...)
	}
	errs = append(errs, checkSecurity(path.Child("securityContext"), pod.SecurityContext)...)
	if len(errs) > 0 {
		return Shape{}, errs
	}
	restrict(s.InitContainers)
	restrict(s.Sidecars)
	return s, nil
}

// read decodes what the schema does not spell out. A field that Kubernetes does not know is refused, as its API server
// would with a strict client: a typing error would else go unnoticed.
func read(at *field.Path, spec *v1alpha1.SQLServerSpec) (s Shape, errs field.ErrorList) {
	if spec.Scheduling != nil && spec.Scheduling.Affinity != nil {
		s.Affinity = &corev1.Affinity{}
		errs = append(errs, decode(at.Child("scheduling", "affinity"), *spec.Scheduling.Affinity, s.Affinity)...)
	}
	if spec.Pod == nil {
		return s, errs
	}
	path := at.Child("pod")
	for i, part := range spec.Pod.Volumes {
		s.Volumes = append(s.Volumes, corev1.Volume{})
		errs = append(errs, decode(path.Child("volumes").Index(i), part, &s.Volumes[i])...)
	}
	for _, list := range []struct {
		name  string
		parts []v1alpha1.PodPart
		into  *[]corev1.Container
	}{{"initContainers", spec.Pod.InitContainers, &s.InitContainers}, {"sidecars", spec.Pod.Sidecars, &s.Sidecars}} {
		for i, part := range list.parts {
			*list.into = append(*list.into, corev1.Container{})
			errs = append(errs, decode(path.Child(list.name).Index(i), part, &(*list.into)[i])...)
		}
	}
	return s, errs
}

func decode(at *field.Path, part v1alpha1.PodPart, into any) field.ErrorList {
	unknown, err := kubejson.UnmarshalStrict(part.Raw, into)
	if err != nil {
		return field.ErrorList{field.Invalid(at, text(part), fmt.Sprintf("not what Kubernetes takes here: %v", err))}
	}
	var errs field.ErrorList
	for _, one := range unknown {
		errs = append(errs, field.Invalid(at, text(part), fmt.Sprintf("not what Kubernetes takes here: %v", one)))
	}
	return errs
}

// longest is how much of a refused part a message repeats.
const longest = 80

func text(part v1alpha1.PodPart) string {
	s := string(part.Raw)
	if !json.Valid(part.Raw) || len(s) > longest {
		return strings.ToValidUTF8(s[:min(len(s), longest)], "") + "..."
	}
	return s
}

// Part is a value of one of Kubernetes' own types in the form that a SQLServer declares it in.
func Part(value any) (v1alpha1.PodPart, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return v1alpha1.PodPart{}, fmt.Errorf("encode a %T: %w", value, err)
	}
	var part v1alpha1.PodPart
	part.Raw = data
	return part, nil
}
