// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/link"
	"geosql.dev/operator/test/support/ports"
)

// serving answers at a listener until the test is over.
func serving(t *testing.T, l net.Listener, run string) string {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- answerAll(t.Context(), l, run) }()
	t.Cleanup(func() {
		_ = l.Close()
		NewWithT(t).Expect(<-ended).To(Succeed())
	})
	return l.Addr().String()
}

func listening(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func asking(run string) Options {
	return Options{Run: run, Bytes: DefaultBytes, Count: DefaultCount, Timeout: 2 * time.Second}
}

// What is asked is what the program is told, and what it prints is what was found.
func TestThePodsProgramAsks(t *testing.T) {
	g := NewWithT(t)
	free := ports.Free(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	serve := NewCommand()
	serve.SetArgs(ServeArguments("r1", []int32{int32(free)})[1:])
	go func() { ended <- serve.ExecuteContext(ctx) }()

	to := net.JoinHostPort("127.0.0.1", strconv.Itoa(free))
	o := asking("r1")
	o.To, o.Names, o.Patience = []string{to}, []string{"localhost"}, 10*time.Second
	o.Connect = []string{to, "127.0.0.1:1"}
	var out bytes.Buffer
	ask := NewCommand()
	ask.SetOut(&out)
	ask.SetArgs(o.Arguments()[1:])
	g.Expect(ask.ExecuteContext(t.Context())).To(Succeed())
	var a Answer
	g.Expect(json.Unmarshal(out.Bytes(), &a)).To(Succeed())
	g.Expect(a.Ports).To(Equal([]Port{{To: to}}))
	g.Expect(a.Names).To(ConsistOf(And(HaveField("Name", "localhost"), HaveField("Error", ""),
		HaveField("Addresses", Not(BeEmpty())))))
	g.Expect(a.Connect).To(HaveExactElements(Port{To: to}, HaveField("Failure", Refused)))
	g.Expect(a.Way).NotTo(BeNil())
	g.Expect(*a.Way).To(And(HaveField("To", to), HaveField("Connections", DefaultCount), HaveField("Lost", 0)))
	g.Expect(a.Way.RoundTrip).To(BeNumerically(">", 0))
	for _, transfer := range []Transfer{a.Way.There, a.Way.Back} {
		g.Expect(transfer).To(And(HaveField("Bytes", DefaultBytes), HaveField("Failure", Failure(""))))
		g.Expect(transfer.Took).To(BeNumerically(">", 0))
	}
	g.Expect(a.Way.Interface).To(BeNumerically(">=", a.Way.Path))
	g.Expect(a.Way.Path).To(BeNumerically(">", a.Way.Segment))
	g.Expect(a.Way.Segment).To(BeNumerically(">", 0))
	stop()
	g.Expect(<-ended).To(Succeed())
}

// How it failed is told apart, and what else answers is not taken for the other side.
func TestHowAnAddressFails(t *testing.T) {
	g := NewWithT(t)
	deaf := listening(t) // its kernel accepts, and nobody ever speaks
	closed := listening(t)
	_ = closed.Close()
	o := asking("r1")
	o.Timeout = 300 * time.Millisecond
	o.To = []string{serving(t, listening(t), "r2"), deaf.Addr().String(), closed.Addr().String(), "nosuch.invalid:1433"}
	o.Names = []string{"nosuch.invalid"}
	a := Ask(t.Context(), o)
	g.Expect(a.Way).To(BeNil())
	g.Expect(a.Ports).To(HaveExactElements(HaveField("Failure", Another), HaveField("Failure", Silent),
		HaveField("Failure", Refused), HaveField("Failure", NoName)))
	g.Expect(a.Ports).To(HaveEach(HaveField("Error", Not(BeEmpty()))))
	g.Expect(a.Names).To(HaveExactElements(HaveField("Error", Not(BeEmpty()))))
}

// A web server is no probe either.
func TestSomethingElseAnswers(t *testing.T) {
	g := NewWithT(t)
	l := listening(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n"+strings.Repeat("x", 2*maxLine))
			_ = conn.Close()
		}
	}()
	o := asking("r1")
	o.To = []string{l.Addr().String()}
	g.Expect(Ask(t.Context(), o).Ports).To(HaveExactElements(HaveField("Failure", Another)))
}

// What is slow to come is awaited, and so is what is slow to be shut.
func TestPatience(t *testing.T) {
	g := NewWithT(t)
	later := listening(t)
	address := later.Addr().String()
	_ = later.Close()
	go func() {
		select {
		case <-t.Context().Done():
		case <-time.After(300 * time.Millisecond):
			if l, err := net.Listen("tcp", address); err == nil {
				context.AfterFunc(t.Context(), func() { _ = l.Close() })
				_ = answerAll(t.Context(), l, "r1")
			}
		}
	}()
	shut := listening(t)
	closing := serving(t, shut, "r1")
	time.AfterFunc(600*time.Millisecond, func() { _ = shut.Close() })
	o := asking("r1")
	o.To, o.Closed, o.Patience = []string{address}, []string{closing}, 10*time.Second
	a := Ask(t.Context(), o)
	g.Expect(a.Ports).To(Equal([]Port{{To: address}}))
	// Whoever is in the queue while the listener goes is reset.
	g.Expect(a.Closed).To(HaveExactElements(HaveField("Failure", Not(BeEmpty()))))

	open := serving(t, listening(t), "r1")
	o = asking("r1")
	o.Closed = []string{open}
	g.Expect(Ask(t.Context(), o).Closed).To(Equal([]Port{{To: open}}), "nothing shuts it")
}

// Nobody is sent, or has read, more than is bounded.
func TestWhatAGuestAsksIsBounded(t *testing.T) {
	g := NewWithT(t)
	conn, err := net.Dial("tcp", serving(t, listening(t), "r1"))
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	g.Expect(conn.SetDeadline(time.Now().Add(10 * time.Second))).To(Succeed())
	_, err = fmt.Fprintf(conn, "%s r1 -5 %d\n", word, 100<<20)
	g.Expect(err).NotTo(HaveOccurred())
	sent, err := io.Copy(io.Discard, conn)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sent).To(BeEquivalentTo(maxBytes + len(word+" r1\n")))
}

// A way that swallows packets of full size lets connections through, and no data: one way here, and not the other.
func TestAWayThatSwallowsFullPackets(t *testing.T) {
	g := NewWithT(t)
	l := link.New(t)
	// The far end takes packets of 1300 bytes and says that it takes longer ones, as the other end of a tunnel does.
	l.Swallow(t, 1300)
	far, err := l.Listen()
	g.Expect(err).NotTo(HaveOccurred())
	o := asking("r1")
	o.Count, o.Timeout = 3, time.Second
	o.To = []string{serving(t, far, "r1")}
	a := Ask(t.Context(), o)
	g.Expect(a.Ports).To(HaveExactElements(HaveField("Failure", Failure(""))))
	g.Expect(a.Way).NotTo(BeNil())
	g.Expect(a.Way.Lost).To(BeZero())
	g.Expect(a.Way.There).To(And(HaveField("Failure", Silent), HaveField("Took", time.Duration(0))))
	g.Expect(a.Way.Back.Failure).To(BeEmpty(), "%+v", a.Way)
	g.Expect(a.Way.Interface).To(Equal(1500))
	t.Logf("%+v", *a.Way)
}
