// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"sync"
)

// gate lets so many in at the same time. Of those who wait, who has the fewest inside is next, in the order of asking:
// one who takes long keeps nobody else out for longer than one turn takes.
type gate struct {
	mu          sync.Mutex
	limit, used int
	// inside are how many turns each has.
	inside  map[string]int
	waiting []turn
}

type turn struct {
	who  string
	come chan struct{}
}

func (g *gate) resize(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.admit()
}

// admit lets in who waits while there is room. g.mu is held.
func (g *gate) admit() {
	for g.used < g.limit && len(g.waiting) > 0 {
		next := 0
		for i, t := range g.waiting {
			if g.inside[t.who] < g.inside[g.waiting[next].who] {
				next = i
			}
		}
		t := g.waiting[next]
		g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
		if g.inside == nil {
			g.inside = map[string]int{}
		}
		g.inside[t.who]++
		g.used++
		close(t.come)
	}
}

// enter waits for a turn; leave ends it.
func (g *gate) enter(ctx context.Context, who string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine := turn{who: who, come: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, mine)
	g.admit()
	g.mu.Unlock()
	select {
	case <-mine.come:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, t := range g.waiting {
		if t.come == mine.come {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	// Its turn came meanwhile.
	g.end(who)
	return ctx.Err()
}

func (g *gate) leave(who string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(who)
}

// end gives a turn back. g.mu is held.
func (g *gate) end(who string) {
	g.used--
	if g.inside[who]--; g.inside[who] == 0 {
		delete(g.inside, who)
	}
	g.admit()
}
