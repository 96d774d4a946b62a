// SPDX-License-Identifier: Apache-2.0

// Package link is the emulator's side of the kernel: the TAP that a class's
// frames are diverted to, the packet socket they leave by, the program that
// tells them apart, and the thread's timing.
package link

import (
	"errors"
	"fmt"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tapQueue is how many frames the kernel keeps for a TAP that is not read.
const tapQueue = 8192

// tunDevice is character device 10:200 (Documentation/admin-guide/devices.txt).
const (
	tunDevice = "/dev/net/tun"
	tunMajor  = 10
	tunMinor  = 200
)

// TAP is one diversion: the kernel writes a class's frames to it and the
// emulator reads them. Nothing is ever written to it.
type TAP struct {
	// Name and Index are the interface's.
	Name  string
	Index int
	fd    int
}

// Offload says how much of the kernel's segmentation a TAP's frames may leave
// undone.
type Offload int

const (
	// SuperFrames lets TCP and UDP segments come in frames of up to 64 KiB.
	SuperFrames Offload = iota
	// Packets has each packet come by itself, its checksum still to be filled
	// in by whoever sends it.
	Packets
	// FinishedPackets has each packet come by itself with its checksum, so
	// that damage done to it is noticed by the receiver.
	FinishedPackets
)

// OpenTAP makes the interface in the calling thread's network namespace; the
// kernel puts the first free number for a %d in the name. It goes when it is
// closed or the process ends.
func OpenTAP(name string, mtu int) (*TAP, error) {
	if err := ensureTunDevice(); err != nil {
		return nil, err
	}
	fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w (is the tun driver there?)", tunDevice, err)
	}
	tap := &TAP{Name: name, fd: fd}
	if err := tap.configure(mtu); err != nil {
		tap.Close()
		return nil, fmt.Errorf("set up TAP %s: %w", name, err)
	}
	return tap, nil
}

func ensureTunDevice() error {
	if _, err := os.Stat(tunDevice); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll("/dev/net", 0o755); err != nil {
		return fmt.Errorf("make %s: %w", tunDevice, err)
	}
	err := unix.Mknod(tunDevice, unix.S_IFCHR|0o600, int(unix.Mkdev(tunMajor, tunMinor)))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s: %w", tunDevice, err)
	}
	return nil
}

func (t *TAP) configure(mtu int) error {
	request, err := unix.NewIfreq(t.Name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(t.fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("TUNSETIFF: %w", err)
	}
	t.Name = request.Name()
	if err := t.SetOffload(SuperFrames); err != nil {
		return err
	}
	// Without IPv6 the kernel sends no router solicitations of its own into
	// the TAP. Where IPv6 is not there at all the file is missing: just as well.
	err = os.WriteFile("/proc/sys/net/ipv6/conf/"+t.Name+"/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("disable IPv6: %w", err)
	}
	if err := t.bringUp(mtu); err != nil {
		return err
	}
	device, err := net.InterfaceByName(t.Name)
	if err != nil {
		return err
	}
	t.Index = device.Index
	return nil
}

func (t *TAP) bringUp(mtu int) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	for _, step := range []struct {
		name    string
		request uint
		set     func(*unix.Ifreq)
	}{
		{"MTU", unix.SIOCSIFMTU, func(r *unix.Ifreq) { r.SetUint32(uint32(mtu)) }},
		{"queue length", unix.SIOCSIFTXQLEN, func(r *unix.Ifreq) { r.SetUint32(tapQueue) }},
		{"flags", unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_UP | unix.IFF_NOARP) }},
	} {
		request, err := unix.NewIfreq(t.Name)
		if err != nil {
			return err
		}
		step.set(request)
		if err := unix.IoctlIfreq(socket, step.request, request); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// TUN_F_* of linux/if_tun.h, which x/sys does not carry.
const (
	tunChecksum = 0x01
	tunTSO4     = 0x02
	tunTSO6     = 0x04
	tunECN      = 0x08
	tunUSO4     = 0x20
	tunUSO6     = 0x40
)

// SetOffload changes how the frames to come are segmented; frames the kernel
// has queued already stay as they are.
func (t *TAP) SetOffload(offload Offload) error {
	flags := map[Offload][]int{
		// UDP segmentation came with Linux 6.2.
		SuperFrames: {tunChecksum | tunTSO4 | tunTSO6 | tunECN | tunUSO4 | tunUSO6,
			tunChecksum | tunTSO4 | tunTSO6 | tunECN},
		Packets:         {tunChecksum},
		FinishedPackets: {0},
	}[offload]
	var err error
	for _, try := range flags {
		if err = unix.IoctlSetInt(t.fd, unix.TUNSETOFFLOAD, try); err == nil {
			return nil
		}
	}
	return fmt.Errorf("TUNSETOFFLOAD: %w", err)
}

// FD returns the descriptor to poll.
func (t *TAP) FD() int { return t.fd }

// Read takes one frame without waiting; ok is false when there is none.
func (t *TAP) Read(buffer []byte) (frame Frame, ok bool) {
	// A raw system call: it never blocks, and telling the Go scheduler about
	// each one costs more than the call.
	n, _, errno := unix.RawSyscall(
		unix.SYS_READ,
		uintptr(t.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(buffer))),
		uintptr(len(buffer)),
	)
	if errno != 0 || int(n) <= 0 {
		return nil, false
	}
	return Frame(buffer[:n]), true
}

// Close removes the interface with what is queued in it.
func (t *TAP) Close() { unix.Close(t.fd) }
