// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// networkCondition says whom the network lets in; nil while that is not known.
func networkCondition(d Desired, o Observed, failed error) *metav1.Condition {
	if o.Site != nil {
		return nil
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionNetworkRestricted, Status: metav1.ConditionFalse}
	if unwritten := (*policyUnwritten)(nil); errors.As(failed, &unwritten) {
		c.Reason = v1alpha1.ReasonPolicyPending
		c.Message = fmt.Sprintf("%v; it is tried again. The server serves meanwhile", unwritten)
		return c
	}
	if policyMode(d, o) == v1alpha1.NetworkPolicyNone {
		c.Reason = v1alpha1.ReasonNotManaged
		c.Message = "networkPolicy is None: who may connect is for others to say. An earlier release began the server; set " +
			"spec.network.networkPolicy to Managed to close its mirroring endpoint and agent to all but its peers"
		if d.declaredNetwork().NetworkPolicy != "" {
			c.Message = "networkPolicy is None: who may connect is for others to say"
		}
		return c
	}
	rules, gaps := ingress(d, o)
	switch {
	case o.PolicyDenied:
		c.Reason = v1alpha1.ReasonPolicyPending
		c.Message = fmt.Sprintf("the credentials of site %s don't allow NetworkPolicies: run `kubectl geosql site join %s` "+
			"again. Until then every port is open", d.Server.Spec.Site, d.Server.Spec.Site)
	case o.Policy == nil || !owned(d, o.Policy.Labels) || drift(stamp(networkPolicy(d, rules)), o.Policy) != "":
		c.Reason = v1alpha1.ReasonPolicyPending
		c.Message = "the NetworkPolicy is being written; what it closes waits until the engine answers and trusts nobody else"
	case len(gaps) > 0:
		c.Reason = v1alpha1.ReasonPeersUnknown
		c.Message = openPorts(gaps)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonPeersOnly
		c.Message = "the mirroring endpoint and the agent are open to peers and the manager; port 1433 is open to everybody"
		if len(d.declaredNetwork().Clients) > 0 {
			c.Message = "the mirroring endpoint and the agent are open to peers and the manager, port 1433 to clients too"
		}
	}
	return c
}

func openPorts(gaps []gap) string {
	var open []string
	for _, g := range gaps {
		open = append(open, fmt.Sprintf("port %s is open to everybody while these are not declared: %s",
			g.port, strings.Join(g.missing, ", ")))
	}
	return strings.Join(open, "; ")
}
