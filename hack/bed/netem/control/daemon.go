// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"geosql.dev/operator/hack/bed/netem/emulator"
)

// readyFD is where a started daemon tells its parent how it went: "ready", or
// the error.
const readyFD = 3

const ready = "ready"

// spareProcessors gives the scheduler of Go room on a machine of few cores:
// the emulator's thread finds a processor free whenever its timer fires.
const spareProcessors = 4

// heapLimit in bytes starts a collection after all, some thousands of control
// requests after the last.
const heapLimit = 96 << 20

// Run shapes the device in this process until the device goes or Stop is
// asked. With announce it tells the parent through readyFD.
func Run(device string, announce bool, logger *log.Logger) error {
	tell := func(string) {}
	if announce {
		pipe := os.NewFile(readyFD, "ready")
		unix.CloseOnExec(readyFD)
		tell = func(text string) {
			_, _ = io.WriteString(pipe, text)
			pipe.Close()
		}
	}
	runtime.GOMAXPROCS(max(spareProcessors, runtime.NumCPU()))
	// Frames live outside of Go's heap, so next to nothing is to be collected;
	// but a collection stops the emulator's thread until ordinary threads,
	// which a busy machine may keep waiting, have done their part.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapLimit)
	server, err := Listen(device)
	if errors.Is(err, ErrRunning) {
		tell(ready)
		return nil
	}
	if err != nil {
		tell(err.Error())
		return err
	}
	defer server.Close()
	shaper, err := emulator.Open(device)
	if err != nil {
		tell(err.Error())
		return err
	}
	go server.Serve(shaper)
	tell(ready)
	logger.Printf("shaping %s", device)
	err = shaper.Run()
	if errors.Is(err, emulator.ErrDeviceGone) {
		logger.Printf("%s is gone", device)
		return nil
	}
	return err
}

// Start has an emulator on the device: it leaves one that runs. The process
// has a session of its own and none of the caller's files, so it outlives the
// caller and nobody who reads the caller's output waits for it. Its messages
// go to logFile, or nowhere if that is empty.
func Start(ctx context.Context, device, logFile string) error {
	_, err := Call(ctx, device, Request{Operation: Show})
	if errors.Is(err, ErrNotRunning) {
		return spawn(device, logFile)
	}
	return err
}

// Renew is Start, but replaces an emulator of another build by one of this,
// with the same classes. Frames that the old one has queued are lost.
func Renew(ctx context.Context, device, logFile string) error {
	build, err := Build()
	if err != nil {
		return err
	}
	status, err := Call(ctx, device, Request{Operation: Show})
	if errors.Is(err, ErrNotRunning) {
		return spawn(device, logFile)
	}
	if err != nil || status.Build == build {
		return err
	}
	if err := StopAndWait(ctx, device); err != nil {
		return err
	}
	if err := spawn(device, logFile); err != nil {
		return err
	}
	for _, request := range restoring(status) {
		if _, err := Call(ctx, device, request); err != nil {
			return fmt.Errorf("restore the classes of the replaced emulator: %w", err)
		}
	}
	return nil
}

// restoring returns the requests that make a new emulator have what another
// had, one for each owner.
func restoring(status Status) []Request {
	owned := map[string][]emulator.Class{}
	for _, class := range status.Classes {
		owned[class.Owner] = append(owned[class.Owner], class.Class)
	}
	var requests []Request
	for owner, classes := range owned {
		requests = append(requests, Request{Operation: Apply, Owner: owner, Classes: classes, Memo: status.Memos[owner]})
	}
	return requests
}

func spawn(device, logFile string) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start emulator: %w", err)
	}
	defer reader.Close()
	arguments := []string{"run", "--foreground", "--announce", "--dev", device}
	child := exec.Command("/proc/self/exe", arguments...)
	child.Args[0] = "netem"
	child.Dir = "/"
	child.ExtraFiles = []*os.File{writer}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if logFile != "" {
		file, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			writer.Close()
			return fmt.Errorf("open the emulator's log: %w", err)
		}
		defer file.Close()
		child.Stderr = file
	}
	err = child.Start()
	writer.Close()
	if err != nil {
		return fmt.Errorf("start emulator: %w", err)
	}
	go func() { _ = child.Wait() }()
	_ = reader.SetReadDeadline(time.Now().Add(exchangeTime))
	answer, err := io.ReadAll(reader)
	if err != nil {
		return fmt.Errorf("start emulator on %s: no answer: %w", device, err)
	}
	if string(answer) != ready {
		return fmt.Errorf("start emulator on %s: %s", device, orEnded(string(answer)))
	}
	return nil
}

func orEnded(answer string) string {
	if answer == "" {
		return "it ended without a word"
	}
	return answer
}
