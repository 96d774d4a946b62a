// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"geosql.dev/operator/hack/bed/netem/link"
	"geosql.dev/operator/hack/bed/netem/queue"
)

// ErrDeviceGone ends the loop when the shaped device was removed.
var ErrDeviceGone = errors.New("the device is gone")

// turn bounds the frames read from one TAP before the others get theirs.
const turn = 64

// lingering is how long a retired class is still read: frames that were
// diverted before its destinations were taken away arrive well within it. What
// it has in the queue does not need its TAP.
const lingering = int64(50 * time.Millisecond)

// loop is the one thread that touches frames. It allocates nothing at rest and
// takes no lock that another thread holds for long: changes come to it as jobs.
type loop struct {
	hardware    net.HardwareAddr
	transmitter *link.Transmitter
	watch       *link.Watch
	wake        int
	jobs        chan func()
	done        chan struct{}

	epoch       time.Time
	scheduling  link.Scheduling
	classes     []*class
	descriptors []unix.PollFd
	changed     bool
	stopped     bool
	heap        queue.Heap[*class]
	pool        queue.Pool
	random      *rand.Rand
	scratch     []byte
	// releaseAt is when the memory of a burst goes back, 0 while frames wait.
	releaseAt int64
}

func newLoop(device net.Interface) (*loop, error) {
	transmitter, err := link.OpenTransmitter(device.Index)
	if err != nil {
		return nil, err
	}
	watch, err := link.WatchDevice(device)
	if err != nil {
		transmitter.Close()
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		transmitter.Close()
		watch.Close()
		return nil, fmt.Errorf("make eventfd: %w", err)
	}
	l := &loop{
		hardware: device.HardwareAddr, transmitter: transmitter, watch: watch, wake: wake,
		jobs: make(chan func(), 16), done: make(chan struct{}), epoch: time.Now(), changed: true,
		random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	}
	return l, nil
}

// do runs job on the loop's thread and waits for it.
func (l *loop) do(job func()) error {
	finished := make(chan struct{})
	select {
	case l.jobs <- func() { job(); close(finished) }:
	case <-l.done:
		return errors.New("the emulator has stopped")
	}
	one := [8]byte{1}
	if _, err := unix.Write(l.wake, one[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("wake the emulator: %w", err)
	}
	select {
	case <-finished:
		return nil
	case <-l.done:
		return errors.New("the emulator has stopped")
	}
}

// run serves until a job sets stopped, or until the device is gone.
func (l *loop) run() error {
	defer close(l.done)
	link.LockThread()
	l.scheduling = link.Promote()
	for !l.stopped {
		if l.changed {
			l.rebuild()
		}
		if err := link.Poll(l.descriptors, l.wait()); err != nil {
			return fmt.Errorf("poll: %w", err)
		}
		l.release()
		if l.descriptors[0].Revents != 0 {
			l.runJobs()
		}
		if l.descriptors[1].Revents != 0 && l.watch.Gone() {
			return ErrDeviceGone
		}
		if !l.changed {
			if err := l.readAll(); err != nil {
				return err
			}
		}
		l.closeRetired()
		l.rest()
	}
	return nil
}

func (l *loop) now() int64 { return int64(time.Since(l.epoch)) }

func (l *loop) rebuild() {
	l.changed = false
	l.descriptors = append(l.descriptors[:0],
		unix.PollFd{Fd: int32(l.wake), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(l.watch.FD()), Events: unix.POLLIN})
	for _, c := range l.classes {
		l.descriptors = append(l.descriptors, unix.PollFd{Fd: int32(c.tap.FD()), Events: unix.POLLIN})
	}
}

// wait returns the nanoseconds until something is due, -1 if nothing is.
func (l *loop) wait() int64 {
	next, found := l.heap.NextDue()
	for _, c := range l.classes {
		if c.retiring && (!found || c.retireAt < next) {
			next, found = c.retireAt, true
		}
	}
	if l.releaseAt > 0 && (!found || l.releaseAt < next) {
		next, found = l.releaseAt, true
	}
	if !found {
		return -1
	}
	return max(next-l.now(), 0)
}

func (l *loop) runJobs() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:])
	for {
		select {
		case job := <-l.jobs:
			job()
		default:
			return
		}
	}
}

// readAll takes the frames that wait. It fails if a TAP was removed under it:
// polling on would keep the processor from everything else, and its class is
// cut until the classifier goes.
func (l *loop) readAll() error {
	for i, c := range l.classes {
		events := l.descriptors[i+2].Revents
		if events&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			return fmt.Errorf("interface %s of class %s is gone: somebody removed it", c.tap.Name, c.Name)
		}
		if events&unix.POLLIN == 0 {
			continue
		}
		for range turn {
			if l.scratch == nil {
				l.scratch = l.pool.Get(queue.MaxFrame)
			}
			frame, ok := c.tap.Read(l.scratch)
			if !ok {
				break
			}
			l.accept(c, frame)
			l.release()
		}
	}
	return nil
}

// accept decides about one frame; frame lies in l.scratch.
func (l *loop) accept(c *class, frame link.Frame) {
	// What the TAP itself originates does not carry the device's address and
	// must never get out.
	if !frame.Valid() || !bytes.Equal(frame.Source(), l.hardware) {
		return
	}
	c.counters.Received++
	now := l.now()
	verdict := c.links.Arrive(now, frame.WireLength(), c.underway, l.random)
	if verdict.Drop {
		c.counters.Dropped++
		return
	}
	if payload := frame.Payload(); verdict.Corrupt && len(payload) > 0 {
		payload[l.random.IntN(len(payload))] ^= 1 << l.random.IntN(8)
	}
	for range verdict.Copies {
		if verdict.Due <= now {
			l.send(c, frame)
			continue
		}
		data := l.keep(frame, verdict.Copies > 1)
		if data == nil {
			c.counters.Dropped++
			continue
		}
		c.underway++
		l.heap.Push(queue.Frame[*class]{Due: verdict.Due, Data: data, Owner: c})
	}
}

// keep moves a frame out of the scratch buffer, or gives nil if there is no
// memory for it. A large one that is kept once takes the buffer along instead
// of being copied.
func (l *loop) keep(frame link.Frame, again bool) []byte {
	if len(frame) > len(l.scratch)/4 && !again {
		next := l.pool.Get(queue.MaxFrame)
		if next != nil {
			l.scratch = next
			return frame
		}
		return nil
	}
	kept := l.pool.Get(len(frame))
	copy(kept, frame)
	return kept
}

// holdMemory is how long a burst's memory stays for the next one, and
// restMemory the bytes below which giving it back is not worth it.
const (
	holdMemory = int64(5 * time.Second)
	restMemory = 16 << 20
)

// rest gives memory back some time after the last frame has left.
func (l *loop) rest() {
	switch {
	case l.heap.Len() > 0 || l.pool.Size() <= restMemory:
		l.releaseAt = 0
	case l.releaseAt == 0:
		l.releaseAt = l.now() + holdMemory
	case l.now() >= l.releaseAt:
		if l.scratch != nil {
			l.pool.Put(l.scratch)
			l.scratch = nil
		}
		l.pool.Release()
		l.releaseAt = 0
	}
}

// release sends all that is due.
func (l *loop) release() {
	for {
		due, ok := l.heap.NextDue()
		if !ok {
			return
		}
		now := l.now()
		if due > now {
			return
		}
		frame := l.heap.Pop()
		frame.Owner.underway--
		frame.Owner.late.Add(time.Duration(now - due))
		l.send(frame.Owner, frame.Data)
		l.pool.Put(frame.Data)
	}
}

func (l *loop) send(c *class, frame link.Frame) {
	if err := l.transmitter.Send(frame); err != nil {
		c.counters.Refused++
		c.counters.LastRefusal = fmt.Sprintf("%v (%d bytes)", err, len(frame))
		return
	}
	c.counters.Sent++
}

// purge drops all that a class has under way, in the queue and in its TAP.
func (l *loop) purge(c *class) {
	l.heap.Purge(c, func(frame queue.Frame[*class]) {
		c.underway--
		c.counters.Dropped++
		l.pool.Put(frame.Data)
	})
	for range turn * turn {
		if l.scratch == nil {
			l.scratch = l.pool.Get(queue.MaxFrame)
		}
		if _, ok := c.tap.Read(l.scratch); !ok {
			return
		}
		c.counters.Dropped++
	}
}

func (l *loop) closeRetired() {
	for i := 0; i < len(l.classes); i++ {
		c := l.classes[i]
		if c.retiring && l.now() >= c.retireAt {
			c.tap.Close()
			l.classes = append(l.classes[:i], l.classes[i+1:]...)
			l.changed = true
			i--
		}
	}
}

func (l *loop) close() {
	for _, c := range l.classes {
		c.tap.Close()
	}
	l.transmitter.Close()
	l.watch.Close()
	unix.Close(l.wake)
}
