// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	own "geosql.dev/operator/internal/version"
)

// leastMemory is what SQL Server needs of a machine (sql-server-linux-setup, "System requirements").
var leastMemory = resource.MustParse("2000M")

// judge says what was found in a cluster. A cluster that does not answer has that one finding.
func judge(c cluster) []Finding {
	f := &findings{cluster: c.name}
	if c.answer.err != nil {
		f.problem("answer", "name the cluster's context as its administrator; from here its API server must be reached",
			"%v", c.answer.err)
		return f.list
	}
	if c.uid.err != nil && !c.isHub {
		f.unknown("cluster", c.uid.err)
	}
	c.judgeVersion(f)
	c.judgeManager(f)
	if !c.serves() && !c.isHub {
		f.add(Unknown, "namespace", "say with --namespaces in which servers are to run",
			"nobody has said in which namespaces servers are to run: nothing else was looked at")
	}
	c.judgeRights(f)
	if c.serves() {
		c.judgeNodes(f)
		c.judgeStorage(f)
		c.judgeNamespaces(f)
		c.judgeWebhooks(f)
		c.judgePolicies(f)
		c.judgeChaos(f)
	}
	return f.list
}

// serves tells that servers may run in the cluster; of a hub that is no site they may not.
func (c cluster) serves() bool { return len(c.site.AllowedNamespaces) > 0 }

func (c cluster) judgeVersion(f *findings) {
	a := c.answer.is
	is, err := utilversion.ParseGeneric(a.version)
	switch {
	case err != nil:
		f.unknown("version", fmt.Errorf("%q is no version of Kubernetes", a.version))
	case is.LessThan(utilversion.MustParseGeneric(own.MinKubernetes)):
		f.problem("version", "upgrade the cluster", "Kubernetes %s; %s or later is needed", a.version, own.MinKubernetes)
	default:
		f.ok("version", "Kubernetes %s, %s from here", a.version, a.roundTrip.Round(100*time.Microsecond))
	}
}

// judgeClocks compares the clocks of two API servers, by the machine that asked both.
func judgeClocks(hub, member cluster) []Finding {
	f := &findings{cluster: member.name}
	if hub.answer.err != nil || member.answer.err != nil || !hub.answer.is.compared || !member.answer.is.compared {
		f.unknown("clock", fmt.Errorf("the clocks of %s and of the hub could not be compared", member.name))
		return f.list
	}
	a, b := member.answer.is.clock, hub.answer.is.clock
	apart := sites.ClockDifference{Least: a.Least - b.Most, Most: a.Most - b.Least}.Apart()
	if apart.Abs() > credentials.MaxClockDifference {
		way := "ahead of"
		if apart < 0 {
			way = "behind"
		}
		f.problem("clock", "set the clocks of the control planes' nodes, by NTP",
			"its API server's clock is %s %s the hub's; certificates are issued within %s",
			apart.Abs().Round(time.Second), way, credentials.MaxClockDifference)
		return f.list
	}
	f.ok("clock", "as the hub's, %s apart at least", apart.Abs().Round(time.Second))
	return f.list
}

func (c cluster) judgeManager(f *findings) {
	if !c.isHub {
		return
	}
	d, err := c.manager.is, c.manager.err
	switch {
	case err != nil:
		f.unknown("manager", err)
	case d == nil:
		f.problem("manager", "install the chart geosql-operator there, or say --operator-namespace",
			"namespace %s has no Deployment %s", c.operator, managerName)
	case d.Status.AvailableReplicas == 0:
		f.problem("manager", fmt.Sprintf("see kubectl -n %s get pods,events", c.operator),
			"none of its %d pods is available", d.Status.Replicas)
	default:
		f.ok("manager", "%d available", d.Status.AvailableReplicas)
	}
}

func (c cluster) judgeRights(f *findings) {
	r, again := c.rights.is, "run kubectl geosql site join "+c.name+" again as an administrator"
	switch {
	case !c.serves():
	case c.rights.err != nil:
		f.unknown("rights", c.rights.err)
	case c.joined && len(r.missing) > 0:
		f.problem("rights", again, "the manager lacks: %s", strings.Join(r.missing, ", "))
	case c.joined && len(r.other) > 0:
		f.warn("rights", again, "another release, or somebody, gave the manager other rights than this one does: %s",
			strings.Join(r.other, ", "))
	case c.joined:
		f.ok("rights", "the manager has those of this release")
	case len(r.missing) > 0:
		f.problem("rights", "join as an administrator (ClusterRole cluster-admin)", "you may not: %s",
			strings.Join(r.missing, ", "))
	case !r.administrator && !r.gives:
		f.warn("rights", "join as an administrator (ClusterRole cluster-admin), or with escalate and bind on roles and "+
			"clusterroles", "you may give no rights that you do not have yourself")
	default:
		f.ok("rights", "you may join it")
	}
}

func (c cluster) judgeNodes(f *findings) {
	if c.nodes.err != nil {
		f.unknown("nodes", c.nodes.err)
		return
	}
	var fit, tainted []string
	unfit := map[string]int{}
	for i := range c.nodes.is {
		node := &c.nodes.is[i]
		switch why := nodeUnfit(node); {
		case why != "":
			unfit[why]++
		case slices.ContainsFunc(node.Spec.Taints, keepsOut):
			tainted = append(tainted, node.Name)
		default:
			fit = append(fit, node.Name)
		}
	}
	switch {
	case len(fit) == 0 && len(tainted) > 0:
		f.warn("nodes", "name the taints in spec.scheduling.tolerations of the servers",
			"all nodes that fit have taints: %s", strings.Join(tainted, ", "))
	case len(fit) == 0:
		f.problem("nodes", "add a node of amd64 with Linux and 2000 MB of memory or more for SQL Server",
			"no node fits: %s", counts(unfit))
	default:
		f.ok("nodes", "%d of %d fit", len(fit), len(c.nodes.is))
	}
}

// nodeUnfit says why no server can run on a node, whatever it tolerates; empty when one can.
func nodeUnfit(node *corev1.Node) string {
	info, memory := node.Status.NodeInfo, node.Status.Allocatable[corev1.ResourceMemory]
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case info.Architecture != "amd64" || info.OperatingSystem != "linux":
		return fmt.Sprintf("%s on %s", info.OperatingSystem, info.Architecture)
	case !ready:
		return "not ready"
	case node.Spec.Unschedulable:
		return "cordoned"
	case memory.Cmp(leastMemory) < 0:
		return "less than 2000 MB of memory"
	}
	return ""
}

func keepsOut(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }

func counts(of map[string]int) string {
	var parts []string
	for what, n := range of {
		parts = append(parts, fmt.Sprintf("%d %s", n, what))
	}
	if len(parts) == 0 {
		return "there is none"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// judgeWebhooks names what is asked about servers' pods in the namespaces and refuses them while it is silent. The
// operator's own are about its kinds alone.
func (c cluster) judgeWebhooks(f *findings) {
	if c.webhooks.err != nil {
		f.unknown("admission", c.webhooks.err)
		return
	}
	var found, perhaps []string
	for _, w := range c.webhooks.is {
		switch {
		case !w.required || !c.asked(w):
		case w.conditional:
			perhaps = append(perhaps, w.name+" of "+w.of)
		default:
			found = append(found, w.name+" of "+w.of)
		}
	}
	const change = "see that they let pods of servers through unchanged, or leave these namespaces out of them"
	list := func(names []string) string {
		slices.Sort(names)
		return strings.Join(slices.Compact(names), ", ")
	}
	if len(found) > 0 {
		f.warn("admission", change, "pods are refused while these do not answer, and by what they say: %s", list(found))
	}
	if len(perhaps) > 0 {
		f.add(Unknown, "admission", change, "whether these are asked about pods of servers their matchConditions decide: %s",
			list(perhaps))
	}
	if len(found)+len(perhaps) == 0 {
		f.ok("admission", "no webhook is needed for pods")
	}
}

// judgeChaos looks for the daemons of Chaos Mesh where drills are granted.
func (c cluster) judgeChaos(f *findings) {
	switch {
	case c.drills.err != nil:
		f.unknown("drills", c.drills.err)
		return
	case !c.drills.is:
		f.ok("drills", "not granted")
		return
	case c.daemons.err != nil:
		f.unknown("drills", c.daemons.err)
		return
	}
	at := slices.IndexFunc(c.daemons.is, func(d appsv1.DaemonSet) bool {
		return d.Namespace == sites.ChaosNamespace && d.Name == sites.ChaosDaemons
	})
	if at < 0 {
		f.warn("drills", "install Chaos Mesh there, in namespace "+sites.ChaosNamespace,
			"granted, and DaemonSet %s/%s is not there", sites.ChaosNamespace, sites.ChaosDaemons)
		return
	}
	s := c.daemons.is[at].Status
	if s.NumberReady < s.DesiredNumberScheduled {
		f.warn("drills", "see kubectl -n "+sites.ChaosNamespace+" get pods",
			"%d of %d daemons of Chaos Mesh are ready", s.NumberReady, s.DesiredNumberScheduled)
		return
	}
	f.ok("drills", "granted; Chaos Mesh is ready on %d nodes", s.NumberReady)
}
