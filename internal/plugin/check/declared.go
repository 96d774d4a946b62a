// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// checkSite is what the hub says of a Site.
const checkSite = "site"

// judgeSite says what the hub says of a Site.
func judgeSite(s *v1alpha1.Site) []Finding {
	f := &findings{cluster: s.Name}
	const check = checkSite
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case s.Spec.Lifecycle == v1alpha1.SiteLost:
		f.warn(check, "set spec.lifecycle to Active should it return", "declared lost")
		return f.list
	case ready == nil:
		f.unknown(check, errors.New("no manager has looked at it yet; does the operator run?"))
		return f.list
	case ready.ObservedGeneration < s.Generation:
		f.unknown(check, errors.New("the manager has not looked at its newest declaration yet"))
	case ready.Status != metav1.ConditionTrue:
		f.problem(check, "do what the message says; kubectl get site "+s.Name+" shows when it is done", "%s: %s",
			ready.Reason, ready.Message)
	default:
		f.ok(check, "%s%s", ready.Message, distance(s))
	}
	for _, c := range s.Status.Conditions {
		switch {
		case slices.Contains([]string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled},
			c.Type), c.Status == conditions.GoodStatus(c.Type):
		case c.Status == metav1.ConditionUnknown:
			f.unknown(check, fmt.Errorf("%s, %s: %s", c.Type, c.Reason, c.Message))
		default:
			f.warn(check, "do what the message says", "%s is %s, %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if s.Spec.KubeconfigSecretRef == nil && s.Spec.APIServer == "" {
		f.warn(check, "join it again with --kubeconfig-server URL",
			"nobody has said where the other sites reach the hub's API server, which a group needs that votes here")
	}
	return f.list
}

// judgeIdentity says that the cluster which was named is another one than the site's. A cluster that cannot be told
// from others is none.
func (o observed) judgeIdentity() []Finding {
	f := &findings{cluster: o.member.name}
	const check = "cluster"
	uid := o.member.uid.is
	switch {
	case uid == "":
		return nil
	case uid == o.hub.uid.is:
		f.problem(check, "name the context of the site's cluster, or say --hub for a site that is the hub",
			"it is the hub's own cluster")
		return f.list
	}
	for i := range o.sites.is {
		s := &o.sites.is[i]
		switch known := s.Cluster(); {
		case known == "":
		case s.Name == o.member.name && known != uid:
			f.problem(check, "name the context of the site's cluster, or join it with --new-cluster if it was made anew",
				"it is another one than the site's: its namespace kube-system has UID %s, the site's has %s", uid, known)
		case s.Name != o.member.name && known == uid && s.Spec.Lifecycle != v1alpha1.SiteLost:
			f.problem(check, "name the context of another cluster", "it is site %s", s.Name)
		}
	}
	return f.list
}

// distance is the round trip that the manager measured.
func distance(s *v1alpha1.Site) string {
	if s.Status.RoundTrip == nil {
		return ""
	}
	return fmt.Sprintf("; %s from the hub", s.Status.RoundTrip.Duration)
}
