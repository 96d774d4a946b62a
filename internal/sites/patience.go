// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// ErrSilent is the cause of a wait that was given up early, because the site's heartbeat fails too.
var ErrSilent = errors.New("the API server of the site does not answer either")

// Patience is how long an answer from a site is waited for. Behind a cut network nothing is refused: one that waits for
// every site alike learns nothing of those that answer meanwhile.
type Patience struct {
	// Answering bounds the wait in any case.
	Answering time.Duration
	// Silent bounds it while the site's heartbeat fails. An engine may answer all the same, so it is not zero.
	Silent time.Duration
	// Of is who is asked at the site, where that is not its API server: an engine may answer where that does not.
	Of string
}

// Wait bounds questions to a site, or to what runs there. While the site's heartbeat fails, who was asked there in vain
// is not asked again by each object: for a while everybody else's wait is over when it begins.
func (p *Provider) Wait(
	ctx context.Context,
	site v1alpha1.SiteName,
	patience Patience,
) (context.Context, context.CancelFunc) {
	silent := func() bool {
		health, known := p.Health(site)
		return known && health.Cause != nil
	}
	return p.vain.wait(ctx, vainly{site, patience.Of}, patience, silent)
}

// askAgain is how long who was asked in vain at a silent site is not asked again.
const askAgain = 10 * time.Second

// vainly is who was asked in vain, and where.
type vainly struct {
	site v1alpha1.SiteName
	of   string
}

// vain is when somebody was last asked in vain.
type vain struct {
	mu   sync.Mutex
	last map[vainly]time.Time
}

func (v *vain) wait(
	ctx context.Context,
	who vainly,
	patience Patience,
	silent func() bool,
) (context.Context, context.CancelFunc) {
	if v.lately(who) && silent() {
		ctx, giveUp := context.WithCancelCause(ctx)
		giveUp(ErrSilent)
		return ctx, func() {}
	}
	ctx, cancel := patience.wait(ctx, silent)
	return ctx, func() {
		v.note(who, errors.Is(context.Cause(ctx), ErrSilent))
		cancel()
	}
}

func (v *vain) lately(who vainly) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, known := v.last[who]
	return known && time.Since(last) < askAgain
}

// note says whether somebody was asked in vain.
func (v *vain) note(who vainly, silent bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !silent {
		delete(v.last, who)
		return
	}
	if v.last == nil {
		v.last = map[vainly]time.Time{}
	}
	v.last[who] = time.Now()
}

// lookAtHealth is how often a wait looks whether the heartbeat has begun to fail.
const lookAtHealth = 500 * time.Millisecond

func (p Patience) wait(ctx context.Context, silent func() bool) (context.Context, context.CancelFunc) {
	ctx, cancelTimeout := context.WithTimeout(ctx, p.Answering)
	ctx, giveUp := context.WithCancelCause(ctx)
	go func() {
		next := time.NewTimer(p.Silent)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
			}
			if silent() {
				giveUp(ErrSilent)
				return
			}
			next.Reset(lookAtHealth)
		}
	}()
	return ctx, func() {
		giveUp(context.Canceled)
		cancelTimeout()
	}
}

// Explain adds to err why the wait of ctx was given up early.
func Explain(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrSilent) {
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return err
}
