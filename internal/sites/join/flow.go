// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/sites"
)

// flowName is that of the FlowSchema, and of its PriorityLevelConfiguration, by which requests about Leases do not wait
// behind those of everybody else.
const flowName = "geosql-votes"

const (
	// flowShares of an API server's concurrency are as many as Kubernetes gives its own leader elections: with its own
	// levels 10 of 255.
	flowShares = 10
	// flowPrecedence is before that of all service accounts (9000) and behind that of Kubernetes' own elections (100).
	flowPrecedence = 500
)

// flow keeps the renewal of votes apart from the rest of an API server's work: without it they share a priority level
// with every pod that has an account, and a vote that cannot be renewed in time stops its group. Within the level each
// account has a queue of its own, so that none shuts out another.
func (r *Request) flow() []client.Object {
	namespaces := slices.Clone(r.Spec.AllowedNamespaces)
	if !slices.Contains(namespaces, r.OperatorNamespace) {
		namespaces = append(namespaces, r.OperatorNamespace)
	}
	slices.Sort(namespaces)
	return []client.Object{
		&flowcontrolv1.PriorityLevelConfiguration{
			ObjectMeta: r.meta("", flowName),
			Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
				Type: flowcontrolv1.PriorityLevelEnablementLimited,
				Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
					NominalConcurrencyShares: ptr.To[int32](flowShares),
					LimitResponse: flowcontrolv1.LimitResponse{
						Type: flowcontrolv1.LimitResponseTypeQueue,
						Queuing: &flowcontrolv1.QueuingConfiguration{
							Queues: 64, HandSize: 6, QueueLengthLimit: 50},
					},
				},
			},
		},
		&flowcontrolv1.FlowSchema{
			ObjectMeta: r.meta("", flowName),
			Spec: flowcontrolv1.FlowSchemaSpec{
				PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowName},
				MatchingPrecedence:         flowPrecedence,
				DistinguisherMethod: &flowcontrolv1.FlowDistinguisherMethod{
					Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
				Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
					Subjects: r.renewers(),
					ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
						APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
						Verbs: []string{"get", "update", "patch"}, Namespaces: namespaces,
					}},
				}},
			},
		},
	}
}

// renewers are who renews Leases: each group's agents have an account of their own, in the group's namespace; the
// manager and the site's process have theirs in the operator's.
func (r *Request) renewers() []flowcontrolv1.Subject {
	var subjects []flowcontrolv1.Subject
	for _, ns := range slices.Sorted(slices.Values(r.Spec.AllowedNamespaces)) {
		// kubernetes.io/docs/reference/access-authn-authz/authentication, "Service account tokens"
		subjects = append(subjects, flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup,
			Group: &flowcontrolv1.GroupSubject{Name: "system:serviceaccounts:" + ns}})
	}
	for _, account := range []string{sites.Account, sites.SiteAccount} {
		subjects = append(subjects, flowcontrolv1.Subject{Kind: rbacv1.ServiceAccountKind,
			ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: r.OperatorNamespace, Name: account}})
	}
	return subjects
}
