// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"geosql.dev/operator/internal/reconcile"
)

// siteDeadline bounds the work at one site, so that a site that just fell silent delays the next look at the others by
// no more than that.
const siteDeadline = 3 * time.Second

// siteSteps are the steps for one site.
type siteSteps struct {
	site  *siteView
	steps []step
}

// carryOut carries out the steps of all sites at the same time, those of one site in their order up to the first that
// fails, and returns the errors by site.
func carryOut(ctx context.Context, all []siteSteps) map[string]error {
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed = map[string]error{}
	)
	for _, s := range all {
		if len(s.steps) == 0 {
			continue
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			ctx, cancel := context.WithTimeout(ctx, siteDeadline)
			defer cancel()
			if err := applySite(ctx, s); err != nil {
				mu.Lock()
				failed[string(s.site.name)] = err
				mu.Unlock()
			}
		}()
	}
	wait.Wait()
	return failed
}

func applySite(ctx context.Context, s siteSteps) error {
	for _, st := range s.steps {
		var err error
		switch st.kind {
		case applyObject:
			err = s.site.member.Apply(ctx, st.object)
		case tellObject:
			err = s.site.member.ApplyUnchanged(ctx, st.object)
		case deleteObject:
			err = reconcile.Remove(ctx, s.site.member.Client, st.object)
		}
		if err != nil {
			return fmt.Errorf("site %s: %s (%s): %w", s.site.name, st.kind, st.reason, err)
		}
	}
	return nil
}

// apply carries out the steps of all sites. What failed is in the error and, by site, in the plan's note.
func apply(ctx context.Context, _ Desired, _ Observed, p reconcile.Plan) error {
	failed := reconcile.Noted[noted](p).failed
	var all []siteSteps
	for _, s := range p.Steps {
		x, ok := s.(siteStep)
		if !ok {
			return fmt.Errorf("step %T is not known", s)
		}
		if n := len(all); n == 0 || all[n-1].site != x.site {
			all = append(all, siteSteps{site: x.site})
		}
		all[len(all)-1].steps = append(all[len(all)-1].steps, x.step)
	}
	maps.Copy(failed, carryOut(ctx, all))
	var errs []error
	for _, site := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, failed[site])
	}
	return errors.Join(errs...)
}
