// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
		judgeQuotas(f, name, c.quotas[name])
		judgeLimits(f, name, c.limits[name])
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

// judgeQuotas looks for what is used up, and for what pods must say.
func judgeQuotas(f *findings, namespace string, quotas read[[]corev1.ResourceQuota]) {
	if quotas.err != nil {
		f.unknown("quota", quotas.err)
		return
	}
	for _, q := range quotas.is {
		var full, demanded []string
		for name, hard := range q.Status.Hard {
			if used, counted := q.Status.Used[name]; counted && used.Cmp(hard) >= 0 {
				full = append(full, fmt.Sprintf("%s (%s)", name, hard.String()))
			}
			switch name {
			case corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU,
				corev1.ResourceLimitsMemory, corev1.ResourceCPU, corev1.ResourceMemory:
				demanded = append(demanded, string(name))
			}
		}
		slices.Sort(full)
		slices.Sort(demanded)
		if len(full) > 0 {
			f.problem("quota", "raise the quota, or use another namespace", "ResourceQuota %s/%s is used up: %s", namespace,
				q.Name, strings.Join(full, ", "))
		}
		if len(demanded) > 0 {
			f.warn("quota", "give servers spec.resources and spec.agent.resources, or the namespace a LimitRange",
				"ResourceQuota %s/%s refuses pods that do not say %s", namespace, q.Name, strings.Join(demanded, ", "))
		}
	}
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
