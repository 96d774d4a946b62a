// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// complaintWithin is how long a kubelet may take to say why it has ended a connection.
const complaintWithin = time.Second

// maxRefusal bounds what is kept of that, in bytes.
const maxRefusal = 4096

// Tunnel connects to a port of a pod through the API server of its cluster, by the rights of whoever config is for:
// create on pods/portforward. Nothing listens on this machine, so that nobody else on it gets in.
type Tunnel struct {
	// Config of the pod's cluster.
	Config         *rest.Config
	Namespace, Pod string
	Port           int
}

// Dial opens a connection, whatever address is asked for.
func (t Tunnel) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		// Nothing of client-go's forwarding takes a context.
		conn, err := t.open()
		opened <- result{conn, err}
	}()
	select {
	case r := <-opened:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if late := <-opened; late.conn != nil {
				_ = late.conn.Close()
			}
		}()
		return nil, t.failed(ctx.Err())
	}
}

// failed is an error by which nothing reached the pod.
func (t Tunnel) failed(err error) error {
	return &net.OpError{Op: "dial", Net: "portforward", Err: fmt.Errorf("forward to port %d of pod %s/%s: %w", t.Port,
		t.Namespace, t.Pod, err)}
}

func (t Tunnel) open() (net.Conn, error) {
	dialer, err := t.dialer()
	if err != nil {
		return nil, t.failed(err)
	}
	streams, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, t.failed(err)
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		_ = streams.Close()
		return nil, t.failed(fmt.Errorf("the API server speaks %q", protocol))
	}
	conn, err := t.connect(streams)
	if err != nil {
		_ = streams.Close()
		return nil, t.failed(err)
	}
	return conn, nil
}

// dialer speaks WebSocket, and SPDY with API servers that do not.
func (t Tunnel) dialer() (httpstream.Dialer, error) {
	config := rest.CopyConfig(t.Config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	asking, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	target := asking.Post().Namespace(t.Namespace).Resource("pods").Name(t.Pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	socket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	plain := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	return portforward.NewFallbackDialerForStreaming(socket, plain, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// connect asks for a stream of data, beside the one on which the kubelet says what is wrong.
func (t Tunnel) connect(streams httpstream.Connection) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(t.Port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	complaints, err := streams.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = complaints.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := streams.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	c := &tunnelled{Conn: here, tunnel: t, closed: make(chan struct{}), complained: make(chan struct{})}
	go func() {
		defer close(c.complained)
		text, _ := io.ReadAll(io.LimitReader(complaints, maxRefusal))
		c.complaint = strings.TrimSpace(string(text))
	}()
	over := func() {
		// Streams keep no order among each other: the end of the data may be here before the reason, which goes with the
		// streams.
		c.listen()
		_ = there.Close()
		_ = streams.Close()
	}
	go func() {
		_, _ = io.Copy(there, data)
		over()
	}()
	go func() {
		_, _ = io.Copy(data, there)
		over()
	}()
	return c, nil
}

// tunnelled is the near end of a connection.
type tunnelled struct {
	net.Conn
	tunnel Tunnel
	// read is set with the first byte.
	read atomic.Bool
	// hangUp closes closed, when it is this side that ends the connection.
	hangUp sync.Once
	closed chan struct{}
	// complaint of the kubelet, once complained is closed.
	complaint  string
	complained chan struct{}
}

// Close hangs up.
func (c *tunnelled) Close() error {
	c.hangUp.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// listen waits for what the kubelet says of the end of a connection, while somebody may want to know.
func (c *tunnelled) listen() {
	timer := time.NewTimer(complaintWithin)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.closed:
	case <-c.complained:
	}
}

// Read reads.
func (c *tunnelled) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Store(c.read.Load() || n > 0)
	return n, c.explain(err)
}

// Write writes.
func (c *tunnelled) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.explain(err)
}

// explain has the end of a connection say what the kubelet has said of it.
func (c *tunnelled) explain(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	select {
	case <-c.complained:
	default:
		return err
	}
	switch {
	case c.complaint == "":
		return err
	case !c.read.Load():
		return c.tunnel.failed(errors.New(c.complaint))
	}
	return &net.OpError{Op: "read", Net: "portforward", Err: errors.New(c.complaint)}
}
