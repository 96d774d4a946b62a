// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/internal/election/ballot"
)

// Partners are the servers of the group's other replicas as last seen, nil before they were.
func (k *Keeper) Partners() []string { return slices.Clone(k.partners) }

// inspect reads what the engine knows of the group, and remembers the partners.
func (k *Keeper) inspect(ctx context.Context) (ballot.Inspection, error) {
	i, err := k.engine.Inspect(ctx, k.group)
	if err != nil {
		return i, err
	}
	k.partners, k.data = nil, 0
	for _, r := range i.Replicas {
		if strings.EqualFold(r.Server, k.self.Server) {
			continue
		}
		k.partners = append(k.partners, r.Server)
		if r.Mode != ballot.ModeConfigurationOnly {
			k.data++
		}
	}
	return i, nil
}

// wakePartners lets the others look at the votes now. They do so by themselves within Renew.
func (k *Keeper) wakePartners(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ballot.QuickGrace)
	defer cancel()
	woken := make(chan error, len(k.partners))
	for _, server := range k.partners {
		go func() { woken <- k.peers.Wake(ctx, server, k.group) }()
	}
	for range k.partners {
		<-woken
	}
}

// meetPartners finds out once who the other replicas' servers are.
func (k *Keeper) meetPartners(ctx context.Context) error {
	if k.partners != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	if _, err := k.inspect(ctx); err != nil {
		return fmt.Errorf("looking at the replicas of group %s: %w", k.group, err)
	}
	return nil
}
