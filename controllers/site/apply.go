// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"fmt"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// apply renews the manager's token for the site. The engagement with the old one ends when the new one has been read.
func (r *reconciler) apply(ctx context.Context, _ Desired, o *Observed, p reconcile.Plan) error {
	for _, step := range p.Steps {
		if _, ok := step.(RenewToken); !ok {
			return fmt.Errorf("step %T is not known", step)
		}
		o.renewed = attempt{o.now, sites.RenewToken(ctx, r.hub, r.sites.Namespace(), o.site, o.member.Client)}
		r.renewed[o.member.Name()] = o.renewed
		if o.renewed.err != nil {
			return o.renewed.err
		}
	}
	return nil
}
