// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Reasons of a kubelet's events about a pod that it does not start.
const (
	// sysctlForbidden: a sysctl of the pod is not safe, and the kubelet was not told to allow it. The pod is over then,
	// and its StatefulSet makes another one that fares no better; none of them is there for longer than a moment.
	sysctlForbidden = "SysctlForbidden"
	// sandboxFailed: what runs containers on the node did not make the pod's network, or did not set a sysctl in it, say.
	// The kubelet tries again for ever.
	sandboxFailed = "FailedCreatePodSandBox"
)

// Unstarted is why a kubelet does not start the pod; zero where nothing is known of it.
type Unstarted struct {
	// Reason is one of the two above, Message the kubelet's own words.
	Reason, Message string
}

// observeUnstarted reads why a pod with sysctls has not started: those are what a kubelet refuses after everybody else
// has taken the pod, and it tells that in events alone.
func (r *Reconciler) observeUnstarted(ctx context.Context, d Desired, o *Observed) error {
	set, pod := o.StatefulSet, o.Pod
	if set == nil || len(sysctlsOf(set.Spec.Template.Spec)) == 0 && (pod == nil || len(sysctlsOf(pod.Spec)) == 0) ||
		pod != nil && engineHasRun(pod) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var list corev1.EventList
	err := d.member.APIReader.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingFields{
		"involvedObject.kind": "Pod", "involvedObject.name": d.host(), "type": corev1.EventTypeWarning})
	if apierrors.IsForbidden(err) {
		// Without that right it stays unknown.
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the events of pod %s/%s at site %s: %w", set.Namespace, d.host(), d.member.Name(), err)
	}
	var uid types.UID
	if pod != nil {
		uid = pod.UID
	}
	o.Unstarted = unstarted(list.Items, uid, o.Now)
	return nil
}

// forbiddenSince is how long ago a kubelet may have refused a pod of the name last: another one is made within seconds.
const forbiddenSince = 30 * time.Second

// unstarted is what events say of a pod that has not started. A pod that was refused is followed by others with other
// UIDs; one whose sandbox can't be made stays, and events about others of its name say nothing of it.
func unstarted(events []corev1.Event, uid types.UID, now time.Time) Unstarted {
	of := func(reason string) []corev1.Event {
		return slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool {
			return e.Reason != reason || reason == sandboxFailed && (uid == "" || e.InvolvedObject.UID != uid) ||
				reason == sysctlForbidden && now.Sub(lastOf(e)) >= forbiddenSince
		})
	}
	for _, reason := range []string{sysctlForbidden, sandboxFailed} {
		if message := newestMessage(of(reason), now); message != "" {
			return Unstarted{Reason: reason, Message: message}
		}
	}
	return Unstarted{}
}

func lastOf(e corev1.Event) time.Time {
	if e.EventTime.After(e.LastTimestamp.Time) {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}

// refusedByKubelet is the outcome of a pod whose sysctls no kubelet takes.
func refusedByKubelet(d Desired, o Observed) conditions.Outcome {
	return conditions.Stalled(v1alpha1.ReasonPodRefused, fmt.Sprintf(
		"a kubelet of site %s does not take the pod's sysctls: %s. spec.pod.securityContext.sysctls may have safe ones, and "+
			"those that all kubelets there allow (--allowed-unsafe-sysctls); spec.network.tuning: None takes %s and %s away",
		d.Server.Spec.Site, o.Unstarted.Message, receiveMemory, sendMemory))
}

// sandbox says what keeps the pod from starting on its node, to be added to a message; empty where nothing is known.
func sandbox(d Desired, o Observed) string {
	if o.Unstarted.Reason != sandboxFailed {
		return ""
	}
	text := "; its kubelet has said: " + o.Unstarted.Message
	if hasBuffers(d, o.Pod.Spec) {
		text += fmt.Sprintf(". If the node sets no %s and %s, spec.network.tuning: None takes them away", receiveMemory,
			sendMemory)
	}
	return text
}
