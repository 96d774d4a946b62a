// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"fmt"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// apply renews the manager's token for the site, or takes the site out of what others were told. The engagement with
// the old token ends when the new one has been read; then the old one is revoked.
func (r *reconciler) apply(ctx context.Context, _ Desired, o *Observed, p reconcile.Plan) error {
	for _, step := range p.Steps {
		switch s := step.(type) {
		case ForgetSite:
			if err := s.at.member.ApplyUnchanged(ctx, s.object); err != nil {
				return fmt.Errorf("site %s: %w", s.at.member.Name(), err)
			}
		case RenewToken:
			o.renewed = attempt{o.now, sites.RenewToken(ctx, r.hub, r.sites.Namespace(), o.site, tokenUse(o))}
			r.renewed[o.member.Name()] = o.renewed
			if o.renewed.err != nil {
				return o.renewed.err
			}
		case RevokeToken:
			if err := sites.RevokeToken(ctx, r.hub, r.sites.Namespace(), o.site, tokenUse(o), o.token, s.Former); err != nil {
				return err
			}
		default:
			return fmt.Errorf("step %T is not known", step)
		}
	}
	return nil
}

// tokenUse is how tokens are made and ended at the observed site.
func tokenUse(o *Observed) sites.TokenUse {
	return sites.TokenUse{Reader: o.member.APIReader, Writer: o.member.Client}
}
