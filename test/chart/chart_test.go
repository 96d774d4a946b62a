// SPDX-License-Identifier: Apache-2.0

// Package chart_test renders the Helm chart and looks at what comes out, as Kubernetes' own types have it.
package chart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/chart"
)

// least is what a release needs: both processes are rendered, which nobody installs together.
const least = `
image: {repository: registry.example/geosql-operator}
site: {enabled: true, name: quincy}
crds: {install: false}
`

// deployments are the two processes.
var deployments = []string{"geosql-operator", "geosql-site"}

// render renders the chart with least, and with other values that count more.
func render(t *testing.T, values string, arguments ...string) (chart.Objects, error) {
	t.Helper()
	merged := map[string]any{}
	for _, text := range []string{least, values} {
		var more map[string]any
		NewWithT(t).Expect(yaml.Unmarshal([]byte(text), &more)).To(Succeed())
		merge(merged, more)
	}
	data, err := yaml.Marshal(merged)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return chart.Render(t, string(data), arguments...)
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, is := value.(map[string]any)
		if outer, was := into[key].(map[string]any); is && was {
			merge(outer, inner)
			continue
		}
		into[key] = value
	}
}

// deployment is one of the two.
func deployment(t *testing.T, objects chart.Objects, name string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	objects.Read(t, "Deployment", name, d)
	return d
}

// Of two processes, each on a node and in a zone of its own where that can be, one may be evicted at a time.
func TestANodeMayBeDrained(t *testing.T) {
	g := NewWithT(t)
	objects, err := render(t, "")
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range deployments {
		d := deployment(t, objects, name)
		g.Expect(d.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)), name)
		own := d.Spec.Selector
		budget := &policyv1.PodDisruptionBudget{}
		objects.Read(t, "PodDisruptionBudget", name, budget)
		g.Expect(budget.Spec.MaxUnavailable.IntValue()).To(Equal(1))
		g.Expect(budget.Spec.MinAvailable).To(BeNil())
		g.Expect(budget.Spec.Selector).To(Equal(own), "the budget is that of the pods of %s", name)
		selector, err := metav1.LabelSelectorAsSelector(own)
		g.Expect(err).NotTo(HaveOccurred())
		for _, other := range deployments {
			pods := deployment(t, objects, other).Spec.Template.Labels
			g.Expect(selector.Matches(labels.Set(pods))).To(Equal(other == name), "%s, %s", name, other)
		}

		pod := d.Spec.Template.Spec
		g.Expect(pod.TopologySpreadConstraints).To(HaveExactElements(And(
			HaveField("TopologyKey", corev1.LabelHostname), HaveField("WhenUnsatisfiable", corev1.ScheduleAnyway),
			HaveField("LabelSelector", own))))
		spread := pod.Affinity.PodAntiAffinity
		g.Expect(spread.RequiredDuringSchedulingIgnoredDuringExecution).To(BeEmpty())
		g.Expect(spread.PreferredDuringSchedulingIgnoredDuringExecution).To(HaveExactElements(HaveField("PodAffinityTerm",
			And(HaveField("TopologyKey", corev1.LabelTopologyZone), HaveField("LabelSelector", own)))))
	}
	pod := deployment(t, objects, "geosql-operator").Spec.Template.Spec
	asleep := pod.Containers[0].Lifecycle.PreStop.Sleep.Seconds
	g.Expect(*pod.TerminationGracePeriodSeconds-asleep).To(BeNumerically(">=", 20),
		"the manager has its 20 seconds to end")
}

// everything has a value for all that a pod can be given.
const everything = `
image:
  tag: v1
  digest: sha256:0123456789012345678901234567890123456789012345678901234567890123
  pullPolicy: Always
  pullSecrets: [one, {name: two}]
commonLabels: {team: data, cost: "42"}
deploymentAnnotations: {reload: "true"}
podLabels: {mesh: "off", team: database}
podAnnotations: {note: pod}
env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}, {name: NO_PROXY, value: "10.96.0.0/12"}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
nodeSelector: {pool: system}
tolerations: [{key: pool, operator: Exists}]
priorityClassName: system-cluster-critical
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: Exists}]}]}}}
topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]
resources: {requests: {cpu: "1"}, limits: {memory: 1Gi}}
site: {resources: {requests: {cpu: "2"}, limits: {memory: 2Gi}}}
serviceAccount: {annotations: {role: backup}}
`

// What is said of pods reaches those of the manager and those of a site's process alike.
func TestBothProcessesTakeWhatIsSaidOfPods(t *testing.T) {
	g := NewWithT(t)
	objects, err := render(t, everything)
	g.Expect(err).NotTo(HaveOccurred())
	image := "registry.example/geosql-operator:v1@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	for i, name := range deployments {
		d := deployment(t, objects, name)
		g.Expect(d.Annotations).To(HaveKeyWithValue("reload", "true"))
		template := d.Spec.Template
		g.Expect(template.Labels).To(And(HaveKeyWithValue("mesh", "off"), HaveKeyWithValue("team", "database")))
		g.Expect(template.Annotations).To(HaveKeyWithValue("note", "pod"))
		pod, container := template.Spec, template.Spec.Containers[0]
		g.Expect(container.Image).To(Equal(image))
		g.Expect(container.ImagePullPolicy).To(Equal(corev1.PullAlways))
		g.Expect(container.Env).To(ContainElements(
			corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy:3128"},
			HaveField("ValueFrom.FieldRef.FieldPath", "spec.nodeName"),
			HaveField("Name", "POD_NAMESPACE"),
		))
		g.Expect(container.Resources.Requests.Cpu().Value()).To(BeEquivalentTo(i + 1))
		g.Expect(container.Resources.Limits.Memory().Value()).To(BeEquivalentTo((i + 1) << 30))
		g.Expect(pod.NodeSelector).To(Equal(map[string]string{"pool": "system"}))
		g.Expect(pod.Tolerations).To(HaveExactElements(HaveField("Key", "pool")))
		g.Expect(pod.PriorityClassName).To(Equal("system-cluster-critical"))
		g.Expect(pod.Affinity.NodeAffinity).NotTo(BeNil())
		g.Expect(pod.Affinity.PodAntiAffinity).To(BeNil(), "the chart's own is replaced")
		g.Expect(pod.TopologySpreadConstraints).To(HaveExactElements(HaveField("TopologyKey", "rack")))
	}
	manager, site := deployment(t, objects, deployments[0]), deployment(t, objects, deployments[1])
	g.Expect(manager.Spec.Template.Spec.Containers[0].Env).
		To(ContainElement(corev1.EnvVar{Name: "OPERATOR_IMAGE", Value: image}), "agents have the same image")
	secrets := []corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}
	g.Expect(site.Spec.Template.Spec.ImagePullSecrets).To(Equal(secrets))
	var account corev1.ServiceAccount
	objects.Read(t, "ServiceAccount", "geosql-operator", &account)
	g.Expect(account.ImagePullSecrets).To(Equal(secrets))
	g.Expect(account.Annotations).To(Equal(map[string]string{"role": "backup"}))
	for _, u := range objects {
		g.Expect(u.GetLabels()).To(HaveKeyWithValue("team", "data"), "%s %s", u.GetKind(), u.GetName())
	}
}

// The Job that judges whether the operator may be removed is Helm's hook, and takes what its pod needs to run at all;
// neither a Service nor a budget takes that pod for a manager.
func TestTheRemovalsPodIsNoManager(t *testing.T) {
	g := NewWithT(t)
	objects, err := render(t, everything)
	g.Expect(err).NotTo(HaveOccurred())
	var job batchv1.Job
	objects.Read(t, "Job", "geosql-operator-removal", &job)
	g.Expect(job.Annotations).To(HaveKeyWithValue("helm.sh/hook", "pre-delete"))
	manager := deployment(t, objects, "geosql-operator")
	selector, err := metav1.LabelSelectorAsSelector(manager.Spec.Selector)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(selector.Matches(labels.Set(job.Spec.Template.Labels))).To(BeFalse())
	var service corev1.Service
	objects.Read(t, "Service", "geosql-operator-webhook", &service)
	g.Expect(service.Spec.Selector).To(Equal(manager.Spec.Selector.MatchLabels))
	pod, managers := job.Spec.Template.Spec, manager.Spec.Template.Spec
	g.Expect(pod.ServiceAccountName).To(Equal(managers.ServiceAccountName))
	g.Expect(pod.NodeSelector).To(Equal(managers.NodeSelector))
	g.Expect(pod.Tolerations).To(Equal(managers.Tolerations))
	g.Expect(pod.Containers[0].Image).To(Equal(managers.Containers[0].Image))
	g.Expect(job.Spec.Template.Labels).To(And(HaveKeyWithValue("mesh", "off"), HaveKeyWithValue("cost", "42"),
		HaveKeyWithValue("team", "database")))
	g.Expect(pod.PriorityClassName).To(Equal(managers.PriorityClassName))
	g.Expect(pod.Affinity).To(Equal(&corev1.Affinity{NodeAffinity: managers.Affinity.NodeAffinity}))

	// It finds a node where each has a manager that wants to be alone.
	objects, err = render(t, `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
  {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app.kubernetes.io/name: geosql-operator}}}]}}`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(deployment(t, objects, "geosql-operator").Spec.Template.Spec.Affinity.PodAntiAffinity).NotTo(BeNil())
	var beside batchv1.Job
	objects.Read(t, "Job", "geosql-operator-removal", &beside)
	g.Expect(beside.Spec.Template.Spec.Affinity).To(BeNil())
}

// Who renders the chart to apply it leaves Helm's hooks out: the Job would run at once, refuse, and be made anew at
// each synchronization.
func TestWithoutHooksThereIsNoJob(t *testing.T) {
	g := NewWithT(t)
	jobs := func(arguments ...string) (n int) {
		objects, err := render(t, "", arguments...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(deployment(t, objects, "geosql-operator").Spec.Replicas).NotTo(BeNil())
		for _, u := range objects {
			if u.GetKind() == "Job" {
				n++
			}
		}
		return n
	}
	g.Expect(jobs()).To(Equal(1))
	g.Expect(jobs("--no-hooks")).To(BeZero())
}

// The roles for people are there, and included in Kubernetes' own unless that is not wanted.
func TestRolesAreAggregatedUnlessTheyAreNotToBe(t *testing.T) {
	for values, aggregated := range map[string]bool{"": true, "roles: {aggregate: false}": false} {
		g := NewWithT(t)
		objects, err := render(t, values)
		g.Expect(err).NotTo(HaveOccurred())
		for _, role := range []string{"view", "edit", "admin"} {
			var r rbacv1.ClusterRole
			objects.Read(t, "ClusterRole", "geosql-operator-"+role, &r)
			g.Expect(r.Rules).NotTo(BeEmpty())
			_, labelled := r.Labels["rbac.authorization.k8s.io/aggregate-to-"+role]
			g.Expect(labelled).To(Equal(aggregated), "%s with %q", role, values)
		}
	}
}

// Values that would have no effect, or another than they say, are refused with the field.
func TestValuesThatAreRefused(t *testing.T) {
	for values, said := range map[string]string{
		"image: {repository: ''}":                                    "image.repository: name the image as your registry has it",
		"image: {repository: 'registry.example/a@sha256:00'}":        "in image.digest",
		"image: {repository: 'registry.example:5000/a:1'}":           "in image.tag",
		"image: {digest: 'sha256:00'}":                               "digest",
		"image: {pullSecrets: [{nam: one}]}":                         "pullSecrets",
		"fullnameOverride: other":                                    "fullnameOverride",
		"commonLabels: {app.kubernetes.io/name: other}":              "commonLabels: label app.kubernetes.io/name is the chart's own",
		"podLabels: {geosql.dev/server: other}":                      "podLabels: label geosql.dev/server is the chart's own",
		"env: [{name: OPERATOR_IMAGE, value: other}]":                "env: OPERATOR_IMAGE is the chart's own",
		"env: [{name: HTTPS_PROXY, vaule: other}]":                   "vaule",
		"env: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}]":     "env: HTTPS_PROXY without NO_PROXY",
		"env: [{name: https_proxy, value: 'http://proxy:3128'}]":     "env: https_proxy without NO_PROXY",
		"metrics: {enabled: false, serviceMonitor: {enabled: true}}": "metrics.serviceMonitor.enabled",
		"metrics: {enabled: false, rules: {enabled: true}}":          "metrics.rules.enabled",
		"site: {enabled: false}":                                     "site.name: this release installs no process of a site",
		"site: {name: ''}":                                           "site.name: the name of the Site that this cluster is",
	} {
		_, err := render(t, values)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(said)), values)
	}
	_, err := render(t, "image: {repository: 'registry.example:5000/team/a'}\nmetrics: {labels: {team: data}}\n"+
		"commonLabels: {team: data}")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, err = render(t, "env: [{name: https_proxy, value: 'http://proxy:3128'}, {name: no_proxy, value: 10.96.0.0/12}]")
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "the API server is asked without the proxy")
	_, err = render(t, "podLabels: null\npodAnnotations: null\naffinity: null\ncommonLabels: null")
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "null takes a default away")
}

// The schema has every value, and no others: one that is missing there is refused, one that is missing in values.yaml
// is not known to anybody.
func TestTheSchemaHasTheValues(t *testing.T) {
	g := NewWithT(t)
	read := func(name string, unmarshal func([]byte, any) error) map[string]any {
		data, err := os.ReadFile(filepath.Join(chart.Folder(), name))
		g.Expect(err).NotTo(HaveOccurred())
		var content map[string]any
		g.Expect(unmarshal(data, &content)).To(Succeed())
		return content
	}
	values := read("values.yaml", func(data []byte, into any) error { return yaml.UnmarshalStrict(data, into) })
	schema := read("values.schema.json", json.Unmarshal)
	var declared, given []string
	walk("", schema, values, &declared, &given)
	declared = slices.DeleteFunc(declared, func(path string) bool { return path == ".global" }) // Helm's own
	slices.Sort(declared)
	slices.Sort(given)
	g.Expect(given).To(Equal(declared))
	g.Expect(strings.Join(given, " ")).To(ContainSubstring(".site.resources"))
}

// walk lists the paths of a schema's properties, and those of values as deep as the schema goes.
func walk(path string, schema map[string]any, values any, declared, given *[]string) {
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		return
	}
	for name, property := range properties {
		*declared = append(*declared, path+"."+name)
		inner, _ := values.(map[string]any)
		walk(path+"."+name, property.(map[string]any), inner[name], declared, given)
	}
	object, _ := values.(map[string]any)
	for name := range object {
		*given = append(*given, path+"."+name)
	}
}
