// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/internal/sites/reach"
	"geosql.dev/operator/test/support/ports"
	"geosql.dev/operator/test/support/terminal"
)

// site is a cluster in memory in which pods run: their program listens at ports of the loopback, as if these were those
// of a node.
type site struct {
	at join.Cluster
	// refuse makes the API server refuse a kind of object.
	refuse func(client.Object) error
	// ports of the loopback at which those of servers are reached.
	ports map[int32]int32
}

func running(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	s := &site{ports: map[int32]int32{}, refuse: func(client.Object) error { return nil }}
	var listening []int
	for _, port := range serverPorts {
		free := ports.Free(t)
		s.ports[port], listening = int32(free), append(listening, free)
	}
	s.ports[closedPort] = int32(ports.Free(t)) // nobody listens there
	s.at = inMemory(t, anything)
	s.at.Client = terminal.Hub(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
			if err := s.refuse(obj); err != nil {
				return err
			}
			switch o := obj.(type) {
			case *corev1.Pod:
				if o.Status.Phase != "" {
					break // it was there before
				}
				o.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1", HostIP: "127.0.0.1"}
				o.CreationTimestamp = metav1.Now()
				go func() { _ = reach.Serve(t.Context(), o.Labels[labelProbe], listening) }()
			case *corev1.Service:
				for i := range o.Spec.Ports {
					o.Spec.Ports[i].NodePort = s.ports[o.Spec.Ports[i].Port]
				}
			}
			obj.SetUID(types.UID(rand.Text()))
			return c.Create(ctx, obj, options...)
		},
	}).Build()
	return s
}

// here runs what would run in a pod, where names are those of this machine.
func here(ctx context.Context, _ *rest.Config, _, _ string, command ...string) ([]byte, error) {
	var out bytes.Buffer
	ask := reach.NewCommand()
	ask.SetOut(&out)
	ask.SetArgs(strings.Split(strings.ReplaceAll(strings.Join(command[2:], "\n"), "kubernetes.default.svc", "localhost"),
		"\n"))
	err := ask.ExecuteContext(ctx)
	return out.Bytes(), err
}

// two sites, quincy and dublin, the hub, that are reached by ports of their nodes.
func two(t *testing.T) (hub, member *site, r Request) {
	t.Helper()
	declared := func(name string, hub bool) *v1alpha1.Site {
		s := siteOf(name, hub)
		s.Spec.Exposure.Type = v1alpha1.ExposureNodePort
		s.Spec.APIServer = "" // nobody has said one
		return s
	}
	namespaces := func(uid types.UID) []client.Object {
		return []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: uid}}}
	}
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: managerName}}
	manager.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "registry.example/geosql:1"}}
	hub = running(t, append(namespaces("dublin"), declared("dublin", true), declared("quincy", false), manager)...)
	member = running(t, namespaces("quincy")...)
	return hub, member, Request{Hub: hub.at, Member: &member.at, Names: []string{"quincy"},
		OperatorNamespace: sites.OperatorNamespace, Probe: &Probe{run: here}}
}

func probes(t *testing.T, r Request) []Finding {
	t.Helper()
	o, err := r.observe(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return r.probe(t.Context(), o)
}

// remains are the names of what probes have made and that is there.
func remains(t *testing.T, at join.Cluster) []string {
	t.Helper()
	var names []string
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &networkingv1.NetworkPolicyList{}} {
		NewWithT(t).Expect(at.Client.List(t.Context(), list, client.HasLabels{labelProbe})).To(Succeed())
		switch l := list.(type) {
		case *corev1.PodList:
			for _, o := range l.Items {
				names = append(names, "pod "+o.Name)
			}
		case *corev1.ServiceList:
			for _, o := range l.Items {
				names = append(names, "service "+o.Name)
			}
		case *networkingv1.NetworkPolicyList:
			for _, o := range l.Items {
				names = append(names, "policy "+o.Name)
			}
		}
	}
	return names
}

// Two pods find out over real sockets how they reach each other, and nothing of them stays, nor of an earlier run.
func TestAProbeOfTwoSites(t *testing.T) {
	g := NewWithT(t)
	hub, member, r := two(t)
	earlier := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "geosql-probe-earlier",
		Labels: map[string]string{labelProbe: "earlier"}}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}
	working := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "geosql-probe-working",
		CreationTimestamp: metav1.Now(), Labels: map[string]string{labelProbe: "working"}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	g.Expect(member.at.Client.Create(t.Context(), earlier)).To(Succeed())
	g.Expect(member.at.Client.Create(t.Context(), working)).To(Succeed())

	found := probes(t, r)
	g.Expect(bad(found)).To(BeEmpty())
	for _, cluster := range []string{"quincy", "dublin"} {
		for _, check := range []string{"dns", "reach", "round-trip", "packets"} {
			g.Expect(found).To(ContainElement(And(HaveField("Cluster", cluster), HaveField("Check", check))))
		}
	}
	g.Expect(remains(t, hub.at)).To(BeEmpty())
	g.Expect(remains(t, member.at)).To(ConsistOf("pod geosql-probe-working"), "another one is at work")
}

// What stands in the way of a probe is told, at the site where it does, and what was made at the other one goes.
func TestWhatCannotBeProbed(t *testing.T) {
	forbidden := func(what string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "geosql-probe", errors.New(what))
	}
	for what, c := range map[string]struct {
		stand   func(hub, member *site, r *Request)
		cluster string
		says    string
	}{
		"a quota": {func(_, member *site, _ *Request) {
			member.refuse = func(client.Object) error { return forbidden("exceeded quota: small") }
		}, "quincy", "exceeded quota: small"},
		"PodSecurity at the hub": {func(hub, _ *site, _ *Request) {
			hub.refuse = func(client.Object) error { return forbidden("violates PodSecurity") }
		}, "dublin", "violates PodSecurity"},
		"a Service": {func(_, member *site, _ *Request) {
			member.refuse = func(obj client.Object) error {
				if _, is := obj.(*corev1.Service); is {
					return forbidden("services.nodeports")
				}
				return nil
			}
		}, "quincy", "services.nodeports"},
		"no program": {func(_, _ *site, r *Request) {
			r.Probe.run = func(context.Context, *rest.Config, string, string, ...string) ([]byte, error) {
				return nil, errors.New("unknown command probe")
			}
		}, "quincy", "unknown command probe"},
		"another program": {func(_, _ *site, r *Request) {
			r.Probe.run = func(context.Context, *rest.Config, string, string, ...string) ([]byte, error) {
				return []byte("{}"), nil
			}
		}, "quincy", "is its image of this release?"},
		"no namespace": {func(_, _ *site, r *Request) {
			r.Said.AllowedNamespaces = []string{"shop"}
		}, "quincy", "quincy has none of its namespaces yet"},
		"a load balancer": {func(_, _ *site, r *Request) {
			r.Said.Exposure.Type = v1alpha1.ExposureLoadBalancer
		}, "quincy", "servers of quincy are reached by load balancers"},
		"no site at the other end": {func(hub, _ *site, r *Request) {
			r.Probe.Other = &hub.at
		}, "quincy", "no other site of the hub"},
		"no manager": {func(_, _ *site, r *Request) { r.OperatorNamespace = "elsewhere" }, "quincy",
			"the hub's manager, whose image it needs, was not found"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			hub, member, r := two(t)
			c.stand(hub, member, &r)
			found := probes(t, r)
			g.Expect(found).To(ContainElement(And(HaveField("Cluster", c.cluster), HaveField("Check", "probe"),
				HaveField("Level", Unknown), HaveField("Says", And(HavePrefix("could not be probed because "),
					ContainSubstring(c.says))), HaveField("Change", Not(BeEmpty())))))
			g.Expect(found).NotTo(ContainElement(And(HaveField("Level", OK), HaveField("Check", "reach"))))
			g.Expect(remains(t, hub.at)).To(BeEmpty())
			g.Expect(remains(t, member.at)).To(BeEmpty())
		})
	}
}

// An interrupt ends a probe, and what it made goes all the same.
func TestAProbeThatIsInterrupted(t *testing.T) {
	g := NewWithT(t)
	hub, member, r := two(t)
	ctx, interrupt := context.WithCancel(t.Context())
	r.Probe.run = func(ctx context.Context, _ *rest.Config, _, _ string, _ ...string) ([]byte, error) {
		interrupt()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o, err := r.observe(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	found := r.probe(ctx, o)
	g.Expect(bad(found)).To(ContainElement(HaveField("Check", "probe")))
	g.Expect(remains(t, hub.at)).To(BeEmpty())
	g.Expect(remains(t, member.at)).To(BeEmpty())
}

// A probe's pod is as servers' namespaces demand, ends by itself, and takes with it what it needs.
func TestWhatAProbeMakes(t *testing.T) {
	g := NewWithT(t)
	p := probed()
	pod := probePod(p.ends[0], "r1", p.container)
	pod.UID = "u1"
	g.Expect(*pod.Spec.ActiveDeadlineSeconds).To(BeEquivalentTo(probeLife / time.Second))
	g.Expect(*pod.Spec.AutomountServiceAccountToken).To(BeFalse())
	c := pod.Spec.Containers[0]
	g.Expect(strings.Join(c.Args, " ")).To(Equal("probe serve --run=r1 --port=1433 --port=5022 --port=8443 --port=8444 " +
		"--port=1434"))
	for name := range computed {
		if _, amount, of := strings.Cut(string(name), "."); of {
			g.Expect(c.Resources.Requests).To(HaveKey(corev1.ResourceName(amount)))
			g.Expect(c.Resources.Limits).To(HaveKey(corev1.ResourceName(amount)))
		}
	}
	objects := besides(p.ends[0], p.ends[1], "r1", pod)
	g.Expect(objects).To(HaveLen(1), "addresses of pods lead everywhere")
	policy := objects[0].(*networkingv1.NetworkPolicy)
	g.Expect(policy.OwnerReferences).To(HaveExactElements(HaveField("UID", pod.UID)))
	g.Expect(policy.Spec.Ingress[0].From).To(HaveExactElements(HaveField("IPBlock.CIDR", "10.103.0.0/16")))
	g.Expect(policy.Spec.Ingress[0].Ports).To(HaveLen(len(serverPorts)))
	p.ends[1].site.SourceRanges = nil
	g.Expect(besides(p.ends[0], p.ends[1], "r1", pod)[0].(*networkingv1.NetworkPolicy).Spec.Ingress[0].From).
		To(BeEmpty(), "who declares none is let in, as by servers")

	p.ends[0].site.Exposure.Type = v1alpha1.ExposureNodePort
	objects = besides(p.ends[0], p.ends[1], "r1", pod)
	g.Expect(objects).To(HaveLen(2))
	service := objects[1].(*corev1.Service)
	g.Expect(service.Spec).To(And(HaveField("Type", corev1.ServiceTypeNodePort),
		HaveField("ExternalTrafficPolicy", corev1.ServiceExternalTrafficPolicyLocal)))
	open, _ := addresses(p.ends[0], pod, service)
	g.Expect(open).To(BeNil(), "no port is known")
	pod.Status.HostIP = "192.0.2.7"
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].NodePort = 30000 + int32(i)
	}
	open, closed := addresses(p.ends[0], pod, service)
	g.Expect(open).To(Equal([]string{"192.0.2.7:30000", "192.0.2.7:30001", "192.0.2.7:30002", "192.0.2.7:30003"}))
	g.Expect(closed).To(Equal("192.0.2.7:30004"))
	pod.Status.PodIP = "fd00::7"
	open, closed = addresses(p.ends[1], pod, nil)
	g.Expect(append(open, closed)).To(Equal([]string{"[fd00::7]:1433", "[fd00::7]:5022", "[fd00::7]:8443",
		"[fd00::7]:8444", "[fd00::7]:1434"}))
}

// Where the API server is that pods must reach.
func TestWhereAnAPIServerIs(t *testing.T) {
	g := NewWithT(t)
	g.Expect(hostPort("https://dublin.example:6443")).To(Equal("dublin.example:6443"))
	g.Expect(hostPort("https://dublin.example")).To(Equal("dublin.example:443"))
	g.Expect(hostPort("https://[fd00::1]")).To(Equal("[fd00::1]:443"))
	g.Expect(hostPort("")).To(BeEmpty())
}
