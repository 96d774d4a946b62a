// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
)

// outOfService is the taint by which a person tells Kubernetes that a node's machine is off: its pods are removed and
// their volumes detached without the kubelet's word
// (kubernetes.io/docs/concepts/cluster-administration/node-shutdown, "Non-graceful node shutdown handling").
const outOfService = "node.kubernetes.io/out-of-service"

// nodeCondition says whether the pod's node is heard, and if not, what a person may do about it and what that risks;
// nil while there is no pod on a node.
func nodeCondition(_ Desired, o Observed) *metav1.Condition {
	if o.Pod == nil || o.Pod.Spec.NodeName == "" {
		return nil
	}
	name := o.Pod.Spec.NodeName
	c := &metav1.Condition{Type: v1alpha1.ConditionNodeHeard, Status: metav1.ConditionFalse}
	at := slices.IndexFunc(o.Cluster.Nodes, func(n corev1.Node) bool { return n.Name == name })
	switch {
	case at < 0:
		c.Reason = v1alpha1.ReasonNodeGone
		c.Message = fmt.Sprintf("node %s is not of the cluster any more: Kubernetes removes the pod by itself. %s", name,
			whatComesBack(o))
	case declaredDead(o.Cluster.Nodes[at]):
		c.Reason = v1alpha1.ReasonNodeOutOfService
		c.Message = fmt.Sprintf("node %s has the taint %s: Kubernetes removes the pod and detaches its volumes. %s", name,
			outOfService, whatComesBack(o))
	case silentSince(o.Cluster.Nodes[at]) != nil:
		c.Reason = v1alpha1.ReasonNodeSilent
		c.Message = silentMessage(o, name, silentSince(o.Cluster.Nodes[at]).Time)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonNodeHeard
		c.Message = "the kubelet of node " + name + " is heard"
	}
	return c
}

func declaredDead(node corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == outOfService })
}

// silentSince is since when a node's kubelet has not been heard; nil while it is.
func silentSince(node corev1.Node) *metav1.Time {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
			return &c.LastTransitionTime
		}
	}
	return nil
}

// silentMessage is for a node that may be dead or only cut off: nobody but a person can tell.
func silentMessage(o Observed, node string, since time.Time) string {
	text := fmt.Sprintf("node %s has not been heard since %s. Its engine may still run, so that pod and volumes "+
		"stay with "+
		"it; it comes back with the node. %s", node, since.UTC().Format(time.RFC3339), whatComesBack(o))
	if len(pinned(o)) > 0 {
		return text
	}
	return text + fmt.Sprintf(". If its machine is off and stays off, tell Kubernetes: kubectl taint nodes %s "+
		"%s=nodeshutdown:NoExecute. Do that for a machine that is off alone, and take the taint away before it is started "+
		"again: where the machine still runs, two engines write to the same volumes and destroy the databases. The same "+
		"goes for a pod that is deleted by force (docs/runbooks/dead-node.md)", node, outOfService)
}

// whatComesBack says which volumes another node can reach.
func whatComesBack(o Observed) string {
	if roles := pinned(o); len(roles) > 0 {
		return fmt.Sprintf("The volumes %s are on that node alone: without it they are lost "+
			"(docs/runbooks/lost-volumes.md)", strings.Join(roles, ", "))
	}
	return "Other nodes reach all of its volumes, and the pod comes back on one of them"
}

// pinned are the roles of the volumes that no other node of the site reaches, in their order.
func pinned(o Observed) []string {
	var pinned []string
	for _, role := range roles() {
		v := o.Bound[role]
		if v != nil && !slices.ContainsFunc(o.Cluster.Nodes, func(n corev1.Node) bool {
			return n.Name != o.Pod.Spec.NodeName && placement.Reaches(v, &n)
		}) {
			pinned = append(pinned, string(role))
		}
	}
	return pinned
}
