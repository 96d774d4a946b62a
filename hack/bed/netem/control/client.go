// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotRunning tells that no emulator runs on the device.
var ErrNotRunning = errors.New("no emulator runs on the device")

// Call sends one request to the device's emulator. It gives ErrNotRunning if
// there is none, and the emulator's own error as an error.
func Call(ctx context.Context, device string, request Request) (Status, error) {
	return call(ctx, dial, device, request)
}

// CallIn is Call to the emulator of a device in another network namespace,
// named by its path, such as /proc/42/ns/net. It needs SYS_ADMIN.
func CallIn(ctx context.Context, namespace, device string, request Request) (Status, error) {
	return call(ctx, func(ctx context.Context, socket string) (connection net.Conn, err error) {
		err = Inside(namespace, func() error {
			connection, err = dial(ctx, socket)
			return err
		})
		return connection, err
	}, device, request)
}

// Inside runs do on a thread that lives in a network namespace, named by its
// path; sockets that it opens belong there for good. It needs SYS_ADMIN.
func Inside(namespace string, do func() error) error {
	result := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and nothing else
		// ever runs in that namespace.
		runtime.LockOSThread()
		file, err := os.Open(namespace)
		if err != nil {
			result <- fmt.Errorf("enter network namespace: %w", err)
			return
		}
		defer file.Close()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter network namespace %s: %w", namespace, err)
			return
		}
		result <- do()
	}()
	return <-result
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", socket)
}

func call(
	ctx context.Context,
	dial func(context.Context, string) (net.Conn, error),
	device string,
	request Request,
) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	connection, err := dial(ctx, address(device))
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
		return Status{}, fmt.Errorf("%s: %w", device, ErrNotRunning)
	}
	if err != nil {
		return Status{}, fmt.Errorf("reach the emulator of %s: %w", device, err)
	}
	defer connection.Close()
	deadline, _ := ctx.Deadline()
	_ = connection.SetDeadline(deadline)
	if err := json.NewEncoder(connection).Encode(request); err != nil {
		return Status{}, fmt.Errorf("%s on %s: send request: %w", request.Operation, device, err)
	}
	var response Response
	if err := json.NewDecoder(connection).Decode(&response); err != nil {
		return Status{}, fmt.Errorf("%s on %s: read response: %w", request.Operation, device, err)
	}
	if response.Error != "" {
		return response.Status, fmt.Errorf("%s on %s: %s", request.Operation, device, response.Error)
	}
	return response.Status, nil
}

// pollInterval paces the wait for an emulator that comes or goes.
const pollInterval = 5 * time.Millisecond

// StopAndWait stops the device's emulator, if there is one, and returns when
// it has let go of the device.
func StopAndWait(ctx context.Context, device string) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	_, err := Call(ctx, device, Request{Operation: Stop})
	for !errors.Is(err, ErrNotRunning) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the emulator of %s does not stop: %w", device, err)
		case <-time.After(pollInterval):
		}
		_, err = Call(ctx, device, Request{Operation: Show})
	}
	return nil
}
