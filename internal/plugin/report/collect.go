// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/overview"
	"geosql.dev/operator/internal/sites/join"
)

const (
	// maxObjects bounds a list of objects; maxEvents one of events, the newest.
	maxObjects, maxEvents = 5000, 2000
	// logLines are taken of each container, the newest; of one that ended before fewer.
	logLines, formerLines = 20_000, 2000
	// atOnce logs are read of a cluster.
	atOnce = 4
)

// part is what is collected of one cluster.
type part struct {
	// name is that of the folder: hub, or the site's.
	name    string
	cluster join.Cluster
	// namespaces whose objects are collected: that of the servers, and the operator's.
	namespace, operator string
	since               time.Duration
	bundle              *bundle
	// gone is set once the cluster did not answer: it is asked for nothing more.
	gone *atomic.Bool
}

var errGone = errors.New("the cluster did not answer before")

// learn has the redactor know the Secrets of both namespaces, and returns a list of them by their names and keys. Those
// of the operator's namespace have what opens every site.
func (p part) learn(ctx context.Context) string {
	type named struct {
		Namespace string   `json:"namespace"`
		Name      string   `json:"name"`
		Type      string   `json:"type"`
		Keys      []string `json:"keys"`
	}
	all := []named{}
	for _, namespace := range p.namespaces() {
		secrets, err := p.secrets(ctx, namespace)
		if err != nil {
			p.bundle.lacks("%s: the Secrets of namespace %s, whose values are looked for in all else by their form alone but "+
				"for %d Secrets: %v", p.name, namespace, len(secrets), err)
		}
		for _, s := range secrets {
			one := named{Namespace: s.Namespace, Name: s.Name, Type: string(s.Type)}
			for key, value := range s.Data {
				one.Keys = append(one.Keys, key)
				if !isPublic(s, key) {
					p.bundle.learn(fmt.Sprintf("Secret %s/%s, key %s", s.Namespace, s.Name, key), value)
				}
			}
			slices.Sort(one.Keys)
			all = append(all, one)
		}
	}
	data, err := yaml.Marshal(all)
	if err != nil {
		p.bundle.lacks("%s/secrets.yaml: %v", p.name, err)
	}
	return string(data)
}

// secrets are all of a namespace. What came before an error is returned with it.
func (p part) secrets(ctx context.Context, namespace string) ([]corev1.Secret, error) {
	var all []corev1.Secret
	for next := ""; ; {
		var list corev1.SecretList
		if err := p.list(ctx, &list, client.InNamespace(namespace), client.Continue(next)); err != nil {
			return all, err
		}
		all = append(all, list.Items...)
		if next = list.Continue; next == "" {
			return all, nil
		}
	}
}

// isPublic tells that a key of a Secret may be read by everybody, or names what is in every text.
func isPublic(s corev1.Secret, key string) bool {
	own := s.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy
	return public[key] || own && publicOfOwn[key] ||
		s.Type == corev1.SecretTypeServiceAccountToken && key == corev1.ServiceAccountNamespaceKey
}

func (p part) namespaces() []string {
	if p.namespace == p.operator {
		return []string{p.namespace}
	}
	return []string{p.namespace, p.operator}
}

// list reads one list, within the time of a look.
func (p part) list(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if p.gone.Load() {
		return errGone
	}
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	err := p.cluster.Client.List(ctx, list, append(options, client.Limit(maxObjects))...)
	if cli.Silent(err) {
		p.gone.Store(true)
	}
	return err
}

// collect adds a list of objects.
func (p part) collect(ctx context.Context, file string, list client.ObjectList, options ...client.ListOption) bool {
	if err := p.list(ctx, list, options...); err != nil {
		p.bundle.lacks("%s/%s: %v", p.name, file, err)
		return false
	}
	if list.GetContinue() != "" {
		p.bundle.lacks("%s/%s: objects beyond the first %d", p.name, file, maxObjects)
	}
	p.bundle.objects(p.name+"/"+file, list)
	return true
}

// declared adds all that the hub declares in the namespace, with what is seen of it, and how that is shown to people.
func (p part) declared(ctx context.Context) {
	for name, kind := range p.cluster.Client.Scheme().KnownTypes(v1alpha1.GroupVersion) {
		list, is := reflect.New(kind).Interface().(client.ObjectList)
		of := strings.TrimSuffix(name, "List")
		if !is || of == name || !ours(kind) {
			continue
		}
		var options []client.ListOption
		if of != "Site" {
			options = append(options, client.InNamespace(p.namespace))
		}
		p.collect(ctx, "objects/"+strings.ToLower(of)+".yaml", list, options...)
	}
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	snapshot, err := overview.Read(ctx, p.cluster.Client, overview.Scope{Namespace: p.namespace})
	if err != nil {
		p.bundle.lacks("%s/status.txt: %v", p.name, err)
		return
	}
	var text bytes.Buffer
	snapshot.WriteStatus(&text, time.Now())
	p.bundle.text(p.name+"/status.txt", text.String())
}

// ours tells a kind of the operator's from those that every group has.
func ours(kind reflect.Type) bool { return strings.HasSuffix(kind.PkgPath(), "/api/v1alpha1") }

// runs adds what runs in the cluster and what it keeps of elections and names, with the logs.
func (p part) runs(ctx context.Context) {
	for _, namespace := range p.namespaces() {
		in := client.InNamespace(namespace)
		folder := "namespaces/" + namespace + "/"
		p.events(ctx, folder+"events.txt", in)
		p.collect(ctx, folder+"leases.yaml", &coordinationv1.LeaseList{}, in)
		p.collect(ctx, folder+"deployments.yaml", &appsv1.DeploymentList{}, in)
		var pods corev1.PodList
		if p.collect(ctx, folder+"pods.yaml", &pods, in) {
			p.logs(ctx, folder+"logs/", pods.Items)
		}
		if namespace != p.namespace {
			continue
		}
		p.collect(ctx, folder+"statefulsets.yaml", &appsv1.StatefulSetList{}, in)
		p.collect(ctx, folder+"persistentvolumeclaims.yaml", &corev1.PersistentVolumeClaimList{}, in)
		p.collect(ctx, folder+"services.yaml", &corev1.ServiceList{}, in)
		p.collect(ctx, folder+"endpointslices.yaml", &discoveryv1.EndpointSliceList{}, in)
		p.collect(ctx, folder+"networkpolicies.yaml", &networkingv1.NetworkPolicyList{}, in)
		p.collect(ctx, folder+"poddisruptionbudgets.yaml", &policyv1.PodDisruptionBudgetList{}, in)
		p.names(ctx, folder+"geosql-names.yaml")
	}
}

// names adds what the site was told of names.
func (p part) names(ctx context.Context, file string) {
	if p.gone.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	var names corev1.ConfigMap
	err := p.cluster.Client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: orders.NamesObject}, &names)
	if err != nil {
		p.bundle.lacks("%s/%s: %v", p.name, file, err)
		return
	}
	p.bundle.objects(p.name+"/"+file, &corev1.ConfigMapList{Items: []corev1.ConfigMap{names}})
}

// events adds the newest, a line for each.
func (p part) events(ctx context.Context, file string, in client.ListOption) {
	var list corev1.EventList
	if err := p.list(ctx, &list, in); err != nil {
		p.bundle.lacks("%s/%s: %v", p.name, file, err)
		return
	}
	if list.Continue != "" {
		p.bundle.lacks("%s/%s: events beyond the first %d", p.name, file, maxObjects)
	}
	at := func(e corev1.Event) time.Time {
		for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time} {
			if !t.IsZero() {
				return t
			}
		}
		return time.Time{}
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return at(a).Compare(at(b)) })
	if more := len(list.Items) - maxEvents; more > 0 {
		p.bundle.lacks("%s/%s: %d older events", p.name, file, more)
		list.Items = list.Items[more:]
	}
	var text strings.Builder
	for _, e := range list.Items {
		fmt.Fprintf(&text, "%s %s %s %s/%s (%d): %s\n", at(e).UTC().Format(time.RFC3339), e.Type, e.Reason,
			e.InvolvedObject.Kind, e.InvolvedObject.Name, max(e.Count, 1), cli.Said(e.Message))
	}
	p.bundle.text(p.name+"/"+file, text.String())
}

// logs adds what the containers of the operator's pods have written, and what those wrote that ran before them. In the
// namespace of the servers there may be pods of others.
func (p part) logs(ctx context.Context, folder string, pods []corev1.Pod) {
	cluster, err := kubernetes.NewForConfig(p.cluster.Config)
	if err != nil {
		p.bundle.lacks("%s/%s: %v", p.name, folder, err)
		return
	}
	slots := make(chan struct{}, atOnce)
	var reading sync.WaitGroup
	for _, pod := range pods {
		if !ownPod(pod) {
			continue
		}
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, unseen(pod)) {
			reading.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				file := p.name + "/" + folder + pod.Name + "/" + s.Name
				p.log(ctx, cluster, pod, file+".log", &corev1.PodLogOptions{Container: s.Name, Timestamps: true,
					SinceSeconds: ptr.To(int64(p.since / time.Second)), TailLines: ptr.To[int64](logLines)})
				if s.RestartCount > 0 {
					p.log(ctx, cluster, pod, file+".previous.log", &corev1.PodLogOptions{Container: s.Name, Timestamps: true,
						Previous: true, TailLines: ptr.To[int64](formerLines)})
				}
			})
		}
	}
	reading.Wait()
}

// unseen are the containers of a pod of which its status does not speak.
func unseen(pod corev1.Pod) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range pod.Spec.Containers {
		known := slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == c.Name
		})
		if !known {
			all = append(all, corev1.ContainerStatus{Name: c.Name})
		}
	}
	return all
}

// ownPod tells a pod of the operator's: a server's, a drill's, the manager's or a site's process.
func ownPod(pod corev1.Pod) bool {
	return pod.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy ||
		strings.HasPrefix(pod.Labels["app.kubernetes.io/name"], "geosql-")
}

func (p part) log(
	ctx context.Context, cluster kubernetes.Interface, pod corev1.Pod, file string, o *corev1.PodLogOptions,
) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	stream, err := cluster.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, o).Stream(ctx)
	if err != nil {
		p.bundle.lacks("%s: %v", file, err)
		return
	}
	defer stream.Close()
	// More than a file may have, so that what is kept is its end: the lines are bounded, too.
	text, err := io.ReadAll(io.LimitReader(stream, 8*maxFile))
	if err != nil {
		p.bundle.lacks("%s: what came after its first %s: %v", file, cli.Bytes(int64(len(text))), err)
	}
	if err != nil || len(text) == 8*maxFile {
		text = whole(text)
	}
	p.bundle.text(file, string(text))
}

// whole are the lines that came to their end: of a secret that was cut off the beginning would not be known.
func whole(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }
