// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"sync"
	"time"
)

// greeter can keep connections to other sidecars open.
type greeter interface {
	Hello(ctx context.Context, server, group string) error
}

// meet notes the servers of the group's other replicas, and returns them.
func (r *runner) meet() []string {
	partners := r.s.keeper.Partners()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(partners) > 0 {
		r.partners = partners
	}
	return partners
}

// met are the servers of the group's other replicas as last seen; none before.
func (r *runner) met() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.partners
}

// greet greets the partners' sidecars now and then, beside the steps. Whether they answer does not matter here.
func (r *runner) greet(ctx context.Context, partners []string) {
	peers, can := r.h.peers.(greeter)
	if !can || time.Since(r.greeted) < greetEvery || len(partners) == 0 {
		return
	}
	select {
	case <-r.greeting:
	default:
		return
	}
	r.greeted = time.Now()
	group := r.ordered().Name
	go func() {
		defer func() { r.greeting <- struct{}{} }()
		ctx, cancel := context.WithTimeout(ctx, greetTimeout)
		defer cancel()
		var all sync.WaitGroup
		for _, server := range partners {
			all.Go(func() { _ = peers.Hello(ctx, server, group) })
		}
		all.Wait()
	}()
}
