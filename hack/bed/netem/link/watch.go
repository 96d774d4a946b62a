// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Watch tells when a device is gone. The packet socket cannot: bound with
// protocol 0 it hears nothing.
type Watch struct {
	fd     int
	device net.Interface
}

// WatchDevice starts to listen for changes of links.
func WatchDevice(device net.Interface) (*Watch, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("subscribe to link changes: %w", err)
	}
	return &Watch{fd: fd, device: device}, nil
}

// FD returns the descriptor to poll.
func (w *Watch) FD() int { return w.fd }

// Gone takes the events that wait and tells whether the device is there no
// more, under its name and index.
func (w *Watch) Gone() bool {
	var events [4096]byte
	for {
		if n, err := unix.Read(w.fd, events[:]); n <= 0 || err != nil && err != unix.ENOBUFS {
			break
		}
	}
	device, err := net.InterfaceByName(w.device.Name)
	return err != nil || device.Index != w.device.Index
}

// Close stops listening.
func (w *Watch) Close() { unix.Close(w.fd) }
