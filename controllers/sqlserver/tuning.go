// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// What the pod's network has of its own of the kernel's parameters. Both are safe sysctls by Kubernetes' documentation
// (tasks/administer-cluster/sysctl-cluster: "since Kubernetes 1.32, needs kernel 4.15+"), which Pod Security's profiles
// allow from that version on (concepts/security/pod-security-standards).
const (
	receiveMemory = "net.ipv4.tcp_rmem"
	sendMemory    = "net.ipv4.tcp_wmem"
)

// What nodes must run for that. A kubelet refuses a pod with a sysctl that it takes for unsafe, after it was scheduled,
// and it may be three minor versions older than the API server. The other way round it may not be.
var (
	safeSince = version.MustParseGeneric("1.32")
	safeFrom  = version.MustParseGeneric("4.15")
)

// receivesMore is the version of Linux from which on its own tcp_rmem has link.LaterReceive.
var receivesMore = version.MustParseGeneric("6.18")

// tuning is what is decided about the buffers of the pod's connections.
type tuning struct {
	// sysctls that a pod gets which is made now, beside those that the server declares for itself.
	sysctls []corev1.Sysctl
	// slowest is the link that takes the most to fill; known tells that there is one.
	slowest link.Link
	known   bool
	// reason and why are of the condition NetworkTuned; empty where nothing stands against the sysctls.
	reason, why string
}

// tuningOf decides which buffers the connections of a pod have that is made now. It is pure.
func tuningOf(d Desired, o Observed) tuning {
	var t tuning
	t.slowest, t.known = link.SlowestToFill(d.Links)
	wanted := t.wanted(d, o)
	own := d.beside(wanted)
	switch why := notSafe(o.Cluster.Nodes); {
	case d.declaredNetwork().Tuning == v1alpha1.TuningNone:
		t.reason, t.why = v1alpha1.ReasonBuffersOfKernel, "tuning is None: the kernel's own buffers are left"
	case len(wanted) == 0 && t.known:
		t.reason, t.why = v1alpha1.ReasonBuffersOfKernel, fmt.Sprintf("no link of site %s needs other buffers than the "+
			"kernel's own; the one to %s takes the most: %s", d.Server.Spec.Site, t.slowest.To, t.slowest.Arithmetic())
	case len(wanted) == 0:
		t.reason, t.why = v1alpha1.ReasonBuffersOfKernel, fmt.Sprintf("the kernel's own buffers are left: no Site declares "+
			"a link of site %s with roundTrip and bandwidth", d.Server.Spec.Site)
	case len(own) == 0:
		t.reason, t.why = v1alpha1.ReasonBuffersDeclared, "spec.pod.securityContext.sysctls of the server has them"
	case refusedBuffers(d, o):
		t.reason, t.why = v1alpha1.ReasonBuffersRefused, fmt.Sprintf("the API server of site %s refused the pod while it "+
			"was to have %s or %s of its own, so that it is made without. Let the policies of namespace %s there take these "+
			"safe sysctls (a Pod Security version before v1.32 does not), then set spec.network.tuning to None and to "+
			"FromLinks again", d.Server.Spec.Site, receiveMemory, sendMemory, d.Server.Namespace)
	case why != "":
		t.reason, t.why = v1alpha1.ReasonBuffersNotSafe, why
	default:
		t.sysctls = own
	}
	return t
}

// wanted are the sysctls by what is declared, but for those that give a connection no more than the nodes' kernels do.
func (t tuning) wanted(d Desired, o Observed) []corev1.Sysctl {
	var receive, send int64
	if t.known {
		receive = link.Buffer(t.slowest.Product())
		send = receive
	}
	if receive <= kernelReceives(o.Cluster.Nodes) {
		receive = 0
	}
	if window := d.declaredNetwork().ReceiveWindow; window != nil {
		receive = link.WindowBuffer(window.Value())
	}
	var wanted []corev1.Sysctl
	if receive > 0 {
		wanted = append(wanted, corev1.Sysctl{Name: receiveMemory, Value: link.ReceiveMemory(receive)})
	}
	if send > 0 {
		wanted = append(wanted, corev1.Sysctl{Name: sendMemory, Value: link.SendMemory(send)})
	}
	return wanted
}

// kernelReceives is the maximum of tcp_rmem that the kernels of all nodes have of their own, in bytes. A pod that is
// given less for one link would be slower on all others.
func kernelReceives(nodes []corev1.Node) int64 {
	older := func(n corev1.Node) bool {
		return n.Status.NodeInfo.OperatingSystem != "windows" && !atLeast(n.Status.NodeInfo.KernelVersion, receivesMore)
	}
	if len(nodes) == 0 || slices.ContainsFunc(nodes, older) {
		return link.LeastBuffer
	}
	return link.LaterReceive
}

// beside leaves out what the server declares for its pod itself: a name may be there once.
func (d Desired) beside(sysctls []corev1.Sysctl) []corev1.Sysctl {
	return slices.DeleteFunc(slices.Clone(sysctls), func(s corev1.Sysctl) bool { return d.declaresSysctl(s.Name) })
}

// declaresSysctl tells that the server's own securityContext has a sysctl of the name, in whichever of the two forms
// that Kubernetes takes: net.ipv4.tcp_rmem or net/ipv4/tcp_rmem.
func (d Desired) declaresSysctl(name string) bool {
	own := d.pod().SecurityContext
	return own != nil && slices.ContainsFunc(own.Sysctls, func(s corev1.Sysctl) bool {
		return dotted(s.Name) == name
	})
}

func dotted(name string) string { return strings.ReplaceAll(name, "/", ".") }

// withoutBuffers is the pod without what tuning gave it: it is in no hash, so that neither a release nor another link
// restarts a server.
func (d Desired) withoutBuffers(security *corev1.PodSecurityContext) {
	security.Sysctls = slices.DeleteFunc(security.Sysctls, func(s corev1.Sysctl) bool {
		return (s.Name == receiveMemory || s.Name == sendMemory) && !d.declaresSysctl(s.Name)
	})
	if len(security.Sysctls) == 0 {
		security.Sysctls = nil
	}
}

// notSafe says which node would refuse a pod with the sysctls, or is not known not to; empty when none would. All nodes
// of the site count: where the pod may run changes with every cordon, and a kubelet that refuses it keeps it from
// running at all.
func notSafe(nodes []corev1.Node) string {
	if len(nodes) == 0 {
		return fmt.Sprintf("the kernel's own buffers are left: no node of the site is known, so that nobody can tell "+
			"whether its kubelet takes %s and %s", receiveMemory, sendMemory)
	}
	var worst string
	for _, n := range nodes {
		kubelet, kernel := n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.KernelVersion
		if n.Status.NodeInfo.OperatingSystem == "windows" || atLeast(kubelet, safeSince) && atLeast(kernel, safeFrom) {
			continue
		}
		why := fmt.Sprintf("node %s runs Kubernetes %s on kernel %s, and %s and %s are safe sysctls from Kubernetes %s and "+
			"kernel %s on: the kernel's own buffers are left", n.Name, cmp.Or(kubelet, "of an unknown version"),
			cmp.Or(kernel, "of an unknown version"), receiveMemory, sendMemory, safeSince, safeFrom)
		if worst == "" || why < worst {
			worst = why
		}
	}
	return worst
}

// atLeast tells that a version as nodes tell theirs, such as v1.32.5-eks-5d632ec or 4.18.0-553.el8.x86_64, is not lower
// than another one.
func atLeast(told string, least *version.Version) bool {
	v, err := version.ParseGeneric(told)
	return err == nil && v.AtLeast(least)
}

// annotationRefusedBuffers of the StatefulSet is what spec.network.tuning said when the site's API server refused a pod
// that was to have buffers of its own: while it says the same, a pod is made without.
const annotationRefusedBuffers = "geosql.dev/buffers-refused"

// unsaid is the mark of a server that does not say spec.network.tuning.
const unsaid = "unset"

// refusedBuffers tells that the pod is to be made without the sysctls, since the API server does not let it in: what
// policies there take is not known, and a server that runs untuned is worth more than one that does not. A refusal
// counts when it stood already at the look before, with no pod in between, and the template has the sysctls. It may
// have another reason; then the pod is refused without them, too.
func refusedBuffers(d Desired, o Observed) bool {
	set := o.StatefulSet
	if set == nil {
		return false
	}
	said := cmp.Or(string(d.declaredNetwork().Tuning), unsaid)
	return set.Annotations[annotationRefusedBuffers] == said ||
		d.PodRefused && o.Pod == nil && o.Refusal != "" && hasBuffers(d, set.Spec.Template.Spec)
}

// hasBuffers tells that a pod has sysctls of tuning's.
func hasBuffers(d Desired, spec corev1.PodSpec) bool {
	return slices.ContainsFunc(sysctlsOf(spec), func(s corev1.Sysctl) bool {
		return (s.Name == receiveMemory || s.Name == sendMemory) && !d.declaresSysctl(s.Name)
	})
}

// markBuffers says on the StatefulSet that the pod is made without the sysctls, and for which declaration.
func markBuffers(d Desired, set *appsv1.StatefulSet, t tuning) {
	if t.reason == v1alpha1.ReasonBuffersRefused {
		set.Annotations = with(set.Annotations, map[string]string{
			annotationRefusedBuffers: cmp.Or(string(d.declaredNetwork().Tuning), unsaid)})
	}
}

// withoutThem says that a pod that is refused is made without the sysctls; empty where it has none.
func withoutThem(d Desired, o Observed) string {
	if o.StatefulSet == nil || !hasBuffers(d, o.StatefulSet.Spec.Template.Spec) {
		return ""
	}
	return ". It is tried without the sysctls " + receiveMemory + " and " + sendMemory + " next"
}

func sysctlsOf(spec corev1.PodSpec) []corev1.Sysctl {
	if spec.SecurityContext == nil {
		return nil
	}
	return spec.SecurityContext.Sysctls
}

// buffersOf are the sizes that a pod is started with.
func buffersOf(spec corev1.PodSpec) v1alpha1.TCPBuffers {
	var b v1alpha1.TCPBuffers
	for _, s := range sysctlsOf(spec) {
		switch dotted(s.Name) {
		case receiveMemory:
			b.Receive = s.Value
		case sendMemory:
			b.Send = s.Value
		}
	}
	return b
}

// awaitsBuffers tells of a pod that was started with other buffers than its template has now. It gets those with its
// next start, and is not restarted for them.
func awaitsBuffers(o Observed) bool {
	return o.Pod != nil && o.StatefulSet != nil &&
		buffersOf(o.Pod.Spec) != buffersOf(o.StatefulSet.Spec.Template.Spec)
}

// describeTuning is what is decided, and what the running pod has. What the agent has read last stays while it does not
// answer, of the same pod: the buffers that it was started with tell another one.
func describeTuning(last *v1alpha1.TuningStatus, d Desired, o Observed) *v1alpha1.TuningStatus {
	t := tuningOf(d, o)
	s := &v1alpha1.TuningStatus{}
	if t.known {
		s.Link, s.Arithmetic = t.slowest.To, t.slowest.Arithmetic()
	}
	if o.StatefulSet != nil {
		s.Next = shown(buffersOf(o.StatefulSet.Spec.Template.Spec))
	}
	if o.Pod != nil && o.Pod.DeletionTimestamp == nil {
		s.Pod = shown(buffersOf(o.Pod.Spec))
		switch {
		case o.TCP != nil:
			s.Kernel = &v1alpha1.TCPKernel{Receive: o.TCP.ReceiveMemory, Send: o.TCP.SendMemory,
				CongestionControl: o.TCP.CongestionControl}
		case last != nil && reflect.DeepEqual(last.Pod, s.Pod):
			s.Kernel = last.Kernel
		}
	}
	if *s == (v1alpha1.TuningStatus{}) {
		return nil
	}
	return s
}

func shown(b v1alpha1.TCPBuffers) *v1alpha1.TCPBuffers {
	if b == (v1alpha1.TCPBuffers{}) {
		return nil
	}
	// A server may declare what it likes for itself, and a status that is too long is not taken at all.
	return &v1alpha1.TCPBuffers{Receive: conditions.Shorten(b.Receive, longestSizes),
		Send: conditions.Shorten(b.Send, longestSizes)}
}

// longestSizes is how long a text about the sizes of buffers may be in the status.
const longestSizes = 64

// tunedCondition says whether the pod's connections have the buffers that the links ask for; nil while that is not
// known.
func tunedCondition(d Desired, o Observed) *metav1.Condition {
	if o.Site != nil || o.StatefulSet == nil {
		return nil
	}
	t := tuningOf(d, o)
	template := o.StatefulSet.Spec.Template.Spec
	if slices.ContainsFunc(t.sysctls, func(s corev1.Sysctl) bool { return !slices.Contains(sysctlsOf(template), s) }) {
		return nil // the template is being written, or kept
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionNetworkTuned, Status: metav1.ConditionTrue, Reason: t.reason,
		Message: t.why}
	switch {
	case t.reason == v1alpha1.ReasonBuffersNotSafe || t.reason == v1alpha1.ReasonBuffersRefused:
		c.Status = metav1.ConditionFalse
	case awaitsBuffers(o):
		c.Reason, c.Message = v1alpha1.ReasonBuffersAtNextStart, buffersWait(o)
	case notTaken(d, o) != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonBuffersNotTaken, notTaken(d, o)
	case t.reason == "":
		c.Reason, c.Message = v1alpha1.ReasonBuffersFromLinks, "connections have "+words(buffersOf(template))
		if t.known {
			c.Message += fmt.Sprintf("; the link to %s: %s", t.slowest.To, t.slowest.Arithmetic())
		}
	}
	return c
}

// notTaken says which buffers the running pod was started with and does not have, by what its agent has read last;
// empty when it has them, and while that is not known.
func notTaken(d Desired, o Observed) string {
	s := describeTuning(d.Server.Status.Tuning, d, o)
	if s == nil || s.Pod == nil || s.Kernel == nil {
		return ""
	}
	for _, one := range []struct{ name, given, has string }{{receiveMemory, s.Pod.Receive, s.Kernel.Receive},
		{sendMemory, s.Pod.Send, s.Kernel.Send}} {
		given, has := strings.Fields(one.given), strings.Fields(one.has)
		if len(given) > 0 && len(has) > 0 && !slices.Equal(given, has) {
			return fmt.Sprintf("the pod was started with %s %s, and its agent reads %s there: what runs containers on node %s "+
				"does not set it", one.name, one.given, one.has, o.Pod.Spec.NodeName)
		}
	}
	return ""
}

// buffersWait says what the pod's next start changes.
func buffersWait(o Observed) string {
	return fmt.Sprintf("with the pod's next start its connections have %s; now they have %s",
		words(buffersOf(o.StatefulSet.Spec.Template.Spec)), words(buffersOf(o.Pod.Spec)))
}

func words(b v1alpha1.TCPBuffers) string {
	const own = "the kernel's own"
	if b == (v1alpha1.TCPBuffers{}) {
		return own + " buffers"
	}
	return fmt.Sprintf("%s %s and %s %s", receiveMemory, cmp.Or(b.Receive, own), sendMemory, cmp.Or(b.Send, own))
}
