// SPDX-License-Identifier: Apache-2.0

// Package queue holds frames until they are due and keeps the memory they
// need, so that the emulator's loop allocates nothing at rest. Nothing here is
// safe for concurrent use: one loop owns it.
package queue

// Frame is one frame that waits for its release. Owner is the class it belongs
// to; the queue only hands it back.
type Frame[Owner comparable] struct {
	// Due is the time of release in nanoseconds of the monotonic clock.
	Due int64
	// Data comes from the Pool and goes back to it after the release.
	Data  []byte
	Owner Owner
	order uint64
}

// Heap releases frames by their due time, and frames due at the same time in
// the order in which they were pushed. The zero Heap is empty and ready.
type Heap[Owner comparable] struct {
	frames []Frame[Owner]
	pushed uint64
}

// Len returns the number of frames that wait.
func (h *Heap[Owner]) Len() int { return len(h.frames) }

// NextDue returns when the first frame is due; ok is false in an empty heap.
func (h *Heap[Owner]) NextDue() (due int64, ok bool) {
	if len(h.frames) == 0 {
		return 0, false
	}
	return h.frames[0].Due, true
}

// Push adds a frame.
func (h *Heap[Owner]) Push(frame Frame[Owner]) {
	h.pushed++
	frame.order = h.pushed
	h.frames = append(h.frames, frame)
	h.up(len(h.frames) - 1)
}

// Pop removes the frame that is due first. The heap must not be empty.
func (h *Heap[Owner]) Pop() Frame[Owner] {
	first := h.frames[0]
	last := len(h.frames) - 1
	h.frames[0] = h.frames[last]
	h.frames[last] = Frame[Owner]{}
	h.frames = h.frames[:last]
	h.down(0)
	return first
}

// Purge removes all frames of one owner and hands each to discard.
func (h *Heap[Owner]) Purge(owner Owner, discard func(Frame[Owner])) {
	kept := h.frames[:0]
	for _, frame := range h.frames {
		if frame.Owner == owner {
			discard(frame)
		} else {
			kept = append(kept, frame)
		}
	}
	clear(h.frames[len(kept):])
	h.frames = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *Heap[Owner]) before(i, j int) bool {
	a, b := &h.frames[i], &h.frames[j]
	return a.Due < b.Due || a.Due == b.Due && a.order < b.order
}

func (h *Heap[Owner]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			return
		}
		h.frames[i], h.frames[parent] = h.frames[parent], h.frames[i]
		i = parent
	}
}

func (h *Heap[Owner]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.frames) {
			return
		}
		if child+1 < len(h.frames) && h.before(child+1, child) {
			child++
		}
		if !h.before(child, i) {
			return
		}
		h.frames[i], h.frames[child] = h.frames[child], h.frames[i]
		i = child
	}
}
