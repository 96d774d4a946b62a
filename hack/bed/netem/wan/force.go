// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"geosql.dev/operator/hack/bed/netem/control"
	"geosql.dev/operator/hack/bed/netem/emulator"
)

// device is the interface of a kind node on the sites' network.
const device = "eth0"

// Emulator is what shapes a node's traffic.
type Emulator string

const (
	// Automatic takes the kernel's where it has sch_netem.
	Automatic Emulator = "auto"
	// Kernel is sch_netem below htb classes. It has never been tried: the
	// kernels this was made on do not have it.
	Kernel Emulator = "kernel"
	// UserSpace is this program.
	UserSpace Emulator = "user-space"
	// None is a node that nothing shapes.
	None Emulator = "none"
)

// ParseEmulator reads a choice of emulator.
func ParseEmulator(text string) (Emulator, error) {
	switch choice := Emulator(text); choice {
	case "":
		return Automatic, nil
	case Automatic, Kernel, UserSpace:
		return choice, nil
	}
	return "", fmt.Errorf("emulator %q is not supported: use %s, %s or %s", text, Automatic, Kernel, UserSpace)
}

// NodeStatus is what is in force on a node.
type NodeStatus struct {
	Node     Node
	Emulator Emulator
	// Scheduling is that of the user-space emulator's thread.
	Scheduling string
	Classes    []emulator.ClassStatus
	// Err says why nothing is known of the node.
	Err error
	// process is the emulator's number in the node's process namespace.
	process int
}

// Force puts classes in force on nodes.
type Force struct {
	// Run reaches the container engine.
	Run Runner
	// Program is the netem command on this machine, ProgramHash names its
	// content.
	Program     string
	ProgramHash string
	// Choice is the emulator to use.
	Choice Emulator
}

// Exit codes of the scripts run on a node, apart from those of what they run.
const (
	exitNoProgram = 42
	exitKernel    = 43
)

// chooseScript ends with exitKernel where the kernel's netem is to be used: it
// is asked in a network namespace of its own. $1 is the choice, $2 the path of
// the netem command on the node.
const chooseScript = `
choice=$1 program=$2
if [ "$choice" = auto ] && unshare -n tc qdisc add dev lo root netem delay 1ms 2>/dev/null; then choice=kernel; fi
[ "$choice" = kernel ] && exit 43
`

// bringScript ends with exitNoProgram where the program is to be copied first.
const bringScript = chooseScript + `
[ -f "$program.new" ] && chmod 755 "$program.new" && mv "$program.new" "$program"
[ -x "$program" ] || exit 42
`

// applyScript puts the classes on standard input in force. Programs of older
// builds go once no emulator of theirs runs any more.
const applyScript = bringScript + `
"$program" apply --dev eth0 --log /var/log/geosql-netem.log || exit
for old in /usr/local/bin/geosql-netem-*; do [ "$old" = "$program" ] || rm -f "$old"; done
`

// The emulator at work may be one of another build.
const showScript = chooseScript + `
for other in /usr/local/bin/geosql-netem-*; do [ -x "$program" ] || program=$other; done
[ -x "$program" ] || exit 42
exec "$program" show --dev eth0 --output json
`

const stopScript = bringScript + `
exec "$program" stop --dev eth0
`

func (f Force) programOnNode() string { return "/usr/local/bin/geosql-netem-" + f.ProgramHash }

// exec runs a script on a node. used tells which emulator the node uses; for
// the kernel's the script has not been run.
func (f Force) exec(
	ctx context.Context,
	node Node,
	script string,
	stdin []byte,
) (output []byte, used Emulator, err error) {
	run := func() ([]byte, error) {
		return f.Run(
			ctx,
			bytes.NewReader(stdin),
			"exec",
			"--interactive",
			node.Name,
			"sh",
			"-c",
			script,
			"sh",
			string(f.Choice),
			f.programOnNode(),
		)
	}
	output, err = run()
	if exitCode(err) == exitNoProgram && f.Program != "" {
		if _, err := f.Run(ctx, nil, "cp", f.Program, node.Name+":"+f.programOnNode()+".new"); err != nil {
			return nil, UserSpace, err
		}
		output, err = run()
	}
	if exitCode(err) == exitKernel {
		return nil, Kernel, nil
	}
	return output, UserSpace, err
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// Apply makes each node's classes those of the plan and reports what is in
// force then. Errors are per node; nodes without one are as planned.
//
// Nodes that run an emulator of this build get their classes at one moment,
// after all others: a site whose nodes were cut off one by one would keep its
// votes for longer than its clients are served, and the outage would be taken
// for longer than it is.
func (f Force) Apply(ctx context.Context, sites []Site, nodes []Node, plan map[string][]emulator.Class) []NodeStatus {
	ready := make([]bool, len(nodes))
	onAll(nodes, func(i int) { ready[i] = len(plan[nodes[i].Name]) > 0 && f.isReady(ctx, nodes[i]) })
	statuses := make([]NodeStatus, len(nodes))
	onAll(nodes, func(i int) {
		if !ready[i] {
			statuses[i] = inRealTime(func() NodeStatus { return f.applyOne(ctx, sites, nodes[i], plan[nodes[i].Name]) })
		}
	})
	onAll(nodes, func(i int) {
		if ready[i] {
			statuses[i] = inRealTime(func() NodeStatus { return callApply(ctx, nodes[i], plan[nodes[i].Name]) })
		}
	})
	return statuses
}

// isReady tells whether this machine shows the node's network namespace and
// an emulator of this build runs there.
func (f Force) isReady(ctx context.Context, node Node) bool {
	if f.Choice == Kernel || node.process == 0 {
		return false
	}
	status, err := control.CallIn(ctx, node.network(), device, control.Request{Operation: control.Show})
	return err == nil && status.Build == f.ProgramHash
}

func callApply(ctx context.Context, node Node, classes []emulator.Class) NodeStatus {
	status, err := control.CallIn(ctx, node.network(), device, control.Request{Operation: control.Apply, Classes: classes})
	if err != nil {
		return NodeStatus{Node: node, Emulator: UserSpace, Err: fmt.Errorf("shape what leaves node %s: %w", node.Name, err)}
	}
	return statusOf(node, status)
}

func inRealTime(apply func() NodeStatus) NodeStatus {
	status := apply()
	granted, err := grantRealTime(status)
	if err != nil {
		status.Err = err
	}
	if granted {
		// The emulator asks for real-time scheduling with each change.
		status = apply()
	}
	return status
}

func (f Force) applyOne(ctx context.Context, sites []Site, node Node, classes []emulator.Class) NodeStatus {
	script := applyScript
	if len(classes) == 0 {
		script = stopScript
	}
	stdin, err := json.Marshal(classes)
	if err != nil {
		return NodeStatus{Node: node, Err: err}
	}
	output, used, err := f.exec(ctx, node, script, stdin)
	switch {
	case err != nil:
		return NodeStatus{Node: node, Emulator: used, Err: fmt.Errorf("shape what leaves node %s: %w", node.Name, err)}
	case used == Kernel:
		return f.kernelApply(ctx, sites, node, classes)
	case len(classes) == 0:
		return NodeStatus{Node: node, Emulator: None}
	}
	return userSpaceStatus(node, output)
}

// Show reports what is in force on the nodes.
func (f Force) Show(ctx context.Context, sites []Site, nodes []Node) []NodeStatus {
	// Looking must not install anything.
	f.Program = ""
	statuses := make([]NodeStatus, len(nodes))
	onAll(nodes, func(i int) { statuses[i] = f.showOne(ctx, sites, nodes[i]) })
	return statuses
}

func (f Force) showOne(ctx context.Context, sites []Site, node Node) NodeStatus {
	output, used, err := f.exec(ctx, node, showScript, nil)
	switch {
	case exitCode(err) == exitNoProgram, err != nil && strings.Contains(err.Error(), control.ErrNotRunning.Error()):
		return NodeStatus{Node: node, Emulator: None}
	case err != nil:
		return NodeStatus{Node: node, Emulator: used, Err: fmt.Errorf("ask node %s: %w", node.Name, err)}
	case used == Kernel:
		return f.kernelShow(ctx, sites, node)
	}
	return userSpaceStatus(node, output)
}

func userSpaceStatus(node Node, output []byte) NodeStatus {
	var status control.Status
	if err := json.Unmarshal(output, &status); err != nil {
		return NodeStatus{
			Node:     node,
			Emulator: UserSpace,
			Err:      fmt.Errorf("node %s: the emulator's answer is no JSON: %w", node.Name, err),
		}
	}
	return statusOf(node, status)
}

func statusOf(node Node, status control.Status) NodeStatus {
	return NodeStatus{
		Node:       node,
		Emulator:   UserSpace,
		Scheduling: string(status.Scheduling),
		Classes:    status.Classes,
		process:    status.PID,
	}
}

// onAll does something about every node, named by its index, on all at once.
func onAll(nodes []Node, do func(int)) {
	var group sync.WaitGroup
	for i := range nodes {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// Errors joins the errors of the nodes.
func Errors(statuses []NodeStatus) error {
	var errs []error
	for _, status := range statuses {
		errs = append(errs, status.Err)
	}
	return errors.Join(errs...)
}
