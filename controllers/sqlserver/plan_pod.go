// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/podshape"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// planRestart replaces a pod that was started from an older template: at once when its engine has never run, else when
// no group stands against it.
func planRestart(d Desired, o Observed, p *reconcile.Plan) bool {
	pod := o.Pod
	if pod == nil || pod.DeletionTimestamp != nil || o.StatefulSet == nil {
		return true
	}
	if dying := dyingClaims(o); dying != "" {
		pend(p, dying, v1alpha1.ReasonVolumesTerminating)
		return true
	}
	want, have := o.StatefulSet.Spec.Template.Annotations, pod.Annotations
	if want[annotationTemplate] == have[annotationTemplate] && !restartAsked(o) && !updateAsked(o) {
		return planNextStart(d, o, p)
	}
	why := restartReason(want, have)
	if restartAsked(o) {
		why = "annotation " + v1alpha1.RestartAnnotation + " of the SQLServer asks for it"
	} else if updates(o) {
		why = updateReason(o)
	} else if want[annotationEngine] == have[annotationEngine] && engineHasRun(pod) {
		return planSidecar(d, o, p, why)
	}
	step := restartOf(pod, why)
	if engineHasRun(pod) || awaitsConsent(d, o) != "" {
		if tempDBIsNew(o) && administrator(d, o) == "" && !d.TempDBRefused {
			return true // its files are moved first: one start brings both
		}
		return replace(d, o, p, step)
	}
	p.Add(step)
	return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, "the pod is restarted: "+why))
}

// planNextStart says what a pod gets with its next start, and is not restarted for. One whose engine has not started,
// with buffers that it is not to have any more, would wait for that start for ever.
func planNextStart(d Desired, o Observed, p *reconcile.Plan) bool {
	if awaitsAgentVolume(o) {
		pend(p, "the agent gets a volume of its own when the pod next starts; its promises are on the data volume meanwhile",
			v1alpha1.ReasonPromisesOnDataVolume)
	}
	if !awaitsBuffers(o) {
		return true
	}
	if !engineHasRun(o.Pod) && hasBuffers(d, o.Pod.Spec) && !hasBuffers(d, o.StatefulSet.Spec.Template.Spec) {
		p.Add(restartOf(o.Pod, "it has not started, and is to have "+words(buffersOf(o.StatefulSet.Spec.Template.Spec))))
		return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting,
			"the pod has not started, and is made again with other buffers"))
	}
	pend(p, buffersWait(o), v1alpha1.ReasonBuffersAtNextStart)
	return true
}

// updateReason names the image that comes.
func updateReason(o Observed) string {
	next := imageOfSet(o.StatefulSet)
	if updateAsked(o) {
		return fmt.Sprintf("annotation %s of the SQLServer asks for image %s as it is now", v1alpha1.UpdateAnnotation,
			next.declared)
	}
	return "image " + next.declared + " is declared"
}

func restartOf(pod *corev1.Pod, why string) RestartPod {
	return RestartPod{Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion, Reason: why}
}

// replace restarts a pod whose engine has run, unless no node could take it again: the one that has its volumes is
// cordoned, say. The engine goes on meanwhile.
func replace(d Desired, o Observed, p *reconcile.Plan, step RestartPod) bool {
	if dyingClaims(o) != "" {
		return true
	}
	if _, err := decide(d, o); err != nil {
		reason := ""
		if leaves(o) != "" {
			// It keeps no primary waiting that has to make room.
			reason = v1alpha1.ReasonNodeCordoned
		}
		pend(p, step.Reason+"; the pod would find no node: "+err.Error(), reason)
		return true
	}
	return restart(d, o, p, step)
}

// dyingClaims says of claims that are being deleted what keeps them; empty when there are none. Kubernetes lets them go
// with the pod that uses them, and what is on their volumes with them: whoever deleted them decides when that is.
func dyingClaims(o Observed) string {
	var names []string
	data := false
	for _, role := range roles() {
		if c := o.Claims[role]; c != nil && c.DeletionTimestamp != nil {
			names = append(names, c.Name)
			data = data || role != placement.RoleAgent
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case !data:
		return fmt.Sprintf(
			"claim %s is being deleted, and the pod alone keeps it. There are no data on it, but what the agent has promised "+
				"in elections, of which the data volume has a copy. The operator neither restarts the pod nor lets it be evicted. "+
				"Delete the pod when its group can do without it: the agent then gets a new volume, and goes by the copy",
			names[0],
		)
	}
	return fmt.Sprintf(
		"claims are being deleted, and the pod alone keeps them: %s. With its end the data are gone, so the operator "+
			"neither restarts it nor lets it be "+
			"evicted. Save the data, or delete the pod to give them up (docs/runbooks/lost-volumes.md)",
		strings.Join(names, ", "),
	)
}

// hosted are the groups behind whose back the pod must not be restarted: those that the engine says it hosts, else,
// when it does not answer, those that are declared. A group that is declared and not made yet holds up no restart; its
// listener's name comes into the certificate that way.
func hosted(d Desired, o Observed) []string {
	if o.Engine.Asked && o.Engine.Err == nil && o.Engine.GroupsKnown {
		return o.Engine.Groups
	}
	return d.Groups
}

func restartReason(want, have map[string]string) string {
	var changed []string
	for _, a := range []struct{ key, name string }{
		{annotationCertificate, "the certificate"}, {annotationConf, "mssql.conf"},
		{annotationProductKey, "the product key"},
	} {
		if want[a.key] != have[a.key] {
			changed = append(changed, a.name)
		}
	}
	switch {
	case len(changed) > 0:
		return strings.Join(changed, " and ") + " changed"
	case want[annotationEngine] != have[annotationEngine]:
		return "the pod's template changed"
	}
	return "the sidecar changed"
}

// engineHasRun tells whether the pod's engine may have served anybody.
func engineHasRun(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == ContainerEngine {
			return c.State.Waiting == nil || c.LastTerminationState.Terminated != nil || c.RestartCount > 0
		}
	}
	return false
}

// planPod waits for the pod and says what holds it up.
func planPod(d Desired, o Observed, p *reconcile.Plan) bool {
	pod, asks := o.Pod, d.Server.Spec.AgentResources().Requests
	switch {
	case pod == nil && o.Refusal != "":
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPodRefused, fmt.Sprintf(
			"the API server of site %s does not let the pod in: %s. Change what refuses it there (ResourceQuota, LimitRange, "+
				"policy, PriorityClass), or spec.resources and spec.scheduling; its sidecar asks for %s CPU and %s memory "+
				"(spec.agent.resources)%s",
			d.Server.Spec.Site,
			o.Refusal,
			asks.Cpu(),
			asks.Memory(),
			withoutThem(d, o),
		)))
	case o.Unstarted.Reason == sysctlForbidden:
		return p.Settle(refusedByKubelet(d, o))
	case pod == nil:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonPodPending, "the pod is awaited from its StatefulSet"))
	case pod.DeletionTimestamp != nil:
		message := "the pod is ending"
		if c := nodeCondition(d, o); c != nil && c.Status == metav1.ConditionFalse {
			message += "; " + c.Message
		}
		return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, message))
	case pod.Spec.NodeName == "":
		return p.Settle(unscheduled(o))
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if engineRuns(pod) && !podshape.OwnsContainer(c.Name) {
			continue // planReadiness says so: the engine can be administered without it
		}
		if outcome, stop := containerProblem(pod, c); stop {
			if c.Name == ContainerEngine {
				outcome.Message += anotherImage(d, o) + keptImage(d, o, outcome.Reason)
			}
			return p.Settle(outcome)
		}
	}
	if !engineRuns(pod) || pod.Status.PodIP == "" {
		return p.Settle(
			conditions.InProgress(
				v1alpha1.ReasonPodPending,
				fmt.Sprintf("the pod starts on node %s%s%s", pod.Spec.NodeName, unboundClaims(o), sandbox(d, o)),
			),
		)
	}
	return true
}

// unscheduled says why the pod has no node: a volume that is not bound, or what the scheduler says.
func unscheduled(o Observed) conditions.Outcome {
	message := "the pod waits for a node"
	for _, c := range o.Pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			message += ": " + c.Message
		}
	}
	if claims := unboundClaims(o); claims != "" {
		return conditions.InProgress(v1alpha1.ReasonVolumePending, message+claims)
	}
	return conditions.InProgress(v1alpha1.ReasonPodPending, message)
}

func unboundClaims(o Observed) string {
	var names []string
	for role, c := range o.Claims {
		if c.Status.Phase == corev1.ClaimPending {
			names = append(names, string(role))
		}
	}
	if len(names) == 0 {
		return ""
	}
	order := roles()
	slices.SortFunc(names, func(a, b string) int {
		return slices.Index(order, placement.Role(a)) - slices.Index(order, placement.Role(b))
	})
	return "; volumes not bound yet: " + strings.Join(names, ", ")
}

// stuck tells that a container does not run and that nothing but another pod helps it for sure: it ends again and
// again, its image can't be had, or it can't be made. That is the word of the kubelet, which counts while its node is
// heard: one that is cut off may have started the container since. One that has ended once is not stuck: it begins
// again at once.
func stuck(o Observed, container string) bool {
	if o.Pod == nil || !nodeHeard(o) {
		return false
	}
	return slices.ContainsFunc(o.Pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		w := c.State.Waiting
		return c.Name == container && w != nil &&
			(w.Reason == crashLoop || cannotBeMade(w.Reason) || slices.Contains(imageReasons, w.Reason))
	})
}

// nodeHeard tells that the pod's node is there and that its kubelet is not silent: by the node's condition Ready, which
// is Unknown then.
func nodeHeard(o Observed) bool {
	return slices.ContainsFunc(o.Cluster.Nodes, func(n corev1.Node) bool {
		return n.Name == o.Pod.Spec.NodeName && !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
		})
	})
}

// crashLoop is the kubelet's reason of a container that has ended and was started again more than once.
const crashLoop = "CrashLoopBackOff"

// cannotBeMade tells of CreateContainerConfigError and its kin.
func cannotBeMade(reason string) bool {
	return strings.HasPrefix(reason, "Create") && strings.HasSuffix(reason, "Error")
}

var imageReasons = []string{
	"ErrImagePull",
	"ImagePullBackOff",
	"InvalidImageName",
	"ErrImageNeverPull",
	"ImageInspectError",
	"RegistryUnavailable",
}

// containerProblem says what keeps a container from running.
func containerProblem(pod *corev1.Pod, c corev1.ContainerStatus) (conditions.Outcome, bool) {
	waiting := c.State.Waiting
	switch {
	case waiting != nil && slices.Contains(imageReasons, waiting.Reason):
		return conditions.Stalled(v1alpha1.ReasonImagePullFailed, fmt.Sprintf(
			"image %s of container %s can't be had on node %s (%s): %s; correct the image, imagePullSecrets or imagePullPolicy",
			c.Image, c.Name, pod.Spec.NodeName, waiting.Reason, waiting.Message)), true
	case waiting != nil && cannotBeMade(waiting.Reason):
		return conditions.Stalled(
			v1alpha1.ReasonPodNotReady,
			fmt.Sprintf("container %s can't be made: %s", c.Name, waiting.Message),
		), true
	case c.Name == containerKeys && waiting != nil && waiting.Reason == crashLoop:
		return conditions.InProgress(v1alpha1.ReasonPodNotReady, fmt.Sprintf(
			"the certificate can't be copied for the engine%s; see `kubectl logs %s -c %s -p` at the site", lastEnd(c),
			pod.Name, c.Name)), true
	case podshape.OwnsContainer(c.Name):
	case waiting != nil && waiting.Reason == crashLoop:
		return conditions.InProgress(v1alpha1.ReasonPodNotReady, fmt.Sprintf(
			"container %s, which spec.pod declares, ends again and again%s; see `kubectl logs %s -c %s -p` at the site",
			c.Name, lastEnd(c), pod.Name, c.Name)), true
	}
	switch {
	case c.Name != ContainerEngine:
		return conditions.Outcome{}, false
	case waiting != nil && waiting.Reason == crashLoop, c.State.Terminated != nil:
		return conditions.InProgress(v1alpha1.ReasonPodNotReady, fmt.Sprintf(
			"the engine ends again and again%s; see `kubectl logs %s -c %s -p` at the site", lastEnd(c), pod.Name, c.Name)), true
	}
	return conditions.Outcome{}, false
}

func lastEnd(c corev1.ContainerStatus) string {
	end := c.LastTerminationState.Terminated
	if c.State.Terminated != nil {
		end = c.State.Terminated
	}
	if end == nil {
		return ""
	}
	detail := strings.TrimSpace(end.Message)
	if detail != "" {
		detail = ": " + detail
	}
	return fmt.Sprintf(", last with exit code %d (%s)%s", end.ExitCode, end.Reason, detail)
}
