// SPDX-License-Identifier: Apache-2.0

package join

import (
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// policyName is that of the admission policy at a site.
const policyName = "geosql-operator-site"

// Policy bounds at a site what rights cannot: whose tokens the manager's account makes, what pods it runs, as whom, and
// whose accounts, roles and pods it touches. Whoever has its token gets no other account of an allowed namespace by it,
// and no token that outlives its revocation. namespace is the operator's; apart says that the account has there nothing
// but its tokens.
func Policy(meta metav1.ObjectMeta, namespace string, apart bool) []client.Object {
	meta.Name, meta.Namespace = policyName, ""
	type operation = admissionv1.OperationType
	rule := func(group string, resources []string, operations ...operation) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: operations,
			Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources,
				Scope: ptr.To(admissionv1.AllScopes)},
		}}
	}
	const create, update, remove = admissionv1.Create, admissionv1.Update, admissionv1.Delete
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "the-managers-account",
				Expression: fmt.Sprintf("request.userInfo.username == 'system:serviceaccount:%s:%s'", namespace, sites.Account),
			}},
			MatchConstraints: matching(
				rule("", []string{"serviceaccounts/token"}, create),
				rule("", []string{"serviceaccounts", "pods"}, create, update, remove),
				rule("", []string{"secrets"}, create, update),
				rule("apps", []string{"statefulsets"}, create, update, remove),
				rule("rbac.authorization.k8s.io", []string{"roles", "rolebindings"}, create, update, remove),
			),
			Variables:   policyVariables(),
			Validations: policyValidations(namespace, apart),
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta,
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policyName,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}},
	}
}

// matching says what API servers would fill in, too: they own the constraints as one field, and whoever else applies
// them without the defaults would be told of a conflict.
func matching(rules ...admissionv1.NamedRuleWithOperations) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{ResourceRules: rules, MatchPolicy: ptr.To(admissionv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}}
}

func policyVariables() []admissionv1.Variable {
	own := func(object string) string {
		return fmt.Sprintf("%s.metadata.?labels[?'%s'].orValue('') == '%s'", object, v1alpha1.LabelManagedBy,
			v1alpha1.ManagedBy)
	}
	return []admissionv1.Variable{
		{Name: "newIsOwn", Expression: "request.operation == 'DELETE' ? true : " + own("object")},
		{Name: "oldIsOwn", Expression: "request.operation == 'CREATE' ? true : " + own("oldObject")},
		{Name: "runs", Expression: "request.resource.resource == 'statefulsets' && request.operation != 'DELETE' || " +
			"request.resource.resource == 'pods' && request.operation == 'CREATE'"},
		{Name: "spec", Expression: "request.resource.resource == 'pods' ? object.spec : object.spec.template.spec"},
		{Name: "containers", Expression: "variables.spec.containers + variables.spec.?initContainers.orValue([])"},
		{Name: "volumes", Expression: "variables.spec.?volumes.orValue([])"},
	}
}

func policyValidations(namespace string, apart bool) []admissionv1.Validation {
	forbidden := func(message string, expression ...string) admissionv1.Validation {
		return admissionv1.Validation{Expression: strings.Join(expression, ""), Message: message,
			Reason: ptr.To(metav1.StatusReasonForbidden)}
	}
	validations := []admissionv1.Validation{
		forbidden("the operator changes and deletes only accounts, roles, pods and StatefulSets with its own label",
			"request.resource.resource == 'secrets' || request.?subResource.orValue('') == 'token' || ",
			"variables.newIsOwn && variables.oldIsOwn"),
		forbidden("the operator makes tokens only for the accounts of votes and of the sites' processes, and for itself, "+
			"bound to a Secret; they last 30 days at most",
			"request.?subResource.orValue('') != 'token' || ",
			fmt.Sprintf("object.spec.expirationSeconds <= %d && (", int(sites.MaxTokenLife/time.Second)),
			fmt.Sprintf("request.name == '%s' || request.name.startsWith('%s') || ", orders.PeerAccount,
				orders.VoteAccount("")),
			fmt.Sprintf("request.namespace == '%s' && request.name == '%s' && ", namespace, sites.Account),
			"object.spec.?boundObjectRef.?kind.orValue('') == 'Secret')"),
		forbidden("a Secret of this type would hold a token of an account for good",
			"request.resource.resource != 'secrets' || ",
			fmt.Sprintf("object.?type.orValue('') != '%s'", corev1.SecretTypeServiceAccountToken)),
		forbidden("the operator runs pods of the restricted profile alone, and none with a folder of the node",
			"!variables.runs || ",
			"!variables.spec.?hostNetwork.orValue(false) && !variables.spec.?hostPID.orValue(false) && ",
			"!variables.spec.?hostIPC.orValue(false) && ",
			"variables.volumes.all(v, !has(v.hostPath)) && variables.containers.all(c, ",
			"c.?securityContext.?allowPrivilegeEscalation.orValue(true) == false && ",
			"!c.?securityContext.?privileged.orValue(false) && ",
			"c.?securityContext.?capabilities.?drop.orValue([]).exists(x, x == 'ALL') && ",
			"c.?securityContext.?capabilities.?add.orValue([]).all(x, x == 'NET_BIND_SERVICE') && ",
			"c.?securityContext.?runAsNonRoot.orValue(variables.spec.?securityContext.?runAsNonRoot.orValue(false)))"),
		forbidden("a StatefulSet runs as the account of its own server, and other pods have no account's token",
			"!variables.runs || (request.resource.resource == 'statefulsets' ? ",
			fmt.Sprintf("variables.spec.?serviceAccountName.orValue('') == object.metadata.name + '%s' : ",
				credentials.OrdersName("")),
			"variables.spec.?automountServiceAccountToken.orValue(true) == false && variables.volumes.all(v, ",
			"v.?projected.?sources.orValue([]).all(s, !has(s.serviceAccountToken))))"),
		forbidden("the operator gives rights to accounts of the same namespace alone",
			"request.resource.resource != 'rolebindings' || request.operation == 'DELETE' || ",
			"object.?subjects.orValue([]).all(s, ",
			"s.kind == 'ServiceAccount' && s.?namespace.orValue('') == request.namespace)"),
	}
	if apart {
		validations = append(validations, forbidden(
			"in this namespace the operator makes nothing but what its tokens are bound to",
			"request.resource.resource != 'secrets' || request.operation != 'CREATE' || ",
			fmt.Sprintf("request.namespace != '%s' || request.name in ['%s']", namespace,
				strings.Join(sites.TokenSecrets(), "', '"))))
	}
	return validations
}

// policy of the site that is joined. In the hub the account is the manager's own, which has more to do in its
// namespace.
func (r *Request) policy() []client.Object {
	apart := r.Member != nil
	for _, ns := range r.Spec.AllowedNamespaces {
		apart = apart && ns != r.OperatorNamespace
	}
	return Policy(r.meta("", policyName), r.OperatorNamespace, apart)
}
