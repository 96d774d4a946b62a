// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// imageUser is as whom a server's pod runs unless spec.pod.securityContext says otherwise.
const imageUser = 10001

// userRange is the annotation by which OpenShift says which users pods of a namespace have: FIRST/COUNT
// (docs.openshift.com, "Managing security context constraints").
const userRange = "openshift.io/sa.scc.uid-range"

// judgeNamespaces looks at the namespaces of the site, with their quotas and limits.
func (c cluster) judgeNamespaces(f *findings) {
	for _, name := range slices.Sorted(maps.Keys(c.namespaces)) {
		ns, before := c.namespaces[name], len(f.list)
		switch {
		case ns.err != nil:
			f.unknown("namespace", ns.err)
			continue
		case ns.is == nil && c.joined:
			f.problem("namespace", "run kubectl geosql site join "+c.name+" again, which makes it", "%s is not there", name)
			continue
		case ns.is == nil:
			f.ok("namespace", "%s is not there yet; joining makes it", name)
			continue
		case ns.is.DeletionTimestamp != nil:
			f.problem("namespace", "wait until it is gone, and join again", "%s is being deleted", name)
			continue
		}
		judgeUser(f, ns.is)
		c.judgeQuotas(f, name)
		judgeLimits(f, name, c.limits[name])
		judgeBalancers(f, name, c.balancers[name])
		if len(f.list) == before {
			f.ok("namespace", "%s", name)
		}
	}
}

// judgeUser looks whether OpenShift lets a pod run as the image's user.
func judgeUser(f *findings, ns *corev1.Namespace) {
	text, said := ns.Annotations[userRange]
	if !said {
		return
	}
	first, count, _ := strings.Cut(text, "/")
	from, err := strconv.ParseInt(first, 10, 64)
	size, unread := strconv.ParseInt(count, 10, 64)
	if err == nil && unread == nil && from <= imageUser && imageUser < from+size {
		return
	}
	f.warn("namespace", "give servers spec.pod.securityContext: {}, with which they run as a user of the namespace",
		"in %s OpenShift refuses pods of user %d: its users are %s", ns.Name, imageUser, text)
}

// judgeQuotas looks for what is used up of that which a server takes, and for what pods must say. Where the site is
// joined its servers may be what uses a quota up: they run on.
func (c cluster) judgeQuotas(f *findings, namespace string) {
	quotas := c.quotas[namespace]
	if quotas.err != nil {
		f.unknown("quota", quotas.err)
		return
	}
	for _, q := range quotas.is {
		if !ofServers(q.Spec) {
			continue
		}
		var full, demanded []string
		for name, hard := range q.Status.Hard {
			if used, counted := q.Status.Used[name]; counted && used.Cmp(hard) >= 0 && c.takes(name) {
				full = append(full, fmt.Sprintf("%s (%s)", name, hard.String()))
			}
			if computed[name] && !givenByDefault(c.limits[namespace].is, name) {
				demanded = append(demanded, string(name))
			}
		}
		slices.Sort(full)
		slices.Sort(demanded)
		if len(full) > 0 {
			level, change := Problem, "raise the quota, or use another namespace"
			if c.joined {
				level, change = Warning, "raise the quota before another server is declared there"
			}
			f.add(level, "quota", change, "ResourceQuota %s/%s is used up: %s", namespace, q.Name, strings.Join(full, ", "))
		}
		if len(demanded) > 0 {
			f.warn("quota", "give servers spec.resources and spec.agent.resources, or the namespace a LimitRange",
				"ResourceQuota %s/%s refuses pods that do not say %s", namespace, q.Name, strings.Join(demanded, ", "))
		}
	}
}

// computed are what a quota has every pod say (kubernetes.io/docs/concepts/policy/resource-quotas, "Compute Resource
// Quota").
var computed = map[corev1.ResourceName]bool{corev1.ResourceRequestsCPU: true, corev1.ResourceRequestsMemory: true,
	corev1.ResourceLimitsCPU: true, corev1.ResourceLimitsMemory: true, corev1.ResourceCPU: true,
	corev1.ResourceMemory: true}

// made are the kinds that the manager or a StatefulSet makes for a server, as quotas count them.
var made = []string{"pods", "persistentvolumeclaims", "services", "secrets", "configmaps", "serviceaccounts",
	"statefulsets.apps", "leases.coordination.k8s.io", "endpointslices.discovery.k8s.io",
	"networkpolicies.networking.k8s.io", "poddisruptionbudgets.policy", "roles.rbac.authorization.k8s.io",
	"rolebindings.rbac.authorization.k8s.io"}

// takes tells that a server takes something of what a quota bounds. A quota of nothing else forbids nothing of ours.
func (c cluster) takes(name corev1.ResourceName) bool {
	what := strings.TrimPrefix(string(name), "count/")
	if class, _, of := strings.Cut(what, ".storageclass.storage.k8s.io/"); of {
		return slices.Contains(slices.Collect(maps.Values(c.roles())), class)
	}
	exposure := c.site.Exposure.Type
	// A load balancer's Service has ports of nodes, too, unless somebody says otherwise.
	ported := exposure == v1alpha1.ExposureNodePort || exposure == v1alpha1.ExposureLoadBalancer
	return computed[name] || slices.Contains(made, what) || name == corev1.ResourceRequestsStorage ||
		name == corev1.ResourceServicesNodePorts && ported ||
		name == corev1.ResourceServicesLoadBalancers && exposure == v1alpha1.ExposureLoadBalancer
}

// ofServers tells that a quota is about pods of servers, too: they do not end by themselves, and their sidecars ask for
// memory. What has another scope, such as a class of priority, is not known to be.
func ofServers(q corev1.ResourceQuotaSpec) bool {
	about := func(scope corev1.ResourceQuotaScope) bool {
		return scope == corev1.ResourceQuotaScopeNotTerminating || scope == corev1.ResourceQuotaScopeNotBestEffort
	}
	if q.ScopeSelector != nil {
		for _, is := range q.ScopeSelector.MatchExpressions {
			if is.Operator != corev1.ScopeSelectorOpExists || !about(is.ScopeName) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(q.Scopes, func(s corev1.ResourceQuotaScope) bool { return !about(s) })
}

// givenByDefault tells that a LimitRange says for containers what a quota has them say.
func givenByDefault(ranges []corev1.LimitRange, name corev1.ResourceName) bool {
	what, limits := strings.CutPrefix(string(name), "limits.")
	what = strings.TrimPrefix(what, "requests.")
	return slices.ContainsFunc(ranges, func(l corev1.LimitRange) bool {
		return slices.ContainsFunc(l.Spec.Limits, func(item corev1.LimitRangeItem) bool {
			given := item.DefaultRequest
			if limits {
				given = item.Default
			}
			_, says := given[corev1.ResourceName(what)]
			return item.Type == corev1.LimitTypeContainer && says
		})
	})
}

// judgeLimits looks for a container's most memory that is less than SQL Server needs.
func judgeLimits(f *findings, namespace string, limits read[[]corev1.LimitRange]) {
	if limits.err != nil {
		f.unknown("limits", limits.err)
		return
	}
	for _, l := range limits.is {
		for _, item := range l.Spec.Limits {
			most, bounded := item.Max[corev1.ResourceMemory]
			if bounded && item.Type != corev1.LimitTypePersistentVolumeClaim && most.Cmp(leastMemory) < 0 {
				f.problem("limits", "raise max.memory, or use another namespace",
					"LimitRange %s/%s gives a %s %s of memory; SQL Server needs 2000 MB", namespace, l.Name,
					strings.ToLower(string(item.Type)), most.String())
			}
		}
	}
}
