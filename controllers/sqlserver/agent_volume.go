// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/links"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// stateTimeout bounds the question how the sidecar's promises are kept.
const stateTimeout = 5 * time.Second

// holdBackAgentVolume leaves the agent's volume out for a server that was made without one, while no node is known that
// could take its pod with it: a pod that a node lost is not to wait for a volume that its engine does not need. Its
// promises stay on the data volume meanwhile. A volume of a class that binds at once may be made where the data are
// not: its claim comes first, and the pod has it once it is bound to one that is within reach.
func holdBackAgentVolume(d Desired, o Observed) Desired {
	if o.StatefulSet == nil || hasAgentVolume(o.StatefulSet.Spec.Template.Spec) {
		return d
	}
	decision, err := decide(d, o)
	class, name := decision.Claims[placement.RoleAgent], claimName(d.Server.Name, placement.RoleAgent)
	switch {
	case err != nil && o.Claims[placement.RoleAgent] != nil:
		d.agentVolumeHeldBack = fmt.Errorf("with the volume no node could take the pod: %w. If it is bound out of reach, "+
			"delete the claim %s", err, name)
	case err != nil:
		d.agentVolumeHeldBack = fmt.Errorf("with the volume no node could take the pod: %w", err)
	case o.Bound[placement.RoleAgent] == nil && !waitsForPod(class, o.Cluster.Classes):
		all := d.volumes()
		if i := slices.IndexFunc(all, isAgents); i >= 0 {
			d.agentClaim = &all[i]
			d.agentClaim.class = class
			d.agentVolumeHeldBack = fmt.Errorf("claim %s of class %s is not bound yet, and binds at once "+
				"(volumeBindingMode): only then it is known which nodes reach the volume", name, class)
		}
	}
	return d
}

func isAgents(v volume) bool { return v.role == placement.RoleAgent }

// waitsForPod says whether volumes of a class are made where the pod is.
func waitsForPod(class string, classes []storagev1.StorageClass) bool {
	return slices.ContainsFunc(classes, func(c storagev1.StorageClass) bool {
		return c.Name == class && c.VolumeBindingMode != nil &&
			*c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	})
}

func hasAgentVolume(spec corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == volumeOf(placement.RoleAgent) })
}

// awaitsAgentVolume tells of a pod that was started before its agent had a volume of its own. It gets it with its next
// start, and is not restarted for it.
func awaitsAgentVolume(o Observed) bool {
	return o.Pod != nil && o.StatefulSet != nil && hasAgentVolume(o.StatefulSet.Spec.Template.Spec) &&
		!hasAgentVolume(o.Pod.Spec)
}

// sidecarAnswer is the status of a sidecar with the parts that a SQLServer reads.
type sidecarAnswer struct {
	agent.Status
	Parts struct {
		Links []links.Measured `json:"links"`
	} `json:"parts"`
}

// observeState asks the pod's sidecar how its promises are kept, how full the volumes are, what the pod's network has,
// and how far other sites are.
func (r *Reconciler) observeState(ctx context.Context, d Desired, o *Observed) {
	status, err := r.askSidecar(ctx, d, o)
	if err != nil {
		o.State = reconcile.NotRead[*agent.StateStatus](err)
		return
	}
	o.State, o.Rooms, o.TCP, o.Staging = reconcile.Read(status.State), status.Volumes, status.Network, status.Staging
	o.Measured = heard(status.Parts.Links, r.now())
}

// askSidecar is the status of the pod's sidecar; empty while there is none that could answer.
func (r *Reconciler) askSidecar(ctx context.Context, d Desired, o *Observed) (status sidecarAnswer, err error) {
	pod := o.Pod
	if pod == nil || pod.DeletionTimestamp != nil || pod.Status.PodIP == "" || !engineRuns(pod) {
		return status, nil
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	address := r.sidecar(d.Server.Namespace, d.name())
	text, err := agent.StatusOf(ctx, address, d.Server.Namespace, d.name(), o.SiteCertificate, o.Readers)
	if err != nil {
		return status, err
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return status, fmt.Errorf("read what the sidecar of %s says: %w", credentials.HostName(d.name()), err)
	}
	return status, nil
}

// promisesCondition says whether the server's agent can keep a promise, and where; nil while that is not known.
func promisesCondition(d Desired, o Observed) *metav1.Condition {
	state, err := o.State.Get()
	if err != nil || state == nil {
		return nil
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionPromisesKept, Status: metav1.ConditionTrue}
	held := holdBackAgentVolume(d, o).agentVolumeHeldBack
	switch {
	case !state.Writable:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonPromisesNotWritable
		c.Message = fmt.Sprintf("the agent's %s volume takes no promise: %s. No replica is promoted that needs one of this "+
			"server; make room there, or see why its storage does not answer",
			volumeName(state), cmp.Or(state.Message, "unknown"))
	case held != nil:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonAgentVolumeNotPlaced
		c.Message = fmt.Sprintf("promises stay on the data volume, which databases can fill, and the pod has no volume "+
			"of the agent's own: %v. A class is named in storage.agent, or in storageClasses.agent of the Site", held)
	case !state.OwnVolume:
		c.Reason = v1alpha1.ReasonPromisesOnDataVolume
		c.Message = "promises are kept on the data volume; with its next start the pod has a volume of the agent's own"
	default:
		c.Reason, c.Message = v1alpha1.ReasonPromisesOnOwnVolume, "promises are kept on a volume of the agent's own"
	}
	return c
}

func volumeName(s *agent.StateStatus) string {
	if s.OwnVolume {
		return "own"
	}
	return "data"
}
