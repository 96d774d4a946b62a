// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/shape"
)

// table is a Shaper that only remembers.
type table struct {
	mu      sync.Mutex
	classes []emulator.Class
	stopped chan struct{}
}

func (f *table) Apply(classes []emulator.Class) error {
	if err := emulator.Validate(classes); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.classes = classes
	return nil
}

func (f *table) Set(class emulator.Class) error {
	f.mu.Lock()
	others := slices.DeleteFunc(slices.Clone(f.classes), func(c emulator.Class) bool { return c.Name == class.Name })
	f.mu.Unlock()
	return f.Apply(append(others, class))
}

func (f *table) Clear(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.classes = slices.DeleteFunc(f.classes, func(c emulator.Class) bool { return c.Name == name })
	return nil
}

func (f *table) Status() (emulator.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := emulator.Status{Device: "fake"}
	for _, class := range f.classes {
		status.Classes = append(status.Classes, emulator.ClassStatus{Class: class})
	}
	return status, nil
}

func (f *table) Stop() { close(f.stopped) }

// serve starts a server for a device that no other test has.
func serve(t *testing.T) (device string, shaper *table) {
	t.Helper()
	device = fmt.Sprintf("test-%d-%s", os.Getpid(), t.Name())
	server, err := Listen(device)
	if err != nil {
		t.Fatal(err)
	}
	shaper = &table{stopped: make(chan struct{})}
	finished := make(chan struct{})
	go func() {
		server.Serve(shaper)
		close(finished)
	}()
	t.Cleanup(func() {
		server.Close()
		<-finished
	})
	return device, shaper
}

func class(name, to string, delay time.Duration) emulator.Class {
	return emulator.Class{
		Name: name,
		To:   []netip.Prefix{netip.MustParsePrefix(to)},
		Rule: shape.Rule{Delay: delay, Loss: 0.01, Rate: 1e9},
	}
}

func TestOperations(t *testing.T) {
	g := NewWithT(t)
	if os.Getuid() != 0 {
		t.Skip("only root may control an emulator")
	}
	device, shaper := serve(t)
	call := func(request Request) []emulator.Class {
		status, err := Call(t.Context(), device, request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status.PID).To(Equal(os.Getpid()))
		build, err := Build()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status.Build).To(Equal(build))
		var classes []emulator.Class
		for _, c := range status.Classes {
			classes = append(classes, c.Class)
		}
		return classes
	}
	a, b := class("a", "10.1.0.0/16", time.Millisecond), class("b", "10.2.0.0/16", 0)
	slower := class("a", "10.1.0.0/16", time.Second)
	g.Expect(call(Request{Operation: Set, Classes: []emulator.Class{a, b}})).To(ConsistOf(a, b))
	g.Expect(call(Request{Operation: Set, Classes: []emulator.Class{slower}})).To(ConsistOf(slower, b))
	g.Expect(call(Request{Operation: Clear, Names: []string{"b", "never there"}})).To(ConsistOf(slower))
	g.Expect(call(Request{Operation: Apply, Classes: []emulator.Class{b}})).To(ConsistOf(b))
	g.Expect(call(Request{Operation: Clear})).To(BeEmpty())
	call(Request{Operation: Stop})
	g.Eventually(shaper.stopped, "5s").Should(BeClosed())
}

func TestErrorsReachTheCaller(t *testing.T) {
	g := NewWithT(t)
	if os.Getuid() != 0 {
		t.Skip("only root may control an emulator")
	}
	device, _ := serve(t)
	_, err := Call(t.Context(), device, Request{Operation: Apply, Classes: []emulator.Class{{Name: "a"}}})
	g.Expect(err).To(MatchError(ContainSubstring("class a has no destination")))
	_, err = Call(t.Context(), device, Request{Operation: "destroy"})
	g.Expect(err).
		To(MatchError(ContainSubstring(`operation "destroy" is not supported: use apply, set, clear, show or stop`)))
	_, err = Call(t.Context(), "nobody", Request{Operation: Show})
	g.Expect(errors.Is(err, ErrNotRunning)).To(BeTrue())
	g.Expect(StopAndWait(t.Context(), "nobody")).To(Succeed())
}

func TestNonsenseIsAnsweredAndForgotten(t *testing.T) {
	g := NewWithT(t)
	device, _ := serve(t)
	for _, text := range []string{"nonsense\n", `{"operation":7}`, strings.Repeat("[", 2<<20)} {
		connection, err := net.Dial("unix", address(device))
		g.Expect(err).NotTo(HaveOccurred())
		_, _ = connection.Write([]byte(text))
		_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
		var answer [4096]byte
		n, _ := connection.Read(answer[:])
		g.Expect(string(answer[:n])).To(ContainSubstring("the request is no valid JSON"))
		connection.Close()
	}
}

func TestADeviceHasOneEmulator(t *testing.T) {
	g := NewWithT(t)
	device, _ := serve(t)
	_, err := Listen(device)
	g.Expect(err).To(MatchError(ErrRunning))
}

func TestOwnersDoNotDisturbEachOther(t *testing.T) {
	g := NewWithT(t)
	if os.Getuid() != 0 {
		t.Skip("only root may control an emulator")
	}
	device, _ := serve(t)
	call := func(request Request) Status {
		status, err := Call(t.Context(), device, request)
		g.Expect(err).NotTo(HaveOccurred())
		return status
	}
	a, b := class("a", "10.1.0.0/16", time.Millisecond), class("b", "10.2.0.0/16", 0)
	call(Request{Operation: Apply, Classes: []emulator.Class{a}})
	both := call(Request{Operation: Apply, Owner: "tc", Classes: []emulator.Class{b}, Memo: json.RawMessage(`["memo"]`)})
	g.Expect(both.Classes).To(HaveLen(2))
	g.Expect(both.Memos).To(HaveKeyWithValue("tc", MatchJSON(`["memo"]`)))

	// What a new emulator is told makes it as the old one was.
	call(Request{Operation: Clear})
	var restored Status
	for _, request := range restoring(both) {
		restored = call(request)
	}
	g.Expect(restored.Classes).To(ConsistOf(both.Classes))
	g.Expect(restored.Memos).To(Equal(both.Memos))

	one := call(Request{Operation: Apply, Owner: "tc"})
	g.Expect(one.Classes).To(HaveLen(1))
	g.Expect(one.Classes[0].Class).To(Equal(a))
	g.Expect(one.Memos).To(BeEmpty())
}
