// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// statusOwner is the field manager of a SQLServer's status; the names' condition has another.
const statusOwner = client.FieldOwner("geosql-operator-sqlserver")

// ownConditions are the conditions that this controller writes.
var ownConditions = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionRestartPending,
	v1alpha1.ConditionAdministered, v1alpha1.ConditionTempDBArranged, v1alpha1.ConditionNetworkRestricted,
	v1alpha1.ConditionPromisesKept, v1alpha1.ConditionNodeHeard, v1alpha1.ConditionVolumesResizing,
	v1alpha1.ConditionVolumesFilling, v1alpha1.ConditionImageCurrent, v1alpha1.ConditionNetworkTuned,
	v1alpha1.ConditionStagingFilling, v1alpha1.ConditionStagingCleaned, v1alpha1.ConditionStagingBlocked,
}

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	server := d.Server
	outcome := reconcile.Outcome(p.Outcome, failed)
	status := server.Status.DeepCopy()
	if server.DeletionTimestamp == nil {
		describe(status, d, o)
	}
	r.noteLinks(d, o)
	status.Announced = waits(p).Announced
	changes := conditions.Set(&status.StatusBase, server.Generation, outcome)
	if change := conditions.SetOne(&status.StatusBase, server.Generation, restartPending(p)); change != nil &&
		waits(p).Why != "" {
		changes = append(changes, *change)
	}
	for _, c := range conditionsBeside(d, o, failed) {
		if c == nil {
			continue
		}
		if change := conditions.SetOne(&status.StatusBase, server.Generation, *c); change != nil {
			changes = append(changes, *change)
		}
	}
	changes = append(changes, reportStaging(d, o, status)...)
	return r.reporter.Report(ctx, server, &server.Status, status, changes)
}

// conditionsBeside are those beside Ready that are known.
func conditionsBeside(d Desired, o Observed, failed error) []*metav1.Condition {
	all := []*metav1.Condition{administeredCondition(d, o), tempDBCondition(d, o, failed), promisesCondition(d, o)}
	if d.Server.DeletionTimestamp == nil {
		all = append(all, networkCondition(d, o, failed), nodeCondition(d, o), resizingCondition(d, o),
			fillingCondition(d, o), imageCondition(d, o), tunedCondition(d, o))
	}
	return all
}

// administeredCondition says whether the engine lets sa in; nil while that is not known.
func administeredCondition(d Desired, o Observed) *metav1.Condition {
	if !o.Engine.Asked || o.Engine.Err != nil && !mssql.Is(o.Engine.Err, mssql.LoginFailed) {
		return nil
	}
	if o.formerAdministrator() != "" {
		// Its password is being changed.
		return nil
	}
	if why := administrator(d, o); why != "" {
		return &metav1.Condition{
			Type:   v1alpha1.ConditionAdministered,
			Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonAdministratorShut,
			Message: why +
				". Until then logins, grants, certificates, new replicas and databases that are declared are not made; the " +
				"server serves",
		}
	}
	return &metav1.Condition{
		Type:    v1alpha1.ConditionAdministered,
		Status:  metav1.ConditionTrue,
		Reason:  v1alpha1.ReasonAdministratorUsable,
		Message: "the engine lets sa in",
	}
}

// tempDBCondition says whether the engine knows where the files of tempdb are to be; nil while that is not known, and
// while it is being told.
func tempDBCondition(d Desired, o Observed, failed error) *metav1.Condition {
	c := &metav1.Condition{Type: v1alpha1.ConditionTempDBArranged, Status: metav1.ConditionFalse}
	var refused *tempDBRefused
	switch {
	case !o.Engine.Asked || o.Engine.Err != nil || len(o.Engine.TempDB) == 0:
		return nil
	case len(tempDBSteps(d, o)) == 0:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonTempDBArranged
		c.Message = "the engine knows where the files of tempdb are to be"
	case administrator(d, o) != "":
		c.Reason = v1alpha1.ReasonAdministratorShut
		c.Message = "the files of tempdb stay where they are until the engine lets sa in"
	case errors.As(failed, &refused):
		c.Reason = v1alpha1.ReasonTempDBRefused
		c.Message = fmt.Sprintf("%v; it is tried again. The files of tempdb stay where they are meanwhile; the server "+
			"serves, and is restarted when something else asks for it", refused)
	default:
		return nil
	}
	return c
}

func restartPending(p reconcile.Plan) metav1.Condition {
	if waits(p).Why == "" {
		return metav1.Condition{Type: v1alpha1.ConditionRestartPending, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonUpToDate, Message: "nothing waits for the pod's next start"}
	}
	return metav1.Condition{Type: v1alpha1.ConditionRestartPending, Status: metav1.ConditionTrue,
		Reason: cmp.Or(waits(p).Reason, v1alpha1.ReasonRestartNeeded), Message: waits(p).Why}
}

// describe writes what was observed into the status. What could not be observed stays as it was last seen.
func describe(status *v1alpha1.SQLServerStatus, d Desired, o Observed) {
	status.ServerName = d.host()
	if o.Site != nil {
		return
	}
	status.Placement = describePlacement(d, o)
	status.Volumes = describeVolumes(status.Volumes, o)
	status.Tuning = describeTuning(status.Tuning, d, o)
	status.PodIP = ""
	if o.Pod != nil && o.Pod.DeletionTimestamp == nil {
		status.PodIP = o.Pod.Status.PodIP
		status.ImageID = imageID(o.Pod)
	}
	if certificate, err := credentials.ParseCertificate(o.SiteCertificate); err == nil {
		status.CertificateExpires = &metav1.Time{Time: certificate.Expires}
	}
	if o.Engine.Asked && o.Engine.Err == nil {
		status.Version, status.Engine = o.Engine.Instance.ProductVersion, o.Engine.Instance.Engine
		status.Image = imageOfPod(o.Pod).declared
		status.StartTime = &metav1.Time{Time: o.Engine.Instance.Started}
		status.Databases = ownDatabases(d, o)
	}
}

// imageID is what the kubelet says that the engine's container runs; empty before it has started.
func imageID(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == ContainerEngine {
			return c.ImageID
		}
	}
	return ""
}

func describePlacement(d Desired, o Observed) *v1alpha1.PlacementStatus {
	decision, err := decide(holdBackAgentVolume(d, o), o)
	status := &v1alpha1.PlacementStatus{Candidates: decision.Candidates, Reason: decision.Reason}
	if err != nil && status.Reason == "" {
		status.Reason = err.Error()
	}
	if len(status.Candidates) > maxCandidates {
		status.Candidates = status.Candidates[:maxCandidates]
	}
	if pod := o.Pod; pod != nil {
		status.Node = pod.Spec.NodeName
	}
	return status
}

// maxCandidates is how many nodes status.placement.candidates takes.
const maxCandidates = 256
