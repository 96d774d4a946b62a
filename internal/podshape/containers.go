// SPDX-License-Identifier: Apache-2.0

package podshape

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// bindPorts is the one capability that the restricted profile of the Pod Security Standards lets be added.
const bindPorts corev1.Capability = "NET_BIND_SERVICE"

// checkContainers refuses containers that take what the operator's have, and that the restricted profile forbids: the
// operator's account at the site may run no others.
func checkContainers(at *field.Path, s Shape) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", s.InitContainers}, {"sidecars", s.Sidecars}} {
		for i, c := range list.containers {
			path := at.Child(list.name).Index(i)
			for _, why := range validation.IsDNS1123Label(c.Name) {
				errs = append(errs, field.Invalid(path.Child("name"), c.Name, why))
			}
			switch {
			case OwnsContainer(c.Name):
				errs = append(errs, field.Forbidden(path.Child("name"), fmt.Sprintf("the pod has a container %s of the "+
					"operator's, "+
					"or a later release may have one: use another name", c.Name)))
			case seen[c.Name]:
				errs = append(errs, field.Duplicate(path.Child("name"), c.Name))
			}
			seen[c.Name] = true
			if c.Image == "" {
				errs = append(errs, field.Required(path.Child("image"), "the container's image"))
			}
			if c.ReadinessProbe != nil {
				errs = append(errs, field.Forbidden(path.Child("readinessProbe"), "the pod is ready when its engine is: "+
					"with another "+
					"container's probe clients would lose a server that serves"))
			}
			errs = append(errs, checkPorts(path.Child("ports"), c.Ports)...)
			errs = append(errs, checkMounts(path.Child("volumeMounts"), c.VolumeMounts, s.Volumes)...)
			errs = append(errs, checkRestricted(path.Child("securityContext"), c.SecurityContext)...)
		}
	}
	return errs
}

func checkPorts(at *field.Path, ports []corev1.ContainerPort) field.ErrorList {
	var errs field.ErrorList
	for i, p := range ports {
		if OwnsPort(p.Name, p.ContainerPort) {
			errs = append(errs, field.Forbidden(at.Index(i), fmt.Sprintf("the engine and its agent have the ports 1433 "+
				"(tds), 5022 "+
				"(mirroring), 8443 (agent) and 8444 (election) of the pod: use another number and name than %d and %q",
				p.ContainerPort, p.Name)))
		}
	}
	return errs
}

// checkMounts lets a container mount what the user gives the pod, and of the server's volumes those with the engine's
// files, not its keys, tokens and promises.
func checkMounts(at *field.Path, mounts []corev1.VolumeMount, volumes []corev1.Volume) field.ErrorList {
	var errs field.ErrorList
	for i, m := range mounts {
		path := at.Index(i)
		readOnly, shared := sharedVolumes[m.Name]
		switch {
		case slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name }):
		case !shared && OwnsVolume(m.Name):
			errs = append(errs, field.Forbidden(path.Child("name"), fmt.Sprintf("%s is for the operator's containers "+
				"alone; of the "+
				"server's volumes others may mount backup, and data, log and tempdb to read", m.Name)))
		case !shared:
			errs = append(errs, field.NotFound(path.Child("name"), m.Name+"; declare it in pod.volumes"))
		case readOnly && !m.ReadOnly:
			errs = append(errs, field.Invalid(path.Child("readOnly"), m.ReadOnly, fmt.Sprintf(
				"must be true for %s: its files are the engine's alone", m.Name)))
		}
	}
	return errs
}

// checkRestricted refuses what is beyond the restricted profile. What is left out is filled in (restrict).
func checkRestricted(at *field.Path, s *corev1.SecurityContext) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	refuse := func(path *field.Path) {
		errs = append(errs, field.Forbidden(path, "containers of a server's pod keep to the restricted profile of the Pod "+
			"Security Standards: the operator's account may run no others, and they share the engine's processes"))
	}
	if ptr.Deref(s.Privileged, false) {
		refuse(at.Child("privileged"))
	}
	if ptr.Deref(s.AllowPrivilegeEscalation, false) {
		refuse(at.Child("allowPrivilegeEscalation"))
	}
	if !ptr.Deref(s.RunAsNonRoot, true) {
		refuse(at.Child("runAsNonRoot"))
	}
	if ptr.Deref(s.RunAsUser, 1) == 0 {
		refuse(at.Child("runAsUser"))
	}
	if c := s.Capabilities; c != nil && slices.ContainsFunc(c.Add,
		func(x corev1.Capability) bool { return x != bindPorts }) {
		refuse(at.Child("capabilities", "add"))
	}
	if p := s.SeccompProfile; p != nil && p.Type == corev1.SeccompProfileTypeUnconfined {
		refuse(at.Child("seccompProfile", "type"))
	}
	if p := s.ProcMount; p != nil && *p == corev1.UnmaskedProcMount {
		refuse(at.Child("procMount"))
	}
	return errs
}

// restrict fills in what the restricted profile asks of each container.
func restrict(containers []corev1.Container) {
	for i := range containers {
		c := &containers[i]
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		s := c.SecurityContext
		s.AllowPrivilegeEscalation, s.RunAsNonRoot = ptr.To(false), ptr.To(true)
		if s.Capabilities == nil {
			s.Capabilities = &corev1.Capabilities{}
		}
		s.Capabilities.Drop = []corev1.Capability{"ALL"}
		if s.SeccompProfile == nil {
			s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
		}
	}
}
