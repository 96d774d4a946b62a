// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"geosql.dev/operator/api/v1alpha1"
)

// Provider engages the clusters of Site objects; a cluster's name is the Site's. It implements multicluster.Provider
// and multicluster.ProviderRunnable. The hub's own Site is engaged with the hub's configuration.
type Provider struct {
	opts Options
	log  logr.Logger
	hub  manager.Manager

	mu       sync.RWMutex
	runs     map[v1alpha1.SiteName]*engagement
	indexers []index
	watchers map[int]chan v1alpha1.SiteName
	nextID   int
	watching watching
	vain     vain
	// poke asks the loop of Start to look at the Sites again.
	poke chan struct{}
}

type index struct {
	object  client.Object
	field   string
	extract client.IndexerFunc
}

var (
	_ multicluster.Provider         = &Provider{}
	_ multicluster.ProviderRunnable = &Provider{}
)

// NewProvider makes a provider; SetupWithManager must be called before the manager starts.
func NewProvider(opts Options) *Provider {
	return &Provider{
		opts:     opts.withDefaults(),
		runs:     map[v1alpha1.SiteName]*engagement{},
		watchers: map[int]chan v1alpha1.SiteName{},
		poke:     make(chan struct{}, 1),
	}
}

// SetupWithManager names the hub's manager, from whose cache Sites and Secrets are read. The cache must hold the
// Secrets of the operator's namespace.
func (p *Provider) SetupWithManager(mgr manager.Manager) error {
	if p.hub != nil {
		return fmt.Errorf("the provider has a manager already")
	}
	p.hub = mgr
	p.log = mgr.GetLogger().WithName("sites")
	if p.opts.Scheme == nil {
		p.opts.Scheme = mgr.GetScheme()
	}
	if p.opts.Source == nil {
		p.opts.Source = hubSource{hub: mgr, namespace: p.opts.Namespace}
	}
	return nil
}

// Start engages sites until ctx ends. The manager calls it.
func (p *Provider) Start(ctx context.Context, aware multicluster.Aware) error {
	stop, err := p.opts.Source.Watch(ctx, p.look)
	if err != nil {
		return err
	}
	defer stop()
	defer p.stopAll()
	// The timer covers events that are lost and errors in between; a pass that finds nothing new costs one cached list.
	timer := time.NewTicker(30 * time.Second)
	defer timer.Stop()
	for {
		if err := p.reconcile(ctx, aware); err != nil {
			p.log.Error(err, "reading the Sites")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.poke:
		case <-timer.C:
		}
	}
}

// look asks for another pass over the Sites without waiting for it.
func (p *Provider) look() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// reconcile starts, restarts and stops engagements so that they match the Site objects.
func (p *Provider) reconcile(ctx context.Context, aware multicluster.Aware) error {
	declared, err := p.opts.Source.Sites(ctx)
	if err != nil {
		return err
	}
	wanted := map[v1alpha1.SiteName]bool{}
	for _, d := range declared {
		wanted[v1alpha1.SiteName(d.Site.Name)] = true
		p.ensure(ctx, aware, d.Site, d.Config, d.Err)
	}
	for name, run := range p.snapshot() {
		if !wanted[name] {
			p.log.Info("disengaging: the Site was removed", "site", name)
			run.stop()
			p.mu.Lock()
			delete(p.runs, name)
			p.mu.Unlock()
			p.notify(name)
		}
	}
	return nil
}

// ensure keeps the engagement of a site when nothing it depends on has changed, and starts a new one else.
func (p *Provider) ensure(
	ctx context.Context,
	aware multicluster.Aware,
	site *v1alpha1.Site,
	cfg *rest.Config,
	cause error,
) {
	name := v1alpha1.SiteName(site.Name)
	basis := fingerprint(site, cfg, cause)
	p.mu.Lock()
	old := p.runs[name]
	if old != nil && old.basis == basis {
		p.mu.Unlock()
		return
	}
	run := newEngagement(p, site.DeepCopy(), cfg, basis)
	if old != nil && EpochOf(old.site) == EpochOf(site) {
		run.other = old.other
	}
	if cause != nil {
		run.health.Cause = cause
	} else if site.Spec.Lifecycle == v1alpha1.SiteLost {
		run.health.Cause = ErrSiteLost
	}
	p.runs[name] = run
	replaced := p.handOver(old, run)
	p.mu.Unlock()
	if old != nil {
		p.log.Info("engaging anew: the Site or its kubeconfig changed", "site", name)
	}
	if replaced != nil {
		replaced.stop()
	}
	if run.health.Cause == nil {
		go run.loop(ctx, aware)
	} else {
		close(run.done)
	}
	p.notify(name)
}

// handOver lets the engagement that serves a site go on until run is engaged or has failed: renewed credentials or a
// new storage class must not make everything at the site unknown for a moment. It returns the engagement to stop, if
// any. The mutex is held.
func (p *Provider) handOver(old, run *engagement) *engagement {
	if old == nil || run.health.Cause != nil {
		return old
	}
	serves := func(e *engagement) bool { return e != nil && e.health.Reachable(time.Now(), p.opts.UnknownAfter) }
	switch {
	case serves(old):
		run.old = old
		return nil
	case serves(old.old):
		// The site changed twice before it was engaged once.
		run.old, old.old = old.old, nil
	}
	return old
}

// Get returns the cluster of an engaged site.
func (p *Provider) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	run, ok := p.runs[v1alpha1.SiteName(name)]
	if ok && run.cluster == nil && run.old != nil {
		run = run.old
	}
	if !ok || run.cluster == nil {
		return nil, fmt.Errorf("site %s: %w", name, multicluster.ErrClusterNotFound)
	}
	return run.cluster, nil
}

// IndexField indexes a field in the caches of all sites, present and future. The object must be one of WatchedObjects.
func (p *Provider) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	p.mu.Lock()
	p.indexers = append(p.indexers, index{obj, field, extract})
	engaged := map[v1alpha1.SiteName]cluster.Cluster{}
	for name, run := range p.runs {
		if run.cluster != nil {
			engaged[name] = run.cluster
		}
	}
	p.mu.Unlock()
	for name, cl := range engaged {
		if err := cl.GetFieldIndexer().IndexField(ctx, obj, field, extract); err != nil {
			return fmt.Errorf("indexing %s at site %s: %w", field, name, err)
		}
	}
	return nil
}

// Member returns a site that answers. The error is ErrUnknownSite (wrapped) when there is no such Site, ErrSiteLost
// (wrapped) when it is declared lost, else an *UnreachableError whose cause says what is wrong.
func (p *Provider) Member(site v1alpha1.SiteName) (*Member, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	run, ok := p.runs[site]
	if !ok {
		return nil, fmt.Errorf("site %s: %w: declared are %v", site, ErrUnknownSite, slices.Sorted(maps.Keys(p.runs)))
	}
	if errors.Is(run.health.Cause, ErrSiteLost) {
		return nil, fmt.Errorf("site %s: %w", site, ErrSiteLost)
	}
	if run.old != nil && run.old.health.Reachable(time.Now(), p.opts.UnknownAfter) {
		return run.old.member, nil
	}
	if !run.health.Reachable(time.Now(), p.opts.UnknownAfter) {
		cause := run.health.Cause
		if cause == nil {
			cause = fmt.Errorf("its caches are being filled")
		}
		return nil, &UnreachableError{Site: site, Since: run.health.LastHeartbeat, Cause: cause}
	}
	return run.member, nil
}

// Members returns all sites that answer, by name.
func (p *Provider) Members() []*Member {
	var members []*Member
	for _, name := range slices.Sorted(maps.Keys(p.snapshot())) {
		if m, err := p.Member(name); err == nil {
			members = append(members, m)
		}
	}
	return members
}

// Health returns what the heartbeat knows about a site, and false when there is no such Site.
func (p *Provider) Health(site v1alpha1.SiteName) (Health, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	run, ok := p.runs[site]
	if !ok {
		return Health{}, false
	}
	if run.old != nil {
		h := run.old.health
		h.CredentialsExpire = run.health.CredentialsExpire
		return h, true
	}
	return run.health, true
}

// OtherHub returns the *OtherHubError of a site that was another hub's when somebody could be asked last, also while it
// does not answer or refuses the credentials, which that hub has ended; else nil.
func (p *Provider) OtherHub(site v1alpha1.SiteName) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if run, ok := p.runs[site]; ok && run.other != nil {
		return run.other
	}
	return nil
}

// Namespace of the operator, in which the Sites' kubeconfig Secrets are.
func (p *Provider) Namespace() string { return p.opts.Namespace }

// UnknownAfter is how long a site may stay silent before its observations count as unknown.
func (p *Provider) UnknownAfter() time.Duration { return p.opts.UnknownAfter }

func (p *Provider) snapshot() map[v1alpha1.SiteName]*engagement {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return maps.Clone(p.runs)
}

func (p *Provider) stopAll() {
	for _, run := range p.snapshot() {
		run.stop()
	}
}
