// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/inpod"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/internal/sites/reach"
)

const (
	// startWithin is how long a pod may take until it runs, goneWithin until it is away.
	startWithin, goneWithin = time.Minute, 30 * time.Second
	// probeWithin bounds a probe: its pods live longer.
	probeWithin = probeLife - 30*time.Second
	// maxAnswer is how much a pod may say, in bytes.
	maxAnswer = 1 << 20
	// patience is how long Services and policies may take until they are in force.
	patience = 15 * time.Second
)

// Probe has pods made that find out what no API server tells.
type Probe struct {
	// Image of the pods; the manager's own where it is empty.
	Image string
	// Other is the cluster of the site at the other end; nil for the hub.
	Other *join.Cluster

	// run runs a command in a pod; the API server does it where that is nil.
	run func(ctx context.Context, config *rest.Config, namespace, pod string, command ...string) ([]byte, error)
}

// obstacle is why something was not probed, and what to do about it.
type obstacle struct {
	why    error
	change string
}

// unprobed says that something is not known, and why.
func (f *findings) unprobed(o obstacle) {
	f.add(Unknown, "probe", o.change, "could not be probed because %v", o.why)
}

// probing is a probe that is under way.
type probing struct {
	Probe
	container
	// name of the run.
	name string
	ends [2]end
	link link.Link
	// asked is the question as both ends are asked it, but for the addresses.
	asked reach.Options
	// found are what each end found, with why it was not asked.
	found [2]read[*reach.Answer]
}

// probe makes a pod at both sites, has each ask the other, and takes away all that it made, whatever happened.
func (r Request) probe(parent context.Context, o observed) []Finding {
	ctx, cancel := context.WithTimeout(parent, probeWithin)
	defer cancel()
	f := &findings{cluster: r.Names[0]}
	p, stopped := r.prepare(ctx, o)
	if stopped != nil {
		f.unprobed(*stopped)
		return f.list
	}
	all := p.work(ctx)
	// An interrupt ends the probe, and not the tidying up.
	ctx, stop := context.WithTimeout(context.WithoutCancel(parent), goneWithin)
	defer stop()
	for _, e := range p.ends {
		if err := p.remove(ctx, e); err != nil {
			all = append(all, leftBehind(e, p.name, err)...)
		}
	}
	return all
}

func leftBehind(e end, run string, err error) []Finding {
	f := &findings{cluster: e.name}
	f.warn("probe", fmt.Sprintf("kubectl -n %s delete pods,services,networkpolicies -l %s=%s, or probe again: the next "+
		"one takes away what is older than %s", e.namespace, labelProbe, run, probeLife), "something of it was left: %v", err)
	return f.list
}

// prepare finds out between which sites, with which image.
func (r Request) prepare(ctx context.Context, o observed) (*probing, *obstacle) {
	p := &probing{Probe: *r.Probe, name: strings.ToLower(rand.Text()[:10])}
	if p.run == nil {
		p.run = func(ctx context.Context, config *rest.Config, namespace, pod string, command ...string) ([]byte, error) {
			return inpod.Run(ctx, config, maxAnswer, namespace, pod, probeName, command...)
		}
	}
	here, there, stopped := r.ends(ctx, o)
	if stopped != nil {
		return nil, stopped
	}
	p.ends = [2]end{here, there}
	p.container = container{image: r.Probe.Image, pull: corev1.PullIfNotPresent}
	if p.image == "" {
		manager := o.hub.manager.is
		if manager == nil || len(manager.Spec.Template.Spec.Containers) == 0 {
			return nil, &obstacle{errors.New("the hub's manager, whose image it needs, was not found"),
				"install the chart geosql-operator in the hub, or say --probe-image"}
		}
		c := manager.Spec.Template.Spec.Containers[0]
		p.image, p.pull = c.Image, c.ImagePullPolicy
	}
	p.link = link.Between(v1alpha1.SiteName(here.name), v1alpha1.SiteName(there.name), o.sites.is)
	p.asked = reach.Options{Run: p.name, Timeout: transferWithin(p.link), Patience: patience,
		Names: []string{"kubernetes.default.svc"}}
	return p, nil
}

// transferWithin is how long a transfer may take on the declared link.
func transferWithin(l link.Link) time.Duration {
	return min(10*time.Second+2*expected(reach.DefaultBytes, l.RoundTrip, l.Bandwidth), 30*time.Second)
}

// ends are the two sites of a probe.
func (r Request) ends(ctx context.Context, o observed) (here, there end, stopped *obstacle) {
	no := func(change, why string, args ...any) (end, end, *obstacle) {
		return end{}, end{}, &obstacle{fmt.Errorf(why, args...), change}
	}
	switch {
	case o.sites.err != nil:
		return no("see what the check says of the hub", "the hub's Sites are not known: %w", o.sites.err)
	case o.member.answer.err != nil:
		return no("see what the check says of the site", "%s does not answer", o.member.name)
	case len(o.judgeIdentity()) > 0:
		return no("name the context of the site's cluster", "the cluster is another one")
	case !o.member.serves():
		return no("say with --namespaces in which servers are to run", "nobody has said in which namespaces")
	}
	here.target = r.memberTarget(o.sites.is)
	if r.Probe.Other == nil {
		there.target = r.hubTarget(o.sites.is)
	} else {
		at, stopped := r.otherTarget(ctx, o)
		if stopped != nil {
			return end{}, end{}, stopped
		}
		there.target = at
	}
	if !there.joined || len(there.site.AllowedNamespaces) == 0 {
		return no("name with --other-context the cluster of another site", "the hub is no site")
	}
	for _, e := range []end{here, there} {
		if e.exposure() == v1alpha1.ExposureLoadBalancer {
			return no("connect from the other site to the addresses of the Services SERVER-0-lb",
				"servers of %s are reached by load balancers, and a probe makes none: it is not probed with this exposure",
				e.name)
		}
	}
	for _, e := range []*end{&here, &there} {
		var err error
		if e.namespace, err = namespaceFor(ctx, *e, here.site.AllowedNamespaces, there.site.AllowedNamespaces); err != nil {
			return no("join the site first, or make the namespace", "%w", err)
		}
		e.server = r.apiServer(ctx, o, e.name)
	}
	return here, there, nil
}

// otherTarget is the cluster at the other end, as the site that it is.
func (r Request) otherTarget(ctx context.Context, o observed) (target, *obstacle) {
	uid, err := readUID(ctx, r.Probe.Other.Client)
	if err != nil {
		return target{}, &obstacle{err, "name the cluster's context as its administrator"}
	}
	for _, s := range o.sites.is {
		if uid != "" && s.Cluster() == uid && s.Name != o.member.name && s.Spec.Lifecycle != v1alpha1.SiteLost {
			return target{name: s.Name, at: *r.Probe.Other, site: s.Spec, joined: true}, nil
		}
	}
	return target{}, &obstacle{errors.New("the cluster of --other-context is no other site of the hub"),
		"name the cluster of another site, and join it first"}
}

// namespaceFor is where the pod runs: a namespace that both sites allow, where there is one, and that is there.
func namespaceFor(ctx context.Context, e end, here, there []string) (string, error) {
	both := slices.DeleteFunc(slices.Clone(here), func(ns string) bool { return !slices.Contains(there, ns) })
	for _, name := range slices.Concat(both, e.site.AllowedNamespaces) {
		ns, err := optional(ctx, e.at.Client, &corev1.Namespace{}, "namespace", "", name)
		if err != nil {
			return "", err
		}
		if ns != nil && ns.DeletionTimestamp == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s has none of its namespaces yet", e.name)
}

// apiServer is where other sites reach a site's API server: what is declared, else what the manager's kubeconfig has;
// empty where neither is there to be read.
func (r Request) apiServer(ctx context.Context, o observed, name string) string {
	at := slices.IndexFunc(o.sites.is, func(s v1alpha1.Site) bool { return s.Name == name })
	if at < 0 {
		return ""
	}
	spec := o.sites.is[at].Spec
	if spec.APIServer != "" || spec.KubeconfigSecretRef == nil {
		return spec.APIServer
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: r.OperatorNamespace, Name: spec.KubeconfigSecretRef.Name}
	if err := r.Hub.Client.Get(ctx, key, &secret); err != nil {
		return ""
	}
	config, err := sites.LoadKubeconfig(secret.Data[cmp.Or(spec.KubeconfigSecretRef.Key, sites.KubeconfigKey)])
	if err != nil {
		return ""
	}
	return config.Host
}

// hostPort is where a URL leads; empty for what is none.
func hostPort(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return ""
	case u.Port() != "":
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), "443")
}

// work makes the pods, has them ask, and judges.
func (p *probing) work(ctx context.Context) []Finding {
	var pods [2]*corev1.Pod
	for i := range p.ends {
		pods[i], p.found[i].err = p.make(ctx, p.ends[i], p.ends[1-i])
	}
	var to [2][]string
	var closed [2]string
	for i, e := range p.ends {
		if p.found[i].err == nil {
			to[i], closed[i], p.found[i].err = p.await(ctx, e, pods[i])
		}
	}
	for i, e := range p.ends {
		if p.found[i].err != nil {
			continue
		}
		question := p.asked
		if to[1-i] != nil {
			question.To, question.Closed = to[1-i], []string{closed[1-i]}
		}
		if host := hostPort(p.ends[1-i].server); host != "" {
			question.Connect = []string{host}
		}
		p.found[i] = got(p.ask(ctx, e, question))
	}
	return p.judge()
}

// make makes a pod and what it needs to be reached, once what earlier probes left is on its way out.
func (p *probing) make(ctx context.Context, e, other end) (*corev1.Pod, error) {
	pod := probePod(e, p.name, p.container)
	if err := e.at.Client.Create(ctx, pod); err != nil {
		return nil, fmt.Errorf("make pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	for _, ns := range e.site.AllowedNamespaces {
		var others corev1.PodList
		err := e.at.Client.List(ctx, &others, client.InNamespace(ns), client.HasLabels{labelProbe})
		for i := range others.Items {
			// The API server's own clock has said when the pod was made.
			if err == nil && left(&others.Items[i], pod.CreationTimestamp.Time) {
				err = reconcile.Remove(ctx, e.at.Client, &others.Items[i])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("take away what earlier probes left in namespace %s: %w", ns, err)
		}
	}
	for _, object := range besides(e, other, p.name, pod) {
		if err := e.at.Client.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("make %T %s/%s: %w", object, pod.Namespace, pod.Name, err)
		}
	}
	return pod, nil
}

// await waits until a pod runs, and returns where it is reached.
func (p *probing) await(ctx context.Context, e end, pod *corev1.Pod) (open []string, closed string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	why := ""
	err = every(ctx, cli.PollEvery, func() (bool, error) {
		if err := e.at.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, fmt.Errorf("read pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		if pod.Status.Phase == corev1.PodRunning {
			service, err := optional(ctx, e.at.Client, &corev1.Service{}, "Service", pod.Namespace, pod.Name)
			open, closed = addresses(e, pod, service)
			why = "its addresses are not known"
			return open != nil, err
		}
		text, hopeless := waiting(pod)
		if why = text; hopeless {
			return false, fmt.Errorf("pod %s/%s does not run: %s", pod.Namespace, pod.Name, why)
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && why != "" {
		err = fmt.Errorf("pod %s/%s does not run after %s: %s", pod.Namespace, pod.Name, startWithin, why)
	}
	return open, closed, err
}

// every asks until it is done, fails, or the context ends.
func every(ctx context.Context, pause time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if is, err := done(); is || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// ask has the pod of one end ask the other.
func (p *probing) ask(ctx context.Context, e end, question reach.Options) (*reach.Answer, error) {
	command := append([]string{"/geosql"}, question.Arguments()...)
	out, err := p.run(ctx, e.at.Config, e.namespace, probeName+"-"+p.name, command...)
	if err != nil {
		return nil, err
	}
	var a reach.Answer
	if err := json.Unmarshal(out, &a); err != nil {
		return nil, fmt.Errorf("read what pod %s-%s found: %w", probeName, p.name, err)
	}
	if len(a.Ports) != len(question.To) || len(a.Closed) != len(question.Closed) ||
		len(a.Connect) != len(question.Connect) || len(a.Names) != len(question.Names) {
		return nil, fmt.Errorf("pod %s-%s answers something else than it was asked: is its image of this release?",
			probeName, p.name)
	}
	return &a, nil
}

// remove takes away what the run made at an end, and waits until the pod is gone.
func (p *probing) remove(ctx context.Context, e end) error {
	meta := metav1.ObjectMeta{Namespace: e.namespace, Name: probeName + "-" + p.name}
	pod := &corev1.Pod{ObjectMeta: meta}
	var failed []error
	for _, object := range []client.Object{
		&corev1.Service{ObjectMeta: meta}, &networkingv1.NetworkPolicy{ObjectMeta: meta}, pod} {
		// Read again: what is made by a call that timed out is there as well.
		err := e.at.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			err = reconcile.Remove(ctx, e.at.Client, object)
		}
		if client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("delete %T %s/%s: %w", object, meta.Namespace, meta.Name, err))
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return every(ctx, cli.PollEvery, func() (bool, error) {
		err := e.at.Client.Get(ctx, client.ObjectKey{Namespace: meta.Namespace, Name: meta.Name}, pod)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("see that pod %s/%s is gone: %w", meta.Namespace, meta.Name, err)
		}
		return false, nil
	})
}
