// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"os"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// watch is what tests see of each other.
type watch struct {
	mu                   sync.Mutex
	prepared             int
	servers, mostServers int
	alone, beside, most  int
	disturbed, begun     []string
}

func (w *watch) do(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

// Tests that disturb prepare themselves together, as many as there is room for, those with the fewest servers first; disturb one
// after another, and take away what they made together. When the last batch of them is through, those begin that leave everything
// as it is, the longest first, and never more of them than there are places. One that fails, or has nothing to disturb after all,
// holds up nobody.
func TestTurnsAreTaken(t *testing.T) {
	s := newSchedule(1)
	w := &watch{}
	lengths := map[string]int{"short": 1, "middle": 5, "long": 9, "longest": 12}
	t.Run("all", func(t *testing.T) {
		for name, seconds := range lengths {
			t.Run(name, func(t *testing.T) { w.bystander(t, s, seconds) })
		}
		for name, servers := range map[string]int{"one": 1, "two": roomForServers - 3, "three": roomForServers, "too many": roomForServers + 1} {
			t.Run(name, func(t *testing.T) { w.disturber(t, s, servers) })
		}
		t.Run("nothing to disturb", func(t *testing.T) {
			s.disturbs(t, 1)
			w.do(func() { w.prepared++ })
		})
		t.Run("skipped when it is alone", func(t *testing.T) {
			turn := s.disturbs(t, 1)
			w.do(func() { w.prepared++ })
			turn.Alone()
			t.SkipNow()
		})
	})
	g := NewWithT(t)
	g.Expect(w.disturbed[:2]).To(ConsistOf("TestTurnsAreTaken/all/one", "TestTurnsAreTaken/all/two"))
	g.Expect(w.disturbed[2:]).To(Equal([]string{"TestTurnsAreTaken/all/three", "TestTurnsAreTaken/all/too_many"}), "each is a batch of its own")
	g.Expect(w.mostServers).To(Equal(roomForServers + 1))
	g.Expect(w.begun).To(Equal([]string{"TestTurnsAreTaken/all/longest", "TestTurnsAreTaken/all/long", "TestTurnsAreTaken/all/middle", "TestTurnsAreTaken/all/short"}))
	g.Expect(w.most).To(Equal(1), "there is one place")
	g.Expect([]int{s.running, s.begun, s.calm, s.servers, len(s.waiting), len(s.queued)}).To(HaveEach(0))
	g.Expect(s.alone).To(BeFalse())
}

func (w *watch) bystander(t *testing.T, s *schedule, seconds int) {
	s.beside(t, seconds)
	g := NewWithT(t)
	w.do(func() {
		w.beside++
		w.most = max(w.most, w.beside)
		w.begun = append(w.begun, t.Name())
		g.Expect(w.alone).To(BeZero())
		g.Expect(w.disturbed).To(HaveLen(4), "nobody disturbs any more")
	})
	w.do(func() { w.beside-- })
}

func (w *watch) disturber(t *testing.T, s *schedule, servers int) {
	g := NewWithT(t)
	turn := s.disturbs(t, servers)
	before := 0
	w.do(func() {
		w.prepared++
		w.servers += servers
		w.mostServers = max(w.mostServers, w.servers)
		before = len(w.disturbed)
		g.Expect(before == 0 && servers < roomForServers || before == 2 && w.servers == roomForServers || before == 3 && w.servers > roomForServers).To(BeTrue(),
			"after %d, with %d servers", before, w.servers)
	})
	turn.Alone()
	w.do(func() {
		w.alone++
		g.Expect(w.alone).To(Equal(1))
		if before == 0 {
			g.Expect(w.prepared).To(Equal(4), "all of the batch are prepared before one disturbs")
		}
		g.Expect(w.beside).To(BeZero())
		w.disturbed = append(w.disturbed, t.Name())
	})
	w.do(func() { w.alone-- })
	turn.Over()
	w.do(func() {
		g.Expect(len(w.disturbed)).To(BeNumerically(">=", min(2, before+1)), "the batch is through")
		w.servers -= servers
	})
}
