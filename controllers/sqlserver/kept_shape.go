// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/podshape"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// keepShape has a server go on with its pod's template while what is declared of the pod is not taken: a rule that came
// with a release, or the name of a server that somebody else declares, makes that of what has run for long. Labels and
// annotations of everything are in every object, and must be right.
func keepShape(d Desired, o Observed) Desired {
	set := o.StatefulSet
	if len(d.misshapen) == 0 || set == nil || !owned(d, set.Labels) {
		return d
	}
	spec := d.Server.Spec.DeepCopy()
	spec.Pod, spec.Scheduling = nil, nil
	if _, wrong := podshape.Of(field.NewPath("spec"), d.Server.Name, spec, nil); len(wrong) > 0 {
		return d
	}
	d.keptTemplate = set.Spec.Template.DeepCopy()
	// Where the pod may run is as it was, too.
	d.shape.Affinity = d.keptTemplate.Spec.Affinity
	return d
}

// keptTemplate is the pod's present template with what changes without the user's doing, or is asked for by itself:
// images, certificate, mssql.conf, buffers of connections, and requests. fresh are the annotations of a template made
// anew. The hashes follow from the present ones: those of a template that an API server has filled in would be others,
// and restart the pod.
func keptTemplate(d Desired, fresh map[string]string) corev1.PodTemplateSpec {
	template := *d.keptTemplate.DeepCopy()
	engine, sidecar := false, false
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			switch c := &containers[i]; c.Name {
			case ContainerEngine:
				engine = imageIn(template.ObjectMeta, template.Spec).declared != d.image().declared
				c.Image = d.image().use
			case ContainerAgent:
				sidecar = c.Image != d.AgentImage
				c.Image = d.AgentImage
			case containerKeys:
				c.Image = d.AgentImage
			}
		}
	}
	if security := template.Spec.SecurityContext; security != nil {
		// They are in no hash either, and one that a node or a policy refuses keeps the pod from running.
		d.withoutBuffers(security)
		security.Sysctls = append(security.Sysctls, d.buffers...)
	}
	annotations := with(map[string]string{}, template.Annotations)
	for _, mark := range []string{annotationCertificate, annotationConf} {
		engine = engine || annotations[mark] != fresh[mark]
		annotations[mark] = fresh[mark]
	}
	if mark := fresh[annotationProductKey]; mark != "" && annotations[annotationProductKey] != "" {
		engine = engine || annotations[annotationProductKey] != mark
		annotations[annotationProductKey] = mark
	}
	for _, request := range []string{annotationImage, v1alpha1.UpdateAnnotation, v1alpha1.RestartAnnotation} {
		delete(annotations, request)
		if fresh[request] != "" {
			annotations[request] = fresh[request]
		}
	}
	marks := []string{annotations[annotationCertificate], annotations[annotationConf], annotations[annotationProductKey],
		d.image().declared}
	if engine {
		annotations[annotationEngine] = hashOf(append(marks, annotations[annotationEngine]))
	}
	if engine || sidecar {
		annotations[annotationTemplate] = hashOf(append(marks, d.AgentImage, annotations[annotationTemplate]))
	}
	template.Annotations = annotations
	return template
}

// planShape ends the plan when a first pod can't be made as it is declared. Admission refuses that; nothing is done
// about what went by it. A pod that there is goes on; see planKeptShape.
func planShape(d Desired, _ Observed, p *reconcile.Plan) bool {
	if len(d.misshapen) == 0 || d.keptTemplate != nil {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonPodNotTaken, d.misshapen.ToAggregate().Error()))
}

// planKeptShape says, when everything else is as declared, that the pod is not.
func planKeptShape(d Desired, _ Observed, p *reconcile.Plan) bool {
	if d.keptTemplate == nil {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonPodKept, fmt.Sprintf(
		"%v. The pod stays as it was made before, with new images and certificates alone; what else spec says of it waits "+
			"until these fields are corrected. Everything else is as declared", d.misshapen.ToAggregate())))
}
