// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/e2e/bed"
)

// The tests take turns on the bed.
func TestMain(m *testing.M) {
	code := bed.Main(m)
	removeShells()
	os.Exit(code)
}

// The round-trip times that hack/bed/wan reset asks for, in milliseconds.
var defaultMatrix = map[[2]string]float64{
	{"tukwila", "quincy"}: 4,
	{"tukwila", "dublin"}: 150,
	{"quincy", "dublin"}:  146,
}

func roundTrip(a, b string) float64 {
	return max(defaultMatrix[[2]string{a, b}], defaultMatrix[[2]string{b, a}])
}

// connectTime returns the median of 9 TCP connect times from the pod to an address, in milliseconds.
func connectTime(ctx context.Context, from *bed.Shell, address string, port int) (float64, error) {
	out, err := from.Run(ctx, fmt.Sprintf(
		`for i in $(seq 9); do curl -sk -o /dev/null -m 5 -w '%%{time_connect}\n' http://%s:%d/; done; true`, address, port))
	if err != nil {
		return 0, err
	}
	var times []float64
	for _, line := range strings.Fields(out) {
		seconds, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return 0, fmt.Errorf("curl printed %q for its connect time: %w", line, err)
		}
		if seconds == 0 {
			return 0, fmt.Errorf("no connection from %s to %s:%d", from.Site.Name, address, port)
		}
		times = append(times, seconds*1000)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// expectRoundTrip holds the bed to its word: within 10 % or 1 ms of what was asked, whichever is more.
func expectRoundTrip(t *testing.T, what string, from *bed.Shell, address string, port int, asked float64) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		took, err := connectTime(t.Context(), from, address, port)
		g.Expect(err).NotTo(HaveOccurred())
		t.Logf("%s: %.2f ms (asked %.0f ms)", what, took, asked)
		g.Expect(took).To(BeNumerically("~", asked, max(asked/10, 1)), what)
	}).WithTimeout(45 * time.Second).WithPolling(time.Second).Should(Succeed())
}

const echoPort = 9000

func TestBedRoundTrips(t *testing.T) {
	b := bed.Open(t, client.Options{})
	b.ResetWan(t)
	namespace := b.Namespace(t, "wan")
	shells := map[string]*bed.Shell{}
	for _, site := range b.Sites {
		shells[site.Name] = site.StartShell(t, site.ShellPod(t, namespace, "shell",
			fmt.Sprintf("exec socat TCP-LISTEN:%d,fork,reuseaddr,backlog=64 SYSTEM:true", echoPort)))
	}
	between := func(t *testing.T, from, to *bed.Site) {
		t.Run(from.Name+" to "+to.Name, func(t *testing.T) {
			asked := roundTrip(from.Name, to.Name)
			if asked > 100 {
				t.Parallel() // these wait, and what others compute meanwhile is little beside their tolerance
			}
			expectRoundTrip(t, "pod to pod", shells[from.Name], shells[to.Name].Pod.Status.PodIP, echoPort, asked)
			expectRoundTrip(
				t,
				"pod to Service",
				shells[from.Name],
				remoteService(t, from, namespace, to.Name, shells[to.Name].Pod.Status.PodIP),
				echoPort,
				asked,
			)
			expectRoundTrip(t, "pod to API server", shells[from.Name], to.Address, 6443, asked)
		})
	}
	t.Run("between sites", func(t *testing.T) {
		for _, from := range b.Sites {
			for _, to := range b.Sites {
				if from != to {
					between(t, from, to)
				}
			}
		}
	})
	t.Run("within a site", func(t *testing.T) {
		shell := shells["tukwila"]
		expectRoundTrip(t, "pod to its own site's API server", shell, shell.Site.Address, 6443, 0)
	})
}

// remoteService makes a Service whose one endpoint is a pod of another site, and returns its cluster address.
func remoteService(t *testing.T, at *bed.Site, namespace, name, podIP string) string {
	t.Helper()
	g := NewWithT(t)
	port, protocol, portName := int32(echoPort), corev1.ProtocolTCP, "echo"
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{Name: portName, Port: port, TargetPort: intstr.FromInt32(port)}},
		}}
	g.Expect(at.Client.Create(t.Context(), service)).To(Succeed())
	g.Expect(at.Client.Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
			Labels:    map[string]string{discoveryv1.LabelServiceName: name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{podIP}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port, Protocol: &protocol}},
	})).To(Succeed())
	return service.Spec.ClusterIP
}

func TestBedCutAndHeal(t *testing.T) {
	b := bed.Open(t, client.Options{})
	b.ResetWan(t)
	namespace := b.Namespace(t, "cut")
	shells := map[string]*bed.Shell{}
	for _, site := range b.Sites {
		shells[site.Name] = site.StartShell(t, site.ShellPod(t, namespace, "shell",
			fmt.Sprintf("exec socat TCP-LISTEN:%d,fork,reuseaddr,backlog=64 SYSTEM:true", echoPort)))
	}
	reaches := func(g Gomega, from, address string, port int) bool {
		out, err := shells[from].Run(
			t.Context(),
			fmt.Sprintf(`timeout 3 bash -c 'exec 3<>/dev/tcp/%s/%d && echo open' || true`, address, port),
		)
		g.Expect(err).NotTo(HaveOccurred())
		return strings.Contains(out, "open")
	}
	expect := func(from, to string, open bool) {
		t.Helper()
		NewWithT(t).Eventually(func(g Gomega) {
			g.Expect(reaches(g, from, shells[to].Pod.Status.PodIP, echoPort)).To(Equal(open), "pod of %s from %s", to, from)
			g.Expect(reaches(g, from, b.Site(to).Address, 6443)).To(Equal(open), "API server of %s from %s", to, from)
		}).WithTimeout(30 * time.Second).Should(Succeed())
	}
	expect("tukwila", "dublin", true)
	b.Wan(t, "cut", "tukwila", "dublin")
	expect("tukwila", "dublin", false)
	expect("dublin", "tukwila", false)
	expect("tukwila", "quincy", true)
	expect("quincy", "dublin", true)
	b.Wan(t, "heal", "tukwila", "dublin")
	expect("tukwila", "dublin", true)
	expect("dublin", "tukwila", true)
}

func TestBedLetsNothingOut(t *testing.T) {
	b := bed.Open(t, client.Options{})
	namespace := b.Namespace(t, "isolation")
	for _, site := range b.Sites {
		shell := site.StartShell(t, site.ShellPod(t, namespace, "shell", "exec sleep infinity"))
		for _, address := range []string{"10.250.0.1", "192.168.77.1", "192.0.2.1"} {
			t.Run(site.Name+" to "+address, func(t *testing.T) {
				g := NewWithT(t)
				// Ten in a row: a rejection that is only likely, or limited in rate, does not pass.
				out, err := shell.Run(t.Context(), fmt.Sprintf(
					`for i in $(seq 10); do curl -s -o /dev/null -m 5 -w '%%{errormsg} after %%{time_total}\n' http://%s/; done; true`,
					address,
				))
				g.Expect(err).NotTo(HaveOccurred())
				lines := strings.Split(out, "\n")
				g.Expect(lines).To(HaveLen(10))
				for _, line := range lines {
					_, seconds, found := strings.Cut(line, " after 0.")
					g.Expect(found).To(BeTrue(), "a second or more, or no rejection: %q", line)
					g.Expect(seconds).NotTo(BeEmpty())
					g.Expect(line).To(ContainSubstring("connect to"), "the connection is rejected, not timed out")
				}
			})
		}
		t.Run(site.Name+" asks for an unknown name", func(t *testing.T) {
			g := NewWithT(t)
			// getent's code 2: the name does not exist. A resolver that cannot tell gives the same code late.
			out, err := shell.Run(
				t.Context(),
				`since=$(date +%s%N); getent hosts name.example.com; code=$?; echo $code $(( ($(date +%s%N) - since) / 1000000 ))`,
			)
			g.Expect(err).NotTo(HaveOccurred())
			var code, milliseconds int
			_, err = fmt.Sscan(out, &code, &milliseconds)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(code).To(Equal(2), "the name must not resolve")
			g.Expect(milliseconds).To(BeNumerically("<", 1000))
			// The answer itself: the low half of its fourth byte is the response code, 3 for NXDOMAIN (RFC 1035, 4.1.1).
			out, err = shell.Run(
				t.Context(),
				`printf '\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04name\x07example\x03com\x00\x00\x01\x00\x01' |
				socat -t 1 - UDP:$(awk '$1 == "nameserver" {print $2; exit}' /etc/resolv.conf):53 | od -An -tx1 -j3 -N1 | cut -c3`,
			)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(Equal("3"), "the answer's code must be NXDOMAIN")
			out, err = shell.Run(t.Context(), "getent hosts kubernetes.default.svc.cluster.local")
			g.Expect(err).NotTo(HaveOccurred(), "the cluster's own names do resolve")
			g.Expect(out).To(ContainSubstring("kubernetes"))
		})
	}
	t.Run("the host rejects what a node lets pass", func(t *testing.T) {
		g := NewWithT(t)
		node := b.Site("quincy").Nodes[0]
		request := "curl -s -m 3 -o /dev/null -w '%{errormsg}; ' http://10.250.0.1/ || true"
		g.Expect(b.NodeExec(t, node, "sh", "-c", request)).To(ContainSubstring("to 10.250.0.1"))
		before := rejectedByHost(t)
		// The node's own rule is out of the way for this one request.
		out := b.NodeExec(
			t,
			node,
			"sh",
			"-c",
			"trap 'iptables -w -I OUTPUT -o eth0 -j GEOSQL-BED' EXIT; iptables -w -D OUTPUT -o eth0 -j GEOSQL-BED; "+request,
		)
		g.Expect(out).To(ContainSubstring("to 10.250.0.1"))
		g.Expect(rejectedByHost(t)).To(BeNumerically(">", before), "packets that the host's rule counted")
	})
}

// rejectedByHost is how many packets of nodes the host's own rule has rejected.
func rejectedByHost(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("iptables", "-w", "-nvxL", "DOCKER-USER").Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, line := range strings.Split(string(out), "\n") {
		if columns := strings.Fields(line); len(columns) > 2 && columns[2] == "REJECT" &&
			strings.Contains(line, "br-geosql") {
			packets, err := strconv.Atoi(columns[0])
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			return packets
		}
	}
	t.Fatalf("the host has no rule that rejects what leaves the bed; its chain is:\n%s", out)
	return 0
}

// TestDataOutliveARestartOfTheNode stays in front of the tests that take turns: it restarts a node.
func TestDataOutliveARestartOfTheNode(t *testing.T) {
	onlyInAll(t)
	b := bed.Open(t, client.Options{})
	namespace := b.Namespace(t, "durable")
	g := NewWithT(t)
	site := b.Site("quincy")
	pod := site.ShellPod(
		t,
		namespace,
		"durable",
		"[ -f /volume-0/file ] || date +%s%N >/volume-0/file; exec sleep infinity",
	)
	addVolumes(t, site, pod, "capacity")
	shell := site.StartShell(t, pod)
	var before string
	g.Eventually(func() (string, error) {
		var err error
		before, err = shell.Run(t.Context(), "cat /volume-0/file")
		return before, err
	}).WithTimeout(20 * time.Second).ShouldNot(BeEmpty())
	_, _, err := site.Kubectl(t.Context(), "cordon", pod.Spec.NodeName)
	g.Expect(err).NotTo(HaveOccurred())
	b.RestartNode(t, pod.Spec.NodeName)
	var node corev1.Node
	g.Expect(site.Client.Get(t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, &node)).To(Succeed())
	g.Expect(node.Spec.Unschedulable).To(BeFalse(), "the bed uncordons its nodes")
	g.Eventually(func() (string, error) { return shell.Run(t.Context(), "cat /volume-0/file") }).
		WithTimeout(60 * time.Second).WithPolling(time.Second).Should(Equal(before))
}

func TestBedStorageClasses(t *testing.T) {
	bed.Beside(t, 30)
	b := bed.Open(t, client.Options{})
	namespace := b.Namespace(t, "storage")
	allowed := map[string][]string{
		"tukwila/fast":     {"tukwila-worker"},
		"tukwila/capacity": {"tukwila-worker", "tukwila-worker2"},
		"tukwila/archive":  {"tukwila-worker2"},
		"quincy/fast":      {"quincy-control-plane"},
		"quincy/capacity":  {"quincy-control-plane"},
		"dublin/fast":      {"dublin-control-plane"},
		"dublin/capacity":  {"dublin-control-plane"},
	}
	t.Run("of every site", func(t *testing.T) {
		for key, nodes := range allowed {
			siteName, class, _ := strings.Cut(key, "/")
			t.Run(key, func(t *testing.T) {
				t.Parallel() // each waits for a pod of its own
				g := NewWithT(t)
				site := b.Site(siteName)
				pod := site.ShellPod(t, namespace, class, "echo kept >/volume-0/file && exec sleep infinity")
				addVolumes(t, site, pod, class)
				site.StartShell(t, pod)
				g.Expect(nodes).To(ContainElement(pod.Spec.NodeName))
				g.Eventually(func() (string, error) {
					return (&bed.Shell{Site: site, Pod: pod}).Run(t.Context(), "cat /volume-0/file; id -u")
				}).WithTimeout(20 * time.Second).Should(Equal("kept\n10001"))
			})
		}
	})
	t.Run("tukwila has no node for fast and archive together", func(t *testing.T) {
		site := b.Site("tukwila")
		pod := site.ShellPod(t, namespace, "nowhere", "exec sleep infinity")
		addVolumes(t, site, pod, "fast", "archive")
		NewWithT(t).Expect(site.Client.Create(t.Context(), pod)).To(Succeed())
		bed.Wait(t, "the scheduler finds no node", 60*time.Second, func(ctx context.Context) (bool, string, error) {
			if err := site.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
				return false, "", err
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled {
					return condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable &&
						strings.Contains(condition.Message, "didn't find available persistent volumes to bind"), condition.Message, nil
				}
			}
			return false, string(pod.Status.Phase), nil
		})
	})
}

// addVolumes gives the pod a new volume of each class, mounted at /volume-0, /volume-1 and so on.
func addVolumes(t *testing.T, site *bed.Site, pod *corev1.Pod, classes ...string) {
	t.Helper()
	for i, class := range classes {
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name + "-" + class},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class,
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")},
				},
			},
		}
		if err := site.Client.Create(t.Context(), claim); err != nil {
			t.Fatalf("claim of class %s at %s: %v", class, site.Name, err)
		}
		volume := fmt.Sprintf("volume-%d", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}})
		pod.Spec.Containers[0].VolumeMounts = append(
			pod.Spec.Containers[0].VolumeMounts,
			corev1.VolumeMount{Name: volume, MountPath: "/" + volume},
		)
	}
}
