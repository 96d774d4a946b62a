// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites/reach"
)

const (
	// labelProbe is on all that a probe makes; its value is the run.
	labelProbe = "geosql.dev/probe"
	// probeName begins their names, and is that of the pod's container.
	probeName = "geosql-probe"
	// probeLife is how long a probe's pod runs at most, also when nobody takes it away.
	probeLife = 5 * time.Minute
)

// serverPorts are those at which servers are reached from other sites: firewalls between sites know them by number.
// closedPort is another one, which no policy opens.
var serverPorts = []int32{1433, 5022, 8443, 8444}

const closedPort int32 = 1434

func probePorts() []int32 { return append(slices.Clone(serverPorts), closedPort) }

// end is one site of a probe.
type end struct {
	target
	// namespace in which the pod runs.
	namespace string
	// server is the URL at which other sites reach the site's API server; empty where nobody has said one.
	server string
}

func (e end) exposure() v1alpha1.ExposureType {
	return cmp.Or(e.site.Exposure.Type, v1alpha1.ExposureFlatNetwork)
}

// container is the image of a probe's pod, and when it is pulled.
type container struct {
	image string
	pull  corev1.PullPolicy
}

func probeMeta(e end, run string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: e.namespace, Name: probeName + "-" + run, Labels: map[string]string{
		labelProbe: run, v1alpha1.LabelApp: probeName, v1alpha1.LabelSite: e.name}}
}

// probePod is of the restricted profile, has no account's token, says what any quota has it say, and runs where a
// server could. As which user it runs the image says, or a namespace of OpenShift.
func probePod(e end, run string, c container) *corev1.Pod {
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"),
		corev1.ResourceMemory: resource.MustParse("64Mi")}
	most := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"),
		corev1.ResourceMemory: resource.MustParse("64Mi")}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: probeMeta(e, run),
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         ptr.To(int64(probeLife / time.Second)),
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: probeName, Image: c.image, ImagePullPolicy: c.pull,
				Args:      reach.ServeArguments(run, probePorts()),
				Resources: corev1.ResourceRequirements{Requests: amounts, Limits: most},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false),
					ReadOnlyRootFilesystem: ptr.To(true),
					Capabilities:           &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
}

// besides are what the pod needs to be reached as a server is, which goes with the pod: a policy that lets in the other
// site by the ranges that it declares, and everybody where it declares none, as those of servers do; and ports of its
// node, where that is how the site's servers are reached.
func besides(e, other end, run string, pod *corev1.Pod) []client.Object {
	meta := probeMeta(e, run)
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
	selector := map[string]string{labelProbe: run}
	rule := networkingv1.NetworkPolicyIngressRule{}
	for _, port := range serverPorts {
		rule.Ports = append(rule.Ports, networkingv1.NetworkPolicyPort{
			Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(port))})
	}
	for _, cidr := range other.site.SourceRanges {
		rule.From = append(rule.From, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
	}
	all := []client.Object{&networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: selector},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{rule}}}}
	if e.exposure() != v1alpha1.ExposureNodePort {
		return all
	}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Selector: selector, PublishNotReadyAddresses: true,
		ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal}}
	for _, port := range probePorts() {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("port-%d", port), Port: port,
			TargetPort: intstr.FromInt32(port), Protocol: corev1.ProtocolTCP})
	}
	return append(all, service)
}

// addresses at which a pod's server ports are reached from another site, in their order, and the closed one's; none
// while they are not known.
func addresses(e end, pod *corev1.Pod, service *corev1.Service) (open []string, closed string) {
	host, ports := pod.Status.PodIP, map[int32]int32{}
	if e.exposure() == v1alpha1.ExposureNodePort {
		host = pod.Status.HostIP
		if service == nil {
			return nil, ""
		}
		for _, p := range service.Spec.Ports {
			ports[p.Port] = p.NodePort
		}
	} else {
		for _, port := range probePorts() {
			ports[port] = port
		}
	}
	at := func(port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(ports[port]))) }
	if _, err := netip.ParseAddr(host); err != nil || ports[closedPort] == 0 {
		return nil, ""
	}
	for _, port := range serverPorts {
		open = append(open, at(port))
	}
	return open, at(closedPort)
}

// left tells that a probe's pod is one of a run that is over, or was interrupted. Another run's that is at work is not.
func left(pod *corev1.Pod, now time.Time) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		now.Sub(pod.CreationTimestamp.Time) > probeLife
}

// waiting says why a pod does not run yet, and whether it will not.
func waiting(pod *corev1.Pod) (why string, hopeless bool) {
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" {
			return fmt.Sprintf("%s: %s", w.Reason, w.Message), gaveUp[w.Reason]
		}
		if e := s.State.Terminated; e != nil {
			return fmt.Sprintf("its program has ended: %s, exit code %d %s", e.Reason, e.ExitCode, e.Message), true
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return pod.Status.Reason + ": " + pod.Status.Message, true
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message, false
		}
	}
	return "the kubelet has not started it", false
}

// gaveUp are reasons of a kubelet that does not try again soon.
var gaveUp = map[string]bool{"ImagePullBackOff": true, "ErrImageNeverPull": true, "InvalidImageName": true,
	"CreateContainerConfigError": true, "CrashLoopBackOff": true, "RunContainerError": true}
