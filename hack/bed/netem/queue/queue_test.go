// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// The heap against a sorted list, with purges in between.
func TestHeapReleasesInOrder(t *testing.T) {
	type entry struct {
		due   int64
		order byte
		owner int
	}
	rapid.Check(t, func(t *rapid.T) {
		var heap Heap[int]
		var model []entry
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "action") {
			case 0:
				owner := rapid.IntRange(0, 2).Draw(t, "purged")
				before := len(model)
				model = slices.DeleteFunc(model, func(e entry) bool { return e.owner == owner })
				discarded := 0
				heap.Purge(owner, func(f Frame[int]) {
					if f.Owner != owner {
						t.Fatalf("purged a frame of %d instead of %d", f.Owner, owner)
					}
					discarded++
				})
				if discarded != before-len(model) {
					t.Fatalf("purged %d frames instead of %d", discarded, before-len(model))
				}
			case 1, 2, 3:
				if len(model) == 0 {
					continue
				}
				want := model[0]
				model = model[1:]
				due, ok := heap.NextDue()
				got := heap.Pop()
				if !ok || due != want.due || got.Due != want.due || got.Data[0] != want.order || got.Owner != want.owner {
					t.Fatalf("popped %+v instead of %+v", got, want)
				}
			default:
				e := entry{rapid.Int64Range(0, 20).Draw(t, "due"), byte(step), rapid.IntRange(0, 2).Draw(t, "owner")}
				heap.Push(Frame[int]{Due: e.due, Data: []byte{e.order}, Owner: e.owner})
				model = append(model, e)
				slices.SortStableFunc(model, func(a, b entry) int { return int(a.due - b.due) })
			}
			if heap.Len() != len(model) {
				t.Fatalf("length %d instead of %d", heap.Len(), len(model))
			}
		}
	})
}

func TestPoolRecycles(t *testing.T) {
	g := NewWithT(t)
	var pool Pool
	for _, length := range []int{1, 1514, 2048, 2049, 16384, 65550, MaxFrame} {
		buffer := pool.Get(length)
		g.Expect(buffer).To(HaveLen(length))
		buffer[0], buffer[length-1] = 1, 1
		pool.Put(buffer)
		size := pool.Size()
		for range 10_000 {
			pool.Put(pool.Get(length))
		}
		g.Expect(pool.Size()).To(Equal(size))
	}
	g.Expect(pool.Get(MaxFrame + 1)).To(BeNil())
	held := pool.Get(100)
	g.Expect(pool.Release()).To(BeFalse(), "a buffer is out")
	pool.Put(held)
	g.Expect(pool.Release()).To(BeTrue())
	g.Expect(pool.Size()).To(BeZero())
	g.Expect(func() { pool.Put(make([]byte, 10)) }).To(Panic())
}

func TestBuffersDoNotOverlap(t *testing.T) {
	var pool Pool
	defer pool.Release()
	var buffers [][]byte
	for i := range 200 {
		buffer := pool.Get(MaxFrame)
		for j := range buffer {
			buffer[j] = byte(i)
		}
		buffers = append(buffers, buffer)
	}
	for i, buffer := range buffers {
		if buffer[0] != byte(i) || buffer[MaxFrame-1] != byte(i) {
			t.Fatalf("buffer %d was written to through another one", i)
		}
		pool.Put(buffer)
	}
}

func TestPoolIsBounded(t *testing.T) {
	g := NewWithT(t)
	var pool Pool
	var lent [][]byte
	for {
		buffer := pool.Get(MaxFrame)
		if buffer == nil {
			break
		}
		lent = append(lent, buffer)
	}
	g.Expect(pool.Size()).To(Equal(MaxPool))
	g.Expect(len(lent)).To(BeNumerically(">", 7000))
	for _, buffer := range lent {
		pool.Put(buffer)
	}
	g.Expect(pool.Release()).To(BeTrue())
}

// A quantile is never too low and at most an eighth too high.
func TestLateness(t *testing.T) {
	g := NewWithT(t)
	var histogram Lateness
	g.Expect(histogram.Quantile(0.99)).To(BeZero())
	random := rand.New(rand.NewPCG(3, 4))
	values := make([]time.Duration, 10_000)
	for i := range values {
		values[i] = time.Duration(random.ExpFloat64() * float64(100*time.Microsecond))
		histogram.Add(values[i])
	}
	slices.Sort(values)
	for _, share := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		exact := values[int(share*float64(len(values))+0.5)-1]
		g.Expect(histogram.Quantile(share)).To(And(BeNumerically(">=", exact), BeNumerically("<=", exact+exact/8+1)))
	}
	g.Expect(histogram.Worst()).To(Equal(values[len(values)-1]))
	g.Expect(histogram.Count()).To(BeEquivalentTo(len(values)))
	histogram.Add(-time.Second)
	g.Expect(histogram.Quantile(0)).To(BeZero())
}
