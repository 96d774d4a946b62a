// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package kubelet answers a real API server as the kubelet of a node does to whoever forwards a port of a pod or reads
// a container's log. No pod runs: a test says where a pod's ports lead, and what its containers have written.
package kubelet

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/support/apiserver"
)

// Kubelet is that of one node of a cluster.
type Kubelet struct {
	// Node is its name.
	Node string

	cluster *apiserver.Server

	mu    sync.Mutex
	ports map[string]string
	logs  map[string]*written
}

// written is what a container has written.
type written struct {
	lines []Line
	// life is how often the container has ended.
	life int
	// more is closed when any of it is another.
	more chan struct{}
}

// Line is one of a log.
type Line struct {
	At   time.Time
	Text string
}

// Start starts one, and declares its node. It ends with the test.
func Start(t testing.TB, cluster *apiserver.Server) *Kubelet {
	t.Helper()
	k := &Kubelet{Node: "worker", cluster: cluster, ports: map[string]string{}, logs: map[string]*written{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.portForward)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.containerLogs)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.Node}}
	if err := cluster.Client.Create(t.Context(), node); err != nil {
		t.Fatalf("create node %s: %v", k.Node, err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	if err := cluster.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatalf("say where the kubelet of node %s is: %v", k.Node, err)
	}
	return k
}

// Runs makes a pod that runs on the node, with these labels and containers.
func (k *Kubelet) Runs(t testing.TB, namespace, name string, labels map[string]string, containers ...string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{NodeName: k.Node, ServiceAccountName: "default", AutomountServiceAccountToken: ptr.To(false)}}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c, Image: c + ":1"})
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	for _, object := range []client.Object{account, pod} {
		if err := k.cluster.Client.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
			t.Fatalf("create %T %s/%s: %v", object, namespace, object.GetName(), err)
		}
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := k.cluster.Client.Status().Update(t.Context(), pod); err != nil {
		t.Fatalf("say that pod %s/%s runs: %v", namespace, name, err)
	}
}

// Forward has a port of a pod lead to an address of this machine.
func (k *Kubelet) Forward(namespace, pod string, port int, address string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ports[fmt.Sprintf("%s/%s:%d", namespace, pod, port)] = address
}

// Log has a container write lines.
func (k *Kubelet) Log(namespace, pod, container string, lines ...Line) {
	k.change(namespace, pod, container, func(l *written) { l.lines = append(l.lines, lines...) })
}

// EndLog ends the streams of those who follow a container's log, as its end does. What it wrote stays.
func (k *Kubelet) EndLog(namespace, pod, container string) {
	k.change(namespace, pod, container, func(l *written) { l.life++ })
}

func (k *Kubelet) change(namespace, pod, container string, do func(*written)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := namespace + "/" + pod + "/" + container
	l := k.logs[key]
	if l == nil {
		l = &written{more: make(chan struct{})}
		k.logs[key] = l
	}
	do(l)
	close(l.more)
	l.more = make(chan struct{})
}

// after are the lines of a log from one on, which life of the container it is, and what is closed when that changes.
func (k *Kubelet) after(l *written, sent int) (lines []Line, life int, more chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(l.lines[sent:]), l.life, l.more
}

// containerLogs writes a log as PodLogOptions ask for it.
func (k *Kubelet) containerLogs(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("namespace") + "/" + r.PathValue("pod") + "/" + r.PathValue("container")
	k.mu.Lock()
	l := k.logs[key]
	k.mu.Unlock()
	if l == nil {
		http.Error(w, "no log of "+key, http.StatusNotFound)
		return
	}
	query := r.URL.Query()
	lines, began, more := k.after(l, 0)
	sent := len(lines)
	since, err := time.Parse(time.RFC3339, query.Get("sinceTime"))
	if seconds, asked := strconv.Atoi(query.Get("sinceSeconds")); err != nil && asked == nil {
		since = time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	lines = slices.DeleteFunc(lines, func(l Line) bool { return l.At.Before(since) })
	if tail, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		lines = lines[max(0, len(lines)-tail):]
	}
	left, err := strconv.Atoi(query.Get("limitBytes"))
	if err != nil {
		left = math.MaxInt
	}
	for {
		for _, line := range lines {
			text := line.Text + "\n"
			if query.Get("timestamps") == "true" {
				text = line.At.UTC().Format(time.RFC3339Nano) + " " + text
			}
			text = text[:min(left, len(text))]
			left -= len(text)
			_, _ = io.WriteString(w, text)
		}
		if query.Get("follow") != "true" {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-more:
		}
		life := 0
		if lines, life, more = k.after(l, sent); life != began {
			return
		}
		sent += len(lines)
	}
}

// opened is a stream that somebody asked for.
type opened struct {
	httpstream.Stream
	// told is closed when they have been told that they have it.
	told <-chan struct{}
}

// portForward carries streams to where the pod's port leads, as
// kubernetes.io/docs/reference/kubernetes-api (pods/portforward) has them: for each connection one of errors and one of
// data.
func (k *Kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	pod := r.PathValue("namespace") + "/" + r.PathValue("pod")
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardV1Name}); err != nil {
		return
	}
	streams := make(chan opened, 16)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, told <-chan struct{}) error {
		streams <- opened{s, told}
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	complaints := map[string]opened{}
	for {
		select {
		case <-conn.CloseChan():
			return
		case s := <-streams:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				complaints[id] = s
				continue
			}
			go k.carry(pod, s, complaints[id])
		}
	}
}

// carry leads one connection.
func (k *Kubelet) carry(pod string, data opened, complaints httpstream.Stream) {
	<-data.told // what is sent before is lost
	defer complaints.Close()
	defer data.Close()
	port := data.Headers().Get(corev1.PortHeader)
	k.mu.Lock()
	address := k.ports[pod+":"+port]
	k.mu.Unlock()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintf(complaints, "error forwarding port %s to pod %s: %v", port, pod, err)
		return
	}
	ended := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(conn, data); ended <- struct{}{} }()
	go func() { _, _ = io.Copy(data, conn); ended <- struct{}{} }()
	<-ended
	_ = conn.Close()
}
