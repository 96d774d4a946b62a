// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// mostWorkers is how many objects of a kind are reconciled at the same time unless a flag says so: one worker for each
// object, up to this. A worker without an object costs nothing.
const mostWorkers = 64

// load is what the manager may ask of API servers and engines at the same time.
type load struct {
	workers         int
	hubQPS, siteQPS float64
}

func (l *load) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&l.workers, "workers", mostWorkers,
		"how many servers, groups, publications and so on are reconciled at the same time at most, of each kind")
	flags.Float64Var(&l.hubQPS, "hub-qps", 0, "requests a second to the hub's API server at most, in bursts of twice as "+
		"many; 0 lets it follow what is declared: 200, and 2 more for each server and 4 for each group")
	flags.Float64Var(&l.siteQPS, "site-qps", 0, "the same for the API server of each site; 0 lets it follow what is "+
		"declared: 100, and 2 more for each server and 6 for each group")
}

// rates of the requests to the hub and to each site.
func (l *load) rates() (hub, site *sites.Rate) {
	hub, site = sites.NewHubRate(), sites.NewSiteRate()
	if l.hubQPS > 0 {
		hub.Fix(l.hubQPS)
	}
	if l.siteQPS > 0 {
		site.Fix(l.siteQPS)
	}
	return hub, site
}

// follow is a Runnable that tells rates how much is declared.
type follow struct {
	hub   client.Reader
	rates []*sites.Rate
}

var _ manager.Runnable = follow{}

// lookAtDeclared is how often it is counted, in the manager's cache.
const lookAtDeclared = 10 * time.Second

// Start counts until ctx ends.
func (f follow) Start(ctx context.Context) error {
	ticker := time.NewTicker(lookAtDeclared)
	defer ticker.Stop()
	for {
		var (
			servers v1alpha1.SQLServerList
			groups  v1alpha1.AvailabilityGroupList
		)
		err := f.hub.List(ctx, &servers, client.UnsafeDisableDeepCopy)
		if err == nil {
			err = f.hub.List(ctx, &groups, client.UnsafeDisableDeepCopy)
		}
		if err == nil {
			for _, r := range f.rates {
				r.Declare(len(servers.Items), len(groups.Items))
			}
		} else if ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "how much is declared cannot be counted")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
