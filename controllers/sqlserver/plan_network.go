// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// policyMark is what the StatefulSet says of the server's NetworkPolicy: that there is one, until it is gone.
func policyMark(d Desired, o Observed) v1alpha1.NetworkPolicyMode {
	if o.Policy != nil && owned(d, o.Policy.Labels) {
		return v1alpha1.NetworkPolicyManaged
	}
	return policyMode(d, o)
}

// planNetwork makes the server's NetworkPolicy, before its pod, and opens it to whoever comes to be a peer. It takes
// nobody out: see planNetworkClosed. Nothing else depends on it.
func planNetwork(d Desired, o Observed, p *reconcile.Plan) bool {
	have := o.Policy
	switch {
	case o.PolicyDenied || have != nil && have.DeletionTimestamp != nil:
		return true
	case policyMode(d, o) == v1alpha1.NetworkPolicyNone:
		if have != nil && owned(d, have.Labels) {
			p.Beside(RemovePolicy{Name: have.Name, UID: have.UID}, "")
		}
		return true
	case have != nil && !owned(d, have.Labels):
		return p.Settle(foreign("NetworkPolicy", have.Name, d))
	}
	if have == nil && o.Pod != nil && (!o.Engine.Asked || o.Engine.Err != nil) {
		// The first one shuts out whoever it does not name, and it is the engine that knows of partners which nobody
		// declares.
		return true
	}
	rules, _ := ingress(d, o)
	want := stamp(networkPolicy(d, append(rules, extraRules(rules, have)...)))
	if why := drift(want, have); why != "" {
		p.Beside(ApplyObject{Object: want, Reason: why}, "")
	}
	return true
}

// planNetworkClosed takes out of the NetworkPolicy who is no peer any more. It comes once all else is as it should be:
// the engine answers and trusts nobody that is not let in.
func planNetworkClosed(d Desired, o Observed, p *reconcile.Plan) bool {
	have := o.Policy
	if o.PolicyDenied || have == nil || !owned(d, have.Labels) || have.DeletionTimestamp != nil ||
		policyMode(d, o) == v1alpha1.NetworkPolicyNone || slices.ContainsFunc(p.Aside, writesPolicy) {
		return true
	}
	rules, _ := ingress(d, o)
	if extra := extraRules(rules, have); len(extra) > 0 {
		p.Beside(ApplyObject{Object: stamp(networkPolicy(d, rules)), Reason: "some are peers or clients no more"}, "")
	}
	return true
}

func writesPolicy(s reconcile.Aside) bool {
	apply, is := s.Step.(ApplyObject)
	if !is {
		return false
	}
	_, is = apply.Object.(*networkingv1.NetworkPolicy)
	return is
}

// extraRules are the rules of a policy beyond those that are wanted.
func extraRules(
	wanted []networkingv1.NetworkPolicyIngressRule,
	have *networkingv1.NetworkPolicy,
) []networkingv1.NetworkPolicyIngressRule {
	if have == nil {
		return nil
	}
	known := map[string]bool{}
	for _, r := range wanted {
		known[hashOf(r)] = true
	}
	var extra []networkingv1.NetworkPolicyIngressRule
	for _, r := range have.Spec.Ingress {
		if key := hashOf(r); !known[key] {
			known[key] = true
			extra = append(extra, r)
		}
	}
	return extra
}
