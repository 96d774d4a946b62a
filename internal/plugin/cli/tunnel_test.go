// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"geosql.dev/operator/internal/plugin/cli"
)

// A kubelet says on one stream why it ends another, and the end may be here before the reason: it is told all the same.
func TestWhyAConnectionEndsIsTold(t *testing.T) {
	for name, greeting := range map[string]string{"before anything was read": "", "later": "hello"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			conn := dialPod(t, func(complaints, data httpstream.Stream, gone <-chan bool) {
				_, _ = io.WriteString(data, greeting)
				_ = data.Close()
				select {
				case <-gone: // nobody has waited for the reason
				case <-time.After(100 * time.Millisecond):
				}
				_, _ = io.WriteString(complaints, "nobody listens there\n")
				_ = complaints.Close()
			})
			read, err := io.ReadAll(conn)
			g.Expect(string(read)).To(Equal(greeting))
			g.Expect(err).To(MatchError(ContainSubstring("nobody listens there")))
			var op *net.OpError
			g.Expect(errors.As(err, &op)).To(BeTrue(), "%v", err)
			g.Expect(op.Op == "dial").To(Equal(greeting == ""), "%v", err)
			_, err = io.WriteString(conn, "anybody?")
			g.Expect(err).To(MatchError(ContainSubstring("nobody listens there")))
		})
	}
}

// Who hangs up does not wait for a reason, and has the streams closed.
func TestHangingUp(t *testing.T) {
	g := NewWithT(t)
	heard, over := make(chan string, 1), make(chan struct{})
	conn := dialPod(t, func(_, data httpstream.Stream, gone <-chan bool) {
		text := make([]byte, len("bye"))
		_, _ = io.ReadFull(data, text)
		heard <- string(text)
		<-gone
		close(over)
	})
	_, err := io.WriteString(conn, "bye")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(heard, 20*time.Second).Should(Receive(Equal("bye")))
	g.Expect(conn.Close()).To(Succeed())
	g.Eventually(over, 20*time.Second).Should(BeClosed())
	_, err = conn.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.ErrClosedPipe))
}

// dialPod dials through an API server that has carry answer as a kubelet: gone is closed when the connection is.
func dialPod(t *testing.T, carry func(complaints, data httpstream.Stream, gone <-chan bool)) net.Conn {
	t.Helper()
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/web/pods/tukpub-0/portforward" {
			http.Error(w, "no WebSocket here", http.StatusBadRequest)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return
		}
		streams := make(chan httpstream.Stream, 2)
		told := make(chan (<-chan struct{}), 2)
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, sent <-chan struct{}) error {
			streams <- s
			told <- sent
			return nil
		})
		if conn == nil {
			return
		}
		defer conn.Close()
		complaints, data := <-streams, <-streams
		for range 2 {
			<-<-told // what is sent before is lost
		}
		if complaints.Headers().Get(corev1.StreamType) != corev1.StreamTypeError {
			t.Error("the first stream is none of errors")
		}
		carry(complaints, data, conn.CloseChan())
		<-conn.CloseChan()
	}))
	t.Cleanup(server.Close)
	tunnel := cli.Tunnel{Config: &rest.Config{Host: server.URL}, Namespace: "web", Pod: "tukpub-0", Port: 1433}
	conn, err := tunnel.Dial(t.Context(), "tcp", "ignored:1")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
