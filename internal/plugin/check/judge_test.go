// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

func fitNode() corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec:       corev1.NodeSpec{PodCIDR: "10.102.3.0/24"},
		Status: corev1.NodeStatus{
			NodeInfo:    corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux"},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")},
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}},
		},
	}
}

func fastClass() storagev1.StorageClass {
	return storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "block.csi.example",
		Parameters: map[string]string{"csi.storage.k8s.io/fstype": "xfs"}, AllowVolumeExpansion: ptr.To(true),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}
}

func daemon(namespace, name string, ready, wanted int32) appsv1.DaemonSet {
	return appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Status: appsv1.DaemonSetStatus{NumberReady: ready, DesiredNumberScheduled: wanted}}
}

// kindnet runs this image.
func kindnet(image string) appsv1.DaemonSet {
	d := daemon("kube-system", "kindnet", 1, 1)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "kindnet-cni", Image: image}}
	return d
}

func having(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: label, Operator: metav1.LabelSelectorOpExists}}}
}

// well is a joined site at which nothing is wrong.
func well() cluster {
	web := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"team": "shop"}}}
	return cluster{
		name: "quincy", joined: true, operator: sites.OperatorNamespace,
		site: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, SourceRanges: []string{"10.102.0.0/16"},
			StorageClasses: v1alpha1.VolumeClasses{Data: "fast", Log: "fast", TempDB: "fast", Backup: "fast"}},
		answer:     read[answer]{is: answer{version: "v1.36.1", compared: true}},
		nodes:      read[[]corev1.Node]{is: []corev1.Node{fitNode()}},
		classes:    read[[]storagev1.StorageClass]{is: []storagev1.StorageClass{fastClass()}},
		daemons:    read[[]appsv1.DaemonSet]{is: []appsv1.DaemonSet{daemon("kube-system", "cilium", 1, 1)}},
		namespaces: map[string]read[*corev1.Namespace]{"web": {is: web}},
		quotas:     map[string]read[[]corev1.ResourceQuota]{},
		limits:     map[string]read[[]corev1.LimitRange]{},
	}
}

// bad are the findings that are not ok.
func bad(all []Finding) []Finding {
	var list []Finding
	for _, f := range all {
		if f.Level != OK {
			list = append(list, f)
		}
	}
	return list
}

func quota(hard, used corev1.ResourceList, scopes ...corev1.ResourceQuotaScope) read[[]corev1.ResourceQuota] {
	return read[[]corev1.ResourceQuota]{is: []corev1.ResourceQuota{{ObjectMeta: metav1.ObjectMeta{Name: "q"},
		Spec:   corev1.ResourceQuotaSpec{Scopes: scopes},
		Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used}}}}
}

func limit(item corev1.LimitRangeItem) read[[]corev1.LimitRange] {
	return read[[]corev1.LimitRange]{is: []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "l"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}}}
}

// amounts are written NAME=QUANTITY.
func amounts(texts ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, text := range texts {
		name, amount, _ := strings.Cut(text, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return list
}

// Each finding comes from one fault in a cluster at which nothing is wrong otherwise, and says what to change.
func TestEachFaultIsFound(t *testing.T) {
	denied := errors.New("forbidden")
	for what, c := range map[string]struct {
		fault func(*cluster)
		check string
		level Level
		says  string
	}{
		"an API server that does not answer": {func(c *cluster) { c.answer.err = denied }, "answer", Problem, "forbidden"},
		"an old cluster": {func(c *cluster) { c.answer.is.version = "v1.30.9-gke.1" }, "version", Problem,
			"1.31 or later is needed"},
		"no version": {func(c *cluster) { c.answer.is.version = "newest" }, "version", Unknown, "no version of Kubernetes"},
		"roles that are missing": {func(c *cluster) { c.rights.is.missing = []string{"Role web/x"} }, "rights", Problem,
			"the manager lacks: Role web/x"},
		"roles of another release": {func(c *cluster) { c.rights.is.other = []string{"Role web/x"} }, "rights", Warning,
			"other rights"},
		"rights that cannot be read": {func(c *cluster) { c.rights.err = denied }, "rights", Unknown, "forbidden"},
		"a person without rights": {func(c *cluster) { c.joined, c.rights.is.missing = false, []string{"create roles"} },
			"rights", Problem, "you may not: create roles"},
		"a person who gives no rights": {func(c *cluster) { c.joined = false }, "rights", Warning, "you may give no rights"},
		"nodes of another architecture": {func(c *cluster) { c.nodes.is[0].Status.NodeInfo.Architecture = "arm64" },
			"nodes", Problem, "1 linux on arm64"},
		"a node that is not ready": {func(c *cluster) { c.nodes.is[0].Status.Conditions = nil }, "nodes", Problem,
			"1 not ready"},
		"a node that is cordoned": {func(c *cluster) { c.nodes.is[0].Spec.Unschedulable = true }, "nodes", Problem,
			"1 cordoned"},
		"a small node": {func(c *cluster) {
			c.nodes.is[0].Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("1Gi")
		}, "nodes", Problem, "less than 2000 MB"},
		"no node": {func(c *cluster) { c.nodes.is = nil }, "nodes", Problem, "there is none"},
		"nodes with taints": {func(c *cluster) {
			c.nodes.is[0].Spec.Taints = []corev1.Taint{{Key: "pool", Effect: corev1.TaintEffectNoSchedule}}
		}, "nodes", Warning, "have taints: n1"},
		"nodes that cannot be read": {func(c *cluster) { c.nodes.err = denied }, "nodes", Unknown, "forbidden"},
		"a class that is not there": {func(c *cluster) { c.site.StorageClasses.Log = "slow" }, "storage", Problem,
			"no class slow, which the site names for log; there are: fast"},
		"no default class": {func(c *cluster) { c.site.StorageClasses.Backup = "" }, "storage", Warning,
			"servers that name none for backup wait"},
		"a class of files": {func(c *cluster) { c.classes.is[0].Provisioner = "file.csi.azure.com" }, "storage", Problem,
			"of SMB"},
		"a class of NFS": {func(c *cluster) { c.classes.is[0].Provisioner = "nfs.csi.k8s.io" }, "storage", Warning,
			"of NFS"},
		"a file system that is not supported": {func(c *cluster) {
			c.classes.is[0].Parameters["csi.storage.k8s.io/fstype"] = "btrfs"
		}, "storage", Problem, "makes btrfs"},
		"volumes that cannot grow": {func(c *cluster) { c.classes.is[0].AllowVolumeExpansion = nil }, "storage", Warning,
			"cannot be made larger"},
		"volumes that do not wait for pods": {func(c *cluster) { c.classes.is[0].VolumeBindingMode = nil }, "storage",
			Warning, "may lie apart"},
		"classes that cannot be read": {func(c *cluster) { c.classes.err = denied }, "storage", Unknown, "forbidden"},
		"a namespace that is gone": {func(c *cluster) { c.namespaces["web"] = read[*corev1.Namespace]{} }, "namespace",
			Problem, "web is not there"},
		"a namespace that goes": {func(c *cluster) { c.namespaces["web"].is.DeletionTimestamp = &metav1.Time{} },
			"namespace", Problem, "web is being deleted"},
		"a namespace that cannot be read": {func(c *cluster) {
			c.namespaces["web"] = read[*corev1.Namespace]{err: denied}
		}, "namespace", Unknown, "forbidden"},
		"users of OpenShift": {func(c *cluster) {
			c.namespaces["web"].is.Annotations = map[string]string{userRange: "1000680000/10000"}
		}, "namespace", Warning, "refuses pods of user 10001"},
		"a quota that is used up before the join": {func(c *cluster) {
			c.joined, c.rights.is.administrator = false, true
			c.quotas["web"] = quota(amounts("pods=5"), amounts("pods=5"))
		}, "quota", Problem, "is used up: pods (5)"},
		"a quota that the site's servers use up": {func(c *cluster) {
			c.quotas["web"] = quota(amounts("pods=5"), amounts("pods=5"))
		}, "quota", Warning, "is used up: pods (5)"},
		"a quota of pods that go on": {func(c *cluster) {
			c.quotas["web"] = quota(amounts("pods=0"), amounts("pods=0"), corev1.ResourceQuotaScopeNotTerminating)
		}, "quota", Warning, "is used up: pods (0)"},
		"a quota of the site's class": {func(c *cluster) {
			c.quotas["web"] = quota(amounts("fast.storageclass.storage.k8s.io/requests.storage=5Gi"),
				amounts("fast.storageclass.storage.k8s.io/requests.storage=5Gi"))
		}, "quota", Warning, "requests.storage (5Gi)"},
		"a quota of ports that servers take": {func(c *cluster) {
			c.site.Exposure.Type = v1alpha1.ExposureNodePort
			c.quotas["web"] = quota(amounts("services.nodeports=0"), amounts("services.nodeports=0"))
		}, "quota", Warning, "services.nodeports (0)"},
		"a quota of load balancers that servers take": {func(c *cluster) {
			c.site.Exposure.Type = v1alpha1.ExposureLoadBalancer
			c.quotas["web"] = quota(amounts("services.loadbalancers=2"), amounts("services.loadbalancers=2"))
		}, "quota", Warning, "services.loadbalancers (2)"},
		"a Service that waits for its load balancer": {func(c *cluster) {
			waits := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "quisec-0-lb"}}
			waits.Spec.Type = corev1.ServiceTypeLoadBalancer
			c.balancers = map[string]read[[]corev1.Service]{"web": got([]corev1.Service{waits}, nil)}
		}, "load-balancers", Warning, "Service web/quisec-0-lb, made"},
		"Services that cannot be read": {func(c *cluster) {
			c.balancers = map[string]read[[]corev1.Service]{"web": got[[]corev1.Service](nil, errors.New("forbidden"))}
		}, "load-balancers", Unknown, "forbidden"},
		"a quota of counted kinds": {func(c *cluster) {
			c.quotas["web"] = quota(amounts("count/statefulsets.apps=2"), amounts("count/statefulsets.apps=2"))
		}, "quota", Warning, "count/statefulsets.apps (2)"},
		"a quota of which half is given": {func(c *cluster) {
			c.quotas["web"] = quota(amounts("limits.cpu=5", "requests.memory=8Gi"),
				amounts("limits.cpu=1", "requests.memory=1Gi"))
			c.limits["web"] = limit(corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: amounts("cpu=1")})
		}, "quota", Warning, "that do not say requests.memory"},
		"a quota that a limit of pods gives nothing for": {func(c *cluster) {
			c.quotas["web"] = quota(amounts("limits.cpu=5"), amounts("limits.cpu=1"))
			c.limits["web"] = limit(corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: amounts("cpu=9")})
		}, "quota", Warning, "that do not say limits.cpu"},
		"a quota that pods must meet": {func(c *cluster) {
			c.quotas["web"] = quota(amounts("limits.cpu=5"), amounts("limits.cpu=1"))
		}, "quota", Warning, "that do not say limits.cpu"},
		"quotas that cannot be read": {func(c *cluster) { c.quotas["web"] = read[[]corev1.ResourceQuota]{err: denied} },
			"quota", Unknown, "forbidden"},
		"a limit": {func(c *cluster) {
			c.limits["web"] = limit(corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Max: amounts("memory=1Gi")})
		}, "limits", Problem, "LimitRange web/l gives a container 1Gi"},
		"a webhook": {func(c *cluster) { c.webhooks.is = []webhook{{of: "X y", name: "w", required: true}} }, "admission",
			Warning, "w of X y"},
		"a webhook of pods with a label that servers have": {func(c *cluster) {
			c.webhooks.is = []webhook{{of: "X y", name: "w", required: true, objects: having(v1alpha1.LabelServer)}}
		}, "admission", Warning, "w of X y"},
		"a webhook of pods by a label whose value nobody knows": {func(c *cluster) {
			c.webhooks.is = []webhook{{of: "X y", name: "w", required: true, objects: &metav1.LabelSelector{
				MatchLabels: map[string]string{v1alpha1.LabelServer: "tukpub", v1alpha1.LabelTopology: "msdn",
					v1alpha1.LabelApp: v1alpha1.App}}}}
		}, "admission", Warning, "w of X y"},
		"a webhook with conditions": {func(c *cluster) {
			c.webhooks.is = []webhook{{of: "X y", name: "w", required: true, conditional: true}}
		}, "admission", Unknown, "matchConditions decide: w of X y"},
		"webhooks that cannot be read": {func(c *cluster) { c.webhooks.err = denied }, "admission", Unknown, "forbidden"},
		"a network without policies": {func(c *cluster) { c.daemons.is[0].Name = "kube-flannel-ds" }, "network-policies",
			Warning, "kube-flannel-ds does not enforce them"},
		"a kindnet before it enforced policies": {func(c *cluster) {
			c.daemons.is = []appsv1.DaemonSet{kindnet("docker.io/kindest/kindnetd:v20240513-cd2ac642")}
		}, "network-policies", Warning, "kindnet v20240513-cd2ac642 does not enforce them; from v20240813 on it does"},
		"a kindnet of its author before it enforced policies": {func(c *cluster) {
			c.daemons.is = []appsv1.DaemonSet{kindnet("ghcr.io/aojea/kindnetd:v1.2.9")}
		}, "network-policies", Warning, "kindnet v1.2.9 does not enforce them; from v1.3.0 on it does"},
		"a kindnet without a version": {func(c *cluster) {
			c.daemons.is = []appsv1.DaemonSet{kindnet("registry.example:5000/kindnetd@sha256:" + strings.Repeat("0", 64))}
		}, "network-policies", Warning, "whether it enforces them its version would tell, which its image does not name"},
		"a kindnet of somebody's version": {func(c *cluster) {
			c.daemons.is = []appsv1.DaemonSet{kindnet("registry.example:5000/kindnetd:stable")}
		}, "network-policies", Warning, "which its image does not name"},
		"a network that nobody knows": {func(c *cluster) { c.daemons.is = nil }, "network-policies", Unknown,
			"no DaemonSet tells"},
		"drills without Chaos Mesh": {func(c *cluster) { c.drills.is = true }, "drills", Warning, "is not there"},
		"daemons that are not ready": {func(c *cluster) {
			c.drills.is = true
			c.daemons.is = append(c.daemons.is, daemon(sites.ChaosNamespace, sites.ChaosDaemons, 1, 2))
		}, "drills", Warning, "1 of 2 daemons"},
		"drills that cannot be read": {func(c *cluster) { c.drills.err = denied }, "drills", Unknown, "forbidden"},
		"a hub without a manager":    {func(c *cluster) { c.isHub = true }, "manager", Problem, "no Deployment"},
		"a manager that does not run": {func(c *cluster) { c.isHub, c.manager.is = true, &appsv1.Deployment{} }, "manager",
			Problem, "is available"},
		"a manager that cannot be read": {func(c *cluster) { c.isHub, c.manager.err = true, denied }, "manager", Unknown,
			"forbidden"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			faulty := well()
			c.fault(&faulty)
			found := bad(judge(faulty))
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0]).To(And(HaveField("Cluster", "quincy"), HaveField("Check", c.check),
				HaveField("Level", c.level), HaveField("Says", ContainSubstring(c.says))))
			if c.level == Problem || c.level == Warning {
				g.Expect(found[0].Change).NotTo(BeEmpty())
			}
		})
	}
}

// What is as it should be is said, too, and is no fault.
func TestNothingIsFoundWhereNothingIsWrong(t *testing.T) {
	for what, change := range map[string]func(*cluster){
		"nothing": func(*cluster) {},
		"a default class": func(c *cluster) {
			c.site.StorageClasses = v1alpha1.VolumeClasses{}
			c.classes.is[0].Annotations = map[string]string{defaultClass: "true"}
		},
		"a site that is not joined yet": func(c *cluster) {
			c.joined, c.rights.is.administrator = false, true
			c.namespaces["web"] = read[*corev1.Namespace]{}
		},
		"one fit node of two": func(c *cluster) {
			c.nodes.is = append(c.nodes.is, corev1.Node{})
		},
		"a taint that is a preference": func(c *cluster) {
			c.nodes.is[0].Spec.Taints = []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectPreferNoSchedule}}
		},
		"webhooks of others": func(c *cluster) {
			elsewhere := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "billing"}}
			injected := &metav1.LabelSelector{MatchLabels: map[string]string{"sidecar.istio.io/inject": "true"}}
			but := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: v1alpha1.LabelServer, Operator: metav1.LabelSelectorOpDoesNotExist}}}
			another := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelManagedBy: "another"}}
			c.webhooks.is = []webhook{{name: "lenient"}, {name: "elsewhere", required: true, selector: elsewhere},
				{name: "others' pods", required: true, objects: injected, conditional: true},
				{name: "all but servers", required: true, objects: but},
				{name: "another operator's", required: true, objects: another}}
		},
		"a kindnet of kind 0.24": func(c *cluster) {
			c.daemons.is = []appsv1.DaemonSet{kindnet("docker.io/kindest/kindnetd:v20240813-c6f155d6")}
		},
		"a kindnet from a registry with a port, by its digest": func(c *cluster) {
			c.daemons.is = []appsv1.DaemonSet{kindnet("registry.example:5000/kindest/kindnetd:" +
				"v20251212-v0.29.0-alpha-105-g20ccfc88@sha256:" + strings.Repeat("0", 64))}
		},
		"a kindnet of its author": func(c *cluster) {
			c.daemons.is = []appsv1.DaemonSet{kindnet("ghcr.io/aojea/kindnetd:v1.8.5")}
		},
		"quotas that forbid what servers do not take": func(c *cluster) {
			none := amounts("services.loadbalancers=0", "services.nodeports=0", "count/jobs.batch=0",
				"slow.storageclass.storage.k8s.io/persistentvolumeclaims=0", "requests.nvidia.com/gpu=0")
			c.quotas["web"] = quota(none, none)
		},
		"a quota of pods that end": func(c *cluster) {
			c.quotas["web"] = quota(amounts("pods=0", "limits.cpu=0"), amounts("pods=0", "limits.cpu=0"),
				corev1.ResourceQuotaScopeTerminating)
		},
		"a quota of a class of priority": func(c *cluster) {
			c.quotas["web"] = quota(amounts("pods=0"), amounts("pods=0"))
			c.quotas["web"].is[0].Spec.ScopeSelector = &corev1.ScopeSelector{
				MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
					{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpExists}}}
		},
		"a quota that is met by defaults": func(c *cluster) {
			c.quotas["web"] = quota(amounts("limits.cpu=5", "requests.memory=8Gi", "cpu=4"), amounts("limits.cpu=1"))
			c.limits["web"] = limit(corev1.LimitRangeItem{Type: corev1.LimitTypeContainer,
				Default: amounts("cpu=1", "memory=4Gi"), DefaultRequest: amounts("cpu=1", "memory=3Gi")})
		},
		"users that OpenShift takes": func(c *cluster) {
			c.namespaces["web"].is.Annotations = map[string]string{userRange: "10000/10"}
		},
		"drills": func(c *cluster) {
			c.drills.is = true
			c.daemons.is = append(c.daemons.is, daemon(sites.ChaosNamespace, sites.ChaosDaemons, 2, 2))
		},
		"NFS of Azure is no SMB": func(c *cluster) { c.classes.is[0].Provisioner = "disk.csi.azure.com" },
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			c := well()
			change(&c)
			found := judge(c)
			g.Expect(bad(found)).To(BeEmpty())
			g.Expect(found).To(ContainElements(HaveField("Check", "version"), HaveField("Check", "rights"),
				HaveField("Check", "nodes"), HaveField("Check", "storage"), HaveField("Check", "namespace"),
				HaveField("Check", "admission"), HaveField("Check", "network-policies"), HaveField("Check", "drills")))
		})
	}
}

// Servers run at sites alone: of a hub that is none it does not matter what nodes it has.
func TestAHubThatIsNoSiteNeedsNoNodes(t *testing.T) {
	g := NewWithT(t)
	c := cluster{name: hubName, isHub: true, answer: well().answer}
	c.manager.is = &appsv1.Deployment{Status: appsv1.DeploymentStatus{AvailableReplicas: 2}}
	g.Expect(judge(c)).To(ConsistOf(HaveField("Check", "version"), HaveField("Check", "manager")))
	g.Expect(bad(judge(c))).To(BeEmpty())
}

// Two clocks are apart by what both differ from a third at least; what is within the bound of certificates is well.
func TestClocksOfTwoClusters(t *testing.T) {
	at := func(ahead time.Duration) cluster {
		c := well()
		c.answer.is.clock = sites.ClockDifference{Least: ahead, Most: ahead + time.Second}
		return c
	}
	silent := cluster{answer: read[answer]{err: errors.New("silent")}}
	for what, c := range map[string]struct {
		hub, member cluster
		level       Level
		says        string
	}{
		"the same":               {at(0), at(0), OK, "0s apart"},
		"both off, alike":        {at(-3 * time.Hour), at(-3 * time.Hour), OK, "0s apart"},
		"a little":               {at(0), at(time.Minute), OK, "59s apart"},
		"ahead":                  {at(0), at(2 * time.Hour), Problem, "1h59m59s ahead of"},
		"behind":                 {at(time.Hour), at(-time.Hour), Problem, "1h59m59s behind"},
		"a hub that is silent":   {silent, at(0), Unknown, "not be compared"},
		"a member without dates": {at(0), cluster{name: "quincy"}, Unknown, "not be compared"},
	} {
		t.Run(what, func(t *testing.T) {
			NewWithT(t).Expect(judgeClocks(c.hub, c.member)).To(ConsistOf(And(HaveField("Cluster", "quincy"),
				HaveField("Level", c.level), HaveField("Says", ContainSubstring(c.says)))))
		})
	}
}
