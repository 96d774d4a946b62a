// SPDX-License-Identifier: Apache-2.0

// Package conditions sets the conditions Ready, Reconciling and Stalled of an object in one place, so that they never
// contradict each other, and makes events of changes only.
package conditions

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"geosql.dev/operator/api/v1alpha1"
)

// Progress says who acts next.
type Progress string

const (
	// Settled means that nothing remains to be done (or that nothing can be told).
	Settled Progress = "Settled"
	// Working means that the operator carries out steps, or waits for something that comes by itself.
	Working Progress = "Working"
	// Stuck means that nothing changes until a person acts; the message says how.
	Stuck Progress = "Stuck"
)

// Outcome is what a reconciliation found.
type Outcome struct {
	// Ready is the status of the condition Ready. Unknown is for what cannot be told; it is not False.
	Ready metav1.ConditionStatus
	// Reason of Ready, one of the constants of api/v1alpha1.
	Reason string
	// Message says what is so and, unless Ready is True, what to do or what is waited for.
	Message string
	// Progress decides Reconciling and Stalled.
	Progress Progress
	// Seen is the Reason that there would be had nobody suspended the object; empty where nobody has. Reconciling and
	// Stalled keep it: see v1alpha1.ReadyAsSeen.
	Seen string
}

// Ready is the outcome of an object that is as its spec says.
func Ready(reason, message string) Outcome {
	return Outcome{Ready: metav1.ConditionTrue, Reason: reason, Message: message, Progress: Settled}
}

// InProgress is the outcome of an object on which the operator works.
func InProgress(reason, message string) Outcome {
	return Outcome{Ready: metav1.ConditionFalse, Reason: reason, Message: message, Progress: Working}
}

// Stalled is the outcome of an object that needs a person.
func Stalled(reason, message string) Outcome {
	return Outcome{Ready: metav1.ConditionFalse, Reason: reason, Message: message, Progress: Stuck}
}

// Unknown is the outcome when the world cannot be seen; the operator goes on looking.
func Unknown(reason, message string) Outcome {
	return Outcome{Ready: metav1.ConditionUnknown, Reason: reason, Message: message, Progress: Working}
}

// Change is a condition that differs from before.
type Change struct {
	// Old is nil when the condition is new.
	Old *metav1.Condition
	New metav1.Condition
}

// maxMessage is the limit of metav1.Condition's message.
const maxMessage = 32768

// Set writes the outcome into the status and returns the conditions whose status or reason changed. A message alone
// that changed is written and is no Change.
func Set(status *v1alpha1.StatusBase, generation int64, o Outcome) []Change {
	status.ObservedGeneration = generation
	boolean := func(b bool) metav1.ConditionStatus {
		if b {
			return metav1.ConditionTrue
		}
		return metav1.ConditionFalse
	}
	var changes []Change
	for _, c := range []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: o.Ready},
		{Type: v1alpha1.ConditionReconciling, Status: boolean(o.Progress == Working)},
		{Type: v1alpha1.ConditionStalled, Status: boolean(o.Progress == Stuck)},
	} {
		c.Reason, c.Message = o.Reason, o.Message
		if c.Type != v1alpha1.ConditionReady {
			c.Reason = cmp.Or(o.Seen, o.Reason)
		}
		if change := SetOne(status, generation, c); change != nil {
			changes = append(changes, *change)
		}
	}
	return changes
}

// SetOne writes one condition of a kind's own and returns the change, or nil when status and reason are as before.
func SetOne(status *v1alpha1.StatusBase, generation int64, c metav1.Condition) *Change {
	c.ObservedGeneration = generation
	c.Message = Shorten(c.Message, maxMessage)
	var old *metav1.Condition
	if found := meta.FindStatusCondition(status.Conditions, c.Type); found != nil {
		old = found.DeepCopy()
	}
	meta.SetStatusCondition(&status.Conditions, c)
	if old != nil && old.Status == c.Status && old.Reason == c.Reason {
		return nil
	}
	return &Change{Old: old, New: *meta.FindStatusCondition(status.Conditions, c.Type)}
}

// Emit records one event for the change of Ready, if there is one, as Normal when it is True or work goes on, else as
// Warning. Reconciling and Stalled say the same in other words and make no events of their own; the types of a kind's
// own do, as Warning when they say that something is not as it should be, or that this is not known.
func Emit(recorder events.EventRecorder, obj runtime.Object, changes []Change) {
	for _, c := range changes {
		kind := corev1.EventTypeNormal
		switch bad := c.New.Status == badStatus(c.New.Type); {
		case c.New.Type == v1alpha1.ConditionReconciling || c.New.Type == v1alpha1.ConditionStalled:
			continue
		case c.New.Status == metav1.ConditionUnknown,
			bad && c.New.Type == v1alpha1.ConditionReady && stalled(changes),
			bad && c.New.Type != v1alpha1.ConditionReady && !goesOn(c.New):
			kind = corev1.EventTypeWarning
		}
		// The events API refuses notes over 1 kB.
		recorder.Eventf(obj, nil, kind, c.New.Reason, "Reconcile", "%s", Shorten(c.New.Message, 1000))
	}
}

// goesOn tells of a condition that says of work that it goes on by itself, or when somebody wants it to: a restart that
// waits for its turn, an update for its hour, volumes that grow, mirrors that were cleaned.
func goesOn(c metav1.Condition) bool {
	return c.Type == v1alpha1.ConditionRestartPending || c.Type == v1alpha1.ConditionStagingCleaned ||
		c.Type == v1alpha1.ConditionImageCurrent && (c.Reason == v1alpha1.ReasonUpdating ||
			c.Reason == v1alpha1.ReasonUpdateAwaitsRequest || c.Reason == v1alpha1.ReasonUpdateAwaitsWindow) ||
		c.Type == v1alpha1.ConditionVolumesResizing && c.Reason == v1alpha1.ReasonVolumesGrowing
}

// GoodStatus is what a condition of a type says when all is well.
func GoodStatus(conditionType string) metav1.ConditionStatus {
	switch conditionType {
	case v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionDegraded,
		v1alpha1.ConditionRestartPending, v1alpha1.ConditionElectionsPaused, v1alpha1.ConditionVolumesResizing,
		v1alpha1.ConditionVolumesFilling, v1alpha1.ConditionStagingFilling, v1alpha1.ConditionStagingCleaned,
		v1alpha1.ConditionStagingBlocked,
		v1alpha1.ConditionLinkSlowerThanDeclared, v1alpha1.ConditionWindowTooSmall:
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}

func badStatus(conditionType string) metav1.ConditionStatus {
	if GoodStatus(conditionType) == metav1.ConditionTrue {
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}

func stalled(changes []Change) bool {
	for _, c := range changes {
		if c.New.Type == v1alpha1.ConditionStalled && c.New.Status == metav1.ConditionTrue {
			return true
		}
	}
	return false
}
