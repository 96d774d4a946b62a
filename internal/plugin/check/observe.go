// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

// read is what was read, or why it was not.
type read[T any] struct {
	is  T
	err error
}

// answer is how an API server answers.
type answer struct {
	version string
	// roundTrip of a question from here, on a connection that is open.
	roundTrip time.Duration
	// clock of the API server against this machine's; compared is false when it told no time.
	clock    sites.ClockDifference
	compared bool
}

// cluster is one cluster as it was observed.
type cluster struct {
	// name of the site, or "hub".
	name string
	// site is what is declared, or is to be; joined tells that the Site is there.
	site   v1alpha1.SiteSpec
	joined bool
	// operator is the namespace of the operator's accounts. isHub tells that the manager runs there.
	operator string
	isHub    bool

	answer read[answer]
	// uid is that of the namespace kube-system, by which a cluster is known; empty when it is not there.
	uid        read[string]
	nodes      read[[]corev1.Node]
	classes    read[[]storagev1.StorageClass]
	daemons    read[[]appsv1.DaemonSet]
	namespaces map[string]read[*corev1.Namespace]
	quotas     map[string]read[[]corev1.ResourceQuota]
	limits     map[string]read[[]corev1.LimitRange]
	// balancers are the Services of type LoadBalancer of servers that are there, where the site is exposed so.
	balancers map[string]read[[]corev1.Service]
	webhooks  read[[]webhook]
	rights    read[rights]
	// drills tells that the manager has what drills need.
	drills read[bool]
	// manager is the operator's Deployment in the hub; nil when it is not there.
	manager read[*appsv1.Deployment]
}

// webhook is what may refuse or change pods and StatefulSets, in whatever namespace.
type webhook struct {
	// of is the configuration, by kind and name; name is the webhook's in it.
	of, name string
	// required tells that requests are refused while it does not answer.
	required bool
	// selector is of the namespace, objects of the pod or StatefulSet; nil for all.
	selector, objects *metav1.LabelSelector
	// conditional tells that expressions decide as well, which nobody evaluates here.
	conditional bool
}

// target is which cluster is looked at, and as what.
type target struct {
	name     string
	at       join.Cluster
	site     v1alpha1.SiteSpec
	joined   bool
	isHub    bool
	operator string
}

// observe reads a cluster within cli.ReadTimeout. One that does not answer is asked once.
func observe(parent context.Context, t target) cluster {
	ctx, cancel := context.WithTimeout(parent, cli.ReadTimeout)
	defer cancel()
	c := cluster{name: t.name, site: t.site, joined: t.joined, isHub: t.isHub, operator: t.operator}
	c.answer = got(ask(ctx, t.at.Config))
	if c.answer.err != nil {
		return c
	}
	c.read(ctx, t)
	return c
}

// read reads all that the API server has, each with why it could not be read.
func (c *cluster) read(ctx context.Context, t target) {
	from := t.at.Client
	c.uid = got(readUID(ctx, from))
	var nodes corev1.NodeList
	err := from.List(ctx, &nodes)
	c.nodes = got(nodes.Items, said("list the nodes", err))
	var classes storagev1.StorageClassList
	err = from.List(ctx, &classes)
	c.classes = got(classes.Items, said("list the storage classes", err))
	var daemons appsv1.DaemonSetList
	err = from.List(ctx, &daemons)
	c.daemons = got(daemons.Items, said("list the DaemonSets", err))
	c.webhooks = got(readWebhooks(ctx, from))
	c.namespaces = map[string]read[*corev1.Namespace]{}
	c.quotas, c.limits = map[string]read[[]corev1.ResourceQuota]{}, map[string]read[[]corev1.LimitRange]{}
	for _, ns := range t.site.AllowedNamespaces {
		c.namespaces[ns] = got(optional(ctx, from, &corev1.Namespace{}, "namespace", "", ns))
		var quotas corev1.ResourceQuotaList
		err = from.List(ctx, &quotas, client.InNamespace(ns))
		c.quotas[ns] = got(quotas.Items, said("list the ResourceQuotas of namespace "+ns, err))
		var limits corev1.LimitRangeList
		err = from.List(ctx, &limits, client.InNamespace(ns))
		c.limits[ns] = got(limits.Items, said("list the LimitRanges of namespace "+ns, err))
	}
	c.readBalancers(ctx, from)
	binding, err := optional(ctx, from, &rbacv1.ClusterRoleBinding{}, "ClusterRoleBinding", "", sites.DrillsRole)
	c.drills = got(binding != nil, err)
	c.rights = got(readRights(ctx, t, binding != nil))
	if t.isHub {
		c.manager = got(optional(ctx, from, &appsv1.Deployment{}, "Deployment", t.operator, managerName))
	}
}

// managerName is that of the manager's Deployment, which the chart makes.
const managerName = "geosql-operator"

func got[T any](is T, err error) read[T] { return read[T]{is, err} }

func said(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// optional reads an object into its place; nil when there is none.
func optional[T client.Object](
	ctx context.Context,
	from client.Reader,
	place T,
	kind, namespace, name string,
) (T, error) {
	var none T
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, place)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	return place, nil
}

func readUID(ctx context.Context, from client.Reader) (string, error) {
	system, err := optional(ctx, from, &corev1.Namespace{}, "namespace", "", metav1.NamespaceSystem)
	if err != nil || system == nil {
		return "", err
	}
	return string(system.UID), nil
}

// ask asks for the version twice: the first answer opens the connection, the second one is measured.
func ask(ctx context.Context, config *rest.Config) (answer, error) {
	clock := sites.NewClock()
	config = rest.CopyConfig(config)
	config.Timeout = cli.ReadTimeout
	config.Wrap(clock.Wrap)
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return answer{}, fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	var a answer
	for range 2 {
		began := time.Now()
		body, err := asking.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err != nil {
			return answer{}, fmt.Errorf("ask %s for its version: %w", config.Host, err)
		}
		a.roundTrip = time.Since(began)
		var info version.Info
		if err := json.Unmarshal(body, &info); err != nil {
			return answer{}, fmt.Errorf("%s does not speak like a Kubernetes API server: %w", config.Host, err)
		}
		a.version = info.GitVersion
	}
	a.clock, a.compared = clock.Difference(time.Now())
	return a, nil
}

// readWebhooks reads which webhooks are asked of pods or StatefulSets.
func readWebhooks(ctx context.Context, from client.Reader) ([]webhook, error) {
	var validating admissionv1.ValidatingWebhookConfigurationList
	if err := from.List(ctx, &validating); err != nil {
		return nil, fmt.Errorf("list the ValidatingWebhookConfigurations: %w", err)
	}
	var mutating admissionv1.MutatingWebhookConfigurationList
	if err := from.List(ctx, &mutating); err != nil {
		return nil, fmt.Errorf("list the MutatingWebhookConfigurations: %w", err)
	}
	var all []webhook
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			if ofPods(w.Rules) {
				all = append(all, webhook{of: "ValidatingWebhookConfiguration " + c.Name, name: w.Name,
					required: required(w.FailurePolicy), selector: w.NamespaceSelector, objects: w.ObjectSelector,
					conditional: len(w.MatchConditions) > 0})
			}
		}
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			if ofPods(w.Rules) {
				all = append(all, webhook{of: "MutatingWebhookConfiguration " + c.Name, name: w.Name,
					required: required(w.FailurePolicy), selector: w.NamespaceSelector, objects: w.ObjectSelector,
					conditional: len(w.MatchConditions) > 0})
			}
		}
	}
	return all, nil
}

// required is so unless the policy says otherwise (kubernetes.io/docs/reference/access-authn-authz/
// extensible-admission-controllers, "Failure policy").
func required(policy *admissionv1.FailurePolicyType) bool {
	return policy == nil || *policy == admissionv1.Fail
}

// ofPods tells that rules are about the making of pods or StatefulSets.
func ofPods(rules []admissionv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		making := slices.Contains(r.Operations, admissionv1.Create) ||
			slices.Contains(r.Operations, admissionv1.OperationAll)
		about := func(group, resource string) bool {
			return (slices.Contains(r.APIGroups, group) || slices.Contains(r.APIGroups, "*")) &&
				slices.ContainsFunc([]string{resource, "*", "*/*"},
					func(x string) bool { return slices.Contains(r.Resources, x) })
		}
		return making && (about("", "pods") || about("apps", "statefulsets"))
	})
}
