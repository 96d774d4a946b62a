// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// siteDeadline bounds the work at one site, so that a site that just fell silent delays the next look at the others by
// no more than that.
const siteDeadline = 3 * time.Second

// siteSteps are the steps for one site.
type siteSteps struct {
	site  *siteView
	steps []step
}

// apply carries out the steps of all sites at the same time, those of one site in their order up to the first that
// fails, and returns the errors by site.
func apply(ctx context.Context, all []siteSteps) map[string]error {
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
		case deleteObject:
			err = client.IgnoreNotFound(s.site.member.Client.Delete(ctx, st.object))
		}
		if err != nil {
			return fmt.Errorf("site %s: %s (%s): %w", s.site.name, st.kind, st.reason, err)
		}
	}
	return nil
}
