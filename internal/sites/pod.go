// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// PodReady tells that a pod is ready by its condition: of a server's pod, that its sidecar has heard the engine.
func PodReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
