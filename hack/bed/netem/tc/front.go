// SPDX-License-Identifier: Apache-2.0

package tc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"geosql.dev/operator/hack/bed/netem/control"
	"geosql.dev/operator/hack/bed/netem/emulator"
)

// Owner marks the classes of this front on a device.
const Owner = "tc"

// Exit codes of tc: bad usage, and an error of the kernel.
const (
	exitUsage  = 1
	exitKernel = 2
)

// installed are the places of the tc that is installed; tc.real is where an
// image moves it when this program takes its name.
var installed = []string{"/usr/sbin/tc.real", "/sbin/tc.real", "/usr/sbin/tc", "/sbin/tc"}

// Main runs one command line of tc and returns the exit code.
func Main(ctx context.Context, arguments []string, out, errOut io.Writer) int {
	command, err := ParseCommand(arguments)
	switch {
	case errors.Is(err, ErrForeign):
		return installedTC(arguments, errOut)
	case err != nil:
		fmt.Fprintln(errOut, err)
		return exitUsage
	}
	if _, err := net.InterfaceByName(command.Device); err != nil {
		if emulator.IsTAP(command.Device) && command.Verb == "del" {
			// A caller that flushes every device it has seen: this one has gone
			// with the flush of the one before.
			fmt.Fprintln(errOut, ErrNothing)
			return exitKernel
		}
		fmt.Fprintf(errOut, "Cannot find device %q\n", command.Device)
		return exitUsage
	}
	kernel, err := kernelServes(ctx)
	switch {
	case err != nil:
	case kernel:
		return installedTC(arguments, errOut)
	default:
		err = perform(ctx, command, out)
	}
	if errors.Is(err, ErrForeign) {
		return installedTC(arguments, errOut)
	}
	if err != nil {
		fmt.Fprintln(errOut, err)
		return exitKernel
	}
	return 0
}

// installedPath returns the first installed tc that is not this program, or
// nothing.
func installedPath() string {
	self, _ := os.Readlink("/proc/self/exe")
	own, ownErr := os.Stat(self)
	for _, path := range installed {
		target, err := os.Stat(path)
		if err == nil && (ownErr != nil || !os.SameFile(target, own)) {
			return path
		}
	}
	return ""
}

// installedTC becomes the installed tc. Without one a device has no discipline
// but its default, as far as anybody can tell.
func installedTC(arguments []string, errOut io.Writer) int {
	if path := installedPath(); path != "" {
		err := syscall.Exec(path, append([]string{"tc"}, arguments...), os.Environ())
		fmt.Fprintf(errOut, "run %s: %v\n", path, err)
		return exitUsage
	}
	if len(arguments) > 1 && arguments[0] == "qdisc" && verbs[arguments[1]] == "del" {
		fmt.Fprintln(errOut, ErrNothing)
		return exitKernel
	}
	fmt.Fprintf(errOut, "%q is not supported: no other tc is installed\n", "tc "+strings.Join(arguments, " "))
	return exitUsage
}

func perform(ctx context.Context, command Command, out io.Writer) error {
	status, err := control.Call(ctx, command.Device, control.Request{Operation: control.Show})
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		return err
	}
	var tree Tree
	if memo := status.Memos[Owner]; memo != nil {
		if err := json.Unmarshal(memo, &tree); err != nil {
			return fmt.Errorf("read the disciplines of %s: %w", command.Device, err)
		}
	}
	if len(tree) == 0 && emulator.IsTAP(command.Device) && command.Verb == "del" {
		// A caller that flushes every device meets the emulator's own.
		return ErrNothing
	}
	if len(tree) == 0 && !command.changes() {
		return ErrForeign
	}
	if command.Verb == "show" {
		_, err := io.WriteString(out, tree.Show(command.Device))
		return err
	}
	changed, err := tree.Change(command)
	if err != nil {
		return err
	}
	return enforce(ctx, command.Device, changed, status)
}

func enforce(ctx context.Context, device string, tree Tree, before control.Status) error {
	classes, err := tree.Classes()
	if err != nil {
		return err
	}
	others := false
	for _, class := range before.Classes {
		others = others || class.Owner != Owner
	}
	if len(tree) == 0 && !others {
		// Nothing stays behind in the caller's namespace.
		return control.StopAndWait(ctx, device)
	}
	if before.PID == 0 {
		if err := start(ctx, device); err != nil {
			return err
		}
	}
	request := control.Request{Operation: control.Apply, Owner: Owner, Classes: classes}
	if len(tree) > 0 {
		if request.Memo, err = json.Marshal(tree); err != nil {
			return err
		}
	}
	_, err = control.Call(ctx, device, request)
	return err
}

// start starts the emulator. One that would end with the caller's container is
// none.
func start(ctx context.Context, device string) error {
	if err := control.Start(ctx, device, ""); err != nil {
		return err
	}
	status, err := control.Call(ctx, device, control.Request{Operation: control.Show})
	if err != nil {
		return err
	}
	if err := adopt(status.PID); err != nil {
		return errors.Join(err, control.StopAndWait(ctx, device))
	}
	return nil
}
