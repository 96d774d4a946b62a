// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mark is the SO_MARK on everything the emulator sends: the classifier lets
// frames with it pass, else they would come round again.
const Mark = 0x6e65746d

// sendBuffer holds a burst of super-frames that come due at the same moment.
const sendBuffer = 8 << 20

// Transmitter sends released frames out of the shaped device.
type Transmitter struct{ fd int }

// OpenTransmitter binds a packet socket to the device.
func OpenTransmitter(device int) (*Transmitter, error) {
	// Protocol 0 receives nothing.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open packet socket: %w (NET_RAW is needed)", err)
	}
	transmitter := &Transmitter{fd: fd}
	// PACKET_QDISC_BYPASS stays off: with it the kernel refuses super-frames
	// (ENOBUFS) on devices without segmentation offload.
	for _, option := range []struct {
		name              string
		level, opt, value int
	}{
		{"PACKET_VNET_HDR", unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{"SO_MARK", unix.SOL_SOCKET, unix.SO_MARK, Mark},
		{"SO_SNDBUFFORCE", unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer},
	} {
		if err := unix.SetsockoptInt(fd, option.level, option.opt, option.value); err != nil {
			transmitter.Close()
			return nil, fmt.Errorf("set %s on packet socket: %w (NET_ADMIN is needed)", option.name, err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: device}); err != nil {
		transmitter.Close()
		return nil, fmt.Errorf("bind packet socket to interface %d: %w", device, err)
	}
	return transmitter, nil
}

// Send sends one frame, or reports why the kernel refused it.
func (t *Transmitter) Send(frame Frame) error {
	frame.TrimHeaderHint()
	_, _, errno := unix.RawSyscall(
		unix.SYS_WRITE,
		uintptr(t.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(frame))),
		uintptr(len(frame)),
	)
	if errno != 0 {
		return errno
	}
	return nil
}

// Close closes the socket.
func (t *Transmitter) Close() { unix.Close(t.fd) }
