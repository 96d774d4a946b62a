// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"errors"
	"fmt"
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
}

// Wait bounds questions to a site, or to what runs there.
func (p *Provider) Wait(
	ctx context.Context,
	site v1alpha1.SiteName,
	patience Patience,
) (context.Context, context.CancelFunc) {
	return patience.wait(ctx, func() bool {
		health, known := p.Health(site)
		return known && health.Cause != nil
	})
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
