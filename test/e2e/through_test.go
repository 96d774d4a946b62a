// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// pipe is a connection that a pod makes: bytes go through the API server to socat in the pod, which resolves the name
// and connects from there, over the pod's network and the WAN.
type pipe struct {
	command *bed.Attached
	stdout  *deadlineReader
}

// dialFrom connects from the pod; the address is resolved there.
func dialFrom(from *bed.Shell) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) {
		// The dialer's context is over with the dialing, the connection is not: socat ends what is silent for ten minutes.
		command, err := from.Site.Attach(
			context.Background(),
			from.Pod.Namespace,
			from.Pod.Name,
			"socat",
			"-T600",
			"-",
			"TCP:"+address+",connect-timeout=3",
		)
		if err != nil {
			return nil, err
		}
		return &pipe{command: command, stdout: newDeadlineReader(command.Stdout)}, nil
	}
}

func (p *pipe) Read(b []byte) (int, error)         { return p.stdout.Read(b) }
func (p *pipe) Write(b []byte) (int, error)        { return p.command.Stdin.Write(b) }
func (p *pipe) Close() error                       { return p.command.Close() }
func (p *pipe) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (p *pipe) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (p *pipe) SetDeadline(t time.Time) error      { return p.SetReadDeadline(t) }
func (p *pipe) SetReadDeadline(t time.Time) error  { p.stdout.deadline(t); return nil }
func (p *pipe) SetWriteDeadline(_ time.Time) error { return nil }

// deadlineReader gives a pipe's reading end deadlines.
type deadlineReader struct {
	mu     sync.Mutex
	limit  time.Time
	change chan struct{}
	data   chan []byte
	rest   []byte
}

func newDeadlineReader(r io.Reader) *deadlineReader {
	d := &deadlineReader{data: make(chan []byte, 16), change: make(chan struct{}, 1)}
	go func() {
		for {
			buffer := make([]byte, 32<<10)
			n, err := r.Read(buffer)
			if n > 0 {
				d.data <- buffer[:n]
			}
			if err != nil {
				close(d.data)
				return
			}
		}
	}()
	return d
}

func (d *deadlineReader) deadline(t time.Time) {
	d.mu.Lock()
	d.limit = t
	d.mu.Unlock()
	select {
	case d.change <- struct{}{}:
	default:
	}
}

func (d *deadlineReader) Read(b []byte) (int, error) {
	for len(d.rest) == 0 {
		d.mu.Lock()
		limit := d.limit
		d.mu.Unlock()
		var expire <-chan time.Time
		if !limit.IsZero() {
			timer := time.NewTimer(time.Until(limit))
			defer timer.Stop()
			expire = timer.C
		}
		select {
		case chunk, ok := <-d.data:
			if !ok {
				return 0, io.EOF
			}
			d.rest = chunk
		case <-d.change:
		case <-expire:
			return 0, &net.OpError{Op: "read", Net: "exec", Err: context.DeadlineExceeded}
		}
	}
	n := copy(b, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// connectorFrom connects to servers of a namespace from a pod, by their names, with TLS verified against the CA that
// the hub's Secrets have.
func connectorFrom(t *testing.T, b *bed.Bed, from *bed.Shell) *mssql.Connector {
	t.Helper()
	c := mssql.NewConnector(mssql.Options{
		Access:  mssql.SecretAccess{Reader: b.Hub().Client},
		Dial:    dialFrom(from),
		Address: func(t mssql.Target) string { return credentials.HostName(t.Server) + ":1433" },
		Program: "e2e from " + from.Site.Name,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// shells are the pods from which tests connect, one at each site, by name of the site.
var shells = struct {
	sync.Mutex
	at map[string]*bed.Shell
}{at: map[string]*bed.Shell{}}

// shellAt is the pod from which tests connect at a site; it is started where none runs, and goes after all tests.
func shellAt(t *testing.T, s *bed.Site, namespace string) *bed.Shell {
	t.Helper()
	shells.Lock()
	defer shells.Unlock()
	if h := shells.at[s.Name]; h != nil {
		pod := h.Pod.DeepCopy()
		if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err == nil && bed.Ready(pod) &&
			pod.UID == h.Pod.UID {
			return &bed.Shell{Site: s, Pod: pod}
		}
	}
	name := fmt.Sprintf("client-%x", time.Now().UnixNano()&0xffffff)
	h := s.StartShell(t, s.ShellPod(t, namespace, name, "exec sleep infinity"))
	shells.at[s.Name] = h
	return h
}

// removeShells takes the pods away that shellAt has started.
func removeShells() {
	for _, h := range shells.at {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if err := client.IgnoreNotFound(h.Site.Client.Delete(ctx, h.Pod)); err != nil {
			fmt.Fprintf(os.Stderr, "delete pod %s at %s: %v\n", h.Pod.Name, h.Site.Name, err)
		}
		cancel()
	}
}

// describeServer is the line that a waiting test logs.
func describeServer(s *v1alpha1.SQLServer) (ready bool, text string) {
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c.Status == "True", strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message))
		}
	}
	return false, "no condition yet"
}

func waitForServer(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer, timeout time.Duration) {
	t.Helper()
	bed.Wait(t, "SQLServer "+server.Name+" is ready", timeout, func(ctx context.Context) (bool, string, error) {
		if err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
			return false, "", err
		}
		ready, text := describeServer(server)
		return ready, text, nil
	})
}

func podOf(ctx context.Context, s *bed.Site, server *v1alpha1.SQLServer) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: server.Name + "-0"}, &pod)
	return &pod, err
}
