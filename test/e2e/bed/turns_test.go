// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// watch is what tests see of each other.
type watch struct {
	mu                 sync.Mutex
	beside, mostBeside int
	alone, preparing   int
	begun, disturbed   []string
}

func (w *watch) do(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

// Tests that leave everything as it is begin with the longest, and never are more of them at work than there are
// places. Those that disturb are alone, one after another, when all others have ended and nobody prepares himself any
// more. One that fails, or has nothing to disturb after all, holds up nobody.
func TestTurnsAreTaken(t *testing.T) {
	s := newSchedule(1)
	w := &watch{}
	t.Run("all", func(t *testing.T) {
		for name, seconds := range map[string]int{"short": 1, "middle": 5, "long": 9, "longest": 12} {
			t.Run(name, func(t *testing.T) {
				s.begin(&Turn{t: t, seconds: seconds})
				w.bystander(t)
			})
		}
		for _, name := range []string{"one", "two", "three"} {
			t.Run(name, func(t *testing.T) { w.disturber(t, s.begin(&Turn{t: t, seconds: 3, disturbs: true})) })
		}
		t.Run("nothing to disturb", func(t *testing.T) { s.begin(&Turn{t: t, seconds: 3, disturbs: true}) })
		t.Run("skipped when it is alone", func(t *testing.T) {
			s.begin(&Turn{t: t, seconds: 3, disturbs: true}).Alone()
			t.SkipNow()
		})
	})
	g := NewWithT(t)
	g.Expect(w.disturbed).To(HaveLen(3))
	g.Expect(w.begun).To(Equal([]string{"longest", "long", "middle", "short"}))
	g.Expect(w.mostBeside).To(Equal(1), "there is one place")
	g.Expect(s.turns).To(BeEmpty())
}

func (w *watch) bystander(t *testing.T) {
	g := NewWithT(t)
	w.do(func() {
		w.beside++
		w.mostBeside = max(w.mostBeside, w.beside)
		w.begun = append(w.begun, t.Name()[len("TestTurnsAreTaken/all/"):])
		g.Expect(w.alone).To(BeZero())
		g.Expect(w.disturbed).To(BeEmpty(), "nobody disturbs yet")
	})
	w.do(func() { w.beside-- })
}

func (w *watch) disturber(t *testing.T, turn *Turn) {
	g := NewWithT(t)
	w.do(func() {
		g.Expect(w.alone).To(BeZero(), "it prepares itself undisturbed")
		w.preparing++
	})
	w.do(func() { w.preparing-- })
	turn.Alone()
	w.do(func() {
		w.alone++
		g.Expect(w.alone).To(Equal(1))
		g.Expect(w.beside + w.preparing).To(BeZero())
		g.Expect(w.begun).To(HaveLen(4), "all others have ended")
		w.disturbed = append(w.disturbed, t.Name())
	})
	w.do(func() { w.alone-- })
}

// What is shared is made by the first test that uses it and removed by the last. They use it one after another in the
// order of their places, those that disturb at the end.
func TestSharedIsUsedInTurn(t *testing.T) {
	s := newSchedule(3)
	w := &watch{}
	made, there := 0, 0
	shared := &Shared[int]{
		Make: func(_ *testing.T, thing *int) {
			made++
			there++
			*thing = made
		},
		Well:   func(*testing.T, *int) error { return nil },
		Remove: func(*testing.T, *int) { there-- },
		turns:  s,
	}
	use := func(turn *Turn, also func(thing *int)) {
		name := turn.t.Name()[len("TestSharedIsUsedInTurn/all/"):]
		w.do(func() {
			w.beside++
			NewWithT(turn.t).Expect(w.beside).To(Equal(1))
			w.begun = append(w.begun, name)
		})
		also(shared.Get(turn.t))
		w.do(func() { w.beside-- })
	}
	left := func(*int) {}
	t.Run("all", func(t *testing.T) {
		for _, place := range []int{2, 3, 1} {
			t.Run(fmt.Sprint(place), func(t *testing.T) {
				use(shared.begin(&Turn{t: t, place: place, seconds: place}), func(thing *int) {
					NewWithT(t).Expect(*thing).To(Equal(1))
				})
			})
		}
		t.Run("last", func(t *testing.T) {
			use(shared.begin(&Turn{t: t, place: 2, disturbs: true}), left)
		})
		t.Run("disturbs", func(t *testing.T) {
			turn := shared.begin(&Turn{t: t, place: 1, disturbs: true})
			turn.Alone()
			use(turn, left)
		})
		t.Run("own", func(t *testing.T) { s.begin(&Turn{t: t, seconds: 9}) })
	})
	g := NewWithT(t)
	g.Expect(w.begun).To(Equal([]string{"1", "2", "3", "disturbs", "last"}))
	g.Expect([]int{made, there}).To(Equal([]int{1, 0}))

}

// What a test does not leave well, or whose test failed, is made anew for the next.
func TestSharedIsMadeAnew(t *testing.T) {
	g := NewWithT(t)
	made := 0
	shared := &Shared[int]{users: 4, Make: func(_ *testing.T, thing *int) {
		made++
		*thing = made
	}}
	well := func(*int) error { return nil }
	g.Expect(*shared.Get(t)).To(Equal(1))
	thing, err := shared.parting(false, well)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(thing).To(BeNil(), "it stays")
	g.Expect(*shared.Get(t)).To(Equal(1))
	thing, err = shared.parting(false, func(*int) error { return errors.New("no primary") })
	g.Expect(err).To(MatchError("no primary"))
	g.Expect(*thing).To(Equal(1))
	g.Expect(*shared.Get(t)).To(Equal(2))
	thing, err = shared.parting(true, well)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*thing).To(Equal(2), "a failed test leaves nothing to others")
	g.Expect(*shared.Get(t, func(_ *testing.T, thing *int) { *thing = 7 })).To(Equal(7))
	thing, err = shared.parting(false, well)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*thing).To(Equal(7), "nobody is left who would use it")
	g.Expect(shared.thing).To(BeNil())
}
