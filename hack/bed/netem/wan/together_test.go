// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/hack/bed/netem/control"
	"geosql.dev/operator/hack/bed/netem/emulator"
)

// clocked is a shaper that remembers its classes and when it got them.
type clocked struct {
	mu      sync.Mutex
	classes []emulator.Class
	at      time.Time
}

func (c *clocked) Apply(classes []emulator.Class) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.classes, c.at = classes, time.Now()
	return nil
}

func (c *clocked) Status() (emulator.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := emulator.Status{Device: device}
	for _, class := range c.classes {
		status.Classes = append(status.Classes, emulator.ClassStatus{Class: class})
	}
	return status, nil
}

func (c *clocked) Set(emulator.Class) error { return nil }
func (c *clocked) Clear(string) error       { return nil }
func (c *clocked) Stop()                    {}

// namespaced gives a node a process with a network namespace of its own, and a
// running emulator there.
func namespaced(t *testing.T, node Node) (Node, *clocked) {
	t.Helper()
	process := exec.Command("unshare", "--net", "sleep", "60")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	node.process = process.Process.Pid
	// Not /proc/self: the process's first thread may have gone into another node's namespace, and stays there
	// (control.Inside).
	own, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() (string, error) { return os.Readlink(node.network()) }, "60s").ShouldNot(Equal(own))

	shaper := &clocked{}
	err = control.Inside(node.network(), func() error {
		server, err := control.Listen(device)
		if err == nil {
			go server.Serve(shaper)
			t.Cleanup(server.Close)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return node, shaper
}

// What a site's cut means depends on it: see Apply.
func TestNodesWithAnEmulatorChangeTogetherAndAfterAllOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make a network namespace")
	}
	g := NewWithT(t)
	engine := &localEngine{directory: t.TempDir()}
	program := filepath.Join(t.TempDir(), "netem")
	done := filepath.Join(t.TempDir(), "done")
	script(t, program, fmt.Sprintf("sleep 0.3; date +%%s.%%N >%s\necho \"{\\\"classes\\\":$(cat)}\"", done))
	build, err := control.Build()
	g.Expect(err).NotTo(HaveOccurred())
	force := Force{Run: engine.run, Program: program, ProgramHash: build, Choice: UserSpace}

	nodes := []Node{fourNodes[0], fourNodes[1], fourNodes[2]}
	var shapers [2]*clocked
	nodes[0], shapers[0] = namespaced(t, nodes[0])
	nodes[2], shapers[1] = namespaced(t, nodes[2])
	plan := Plan(threeSites, nodes, DefaultMatrix(threeSites))
	statuses := force.Apply(t.Context(), threeSites, nodes, plan)
	g.Expect(Errors(statuses)).To(Succeed())
	g.Expect(engine.calls).To(Equal([]string{"exec", "cp", "exec"}), "the container engine is asked about one node only")
	slow, err := os.Stat(done)
	g.Expect(err).NotTo(HaveOccurred())
	for i, shaper := range shapers {
		g.Expect(shaper.classes).To(HaveLen(2))
		g.Expect(shaper.at).To(BeTemporally(">", slow.ModTime()), "emulator %d", i)
	}
	for i, status := range statuses {
		g.Expect(status.Node.Name).To(Equal(nodes[i].Name))
		g.Expect(status.Classes).To(HaveLen(2))
	}

	older := force
	older.ProgramHash = "0123"
	engine.calls = nil
	g.Expect(Errors(older.Apply(t.Context(), threeSites, nodes, plan))).To(Succeed())
	g.Expect(engine.calls).To(ContainElement("cp"), "an emulator of another build is replaced on its node")
}
