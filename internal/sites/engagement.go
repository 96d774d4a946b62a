// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"geosql.dev/operator/api/v1alpha1"
)

// engagement is one site with one configuration: its goroutine probes, fills the caches, engages the controllers and
// then beats. health, other, member, cluster and old are guarded by the provider's mutex.
type engagement struct {
	p    *Provider
	name v1alpha1.SiteName
	site *v1alpha1.Site
	cfg  *rest.Config
	// clock compares the manager's clock with the API server's.
	clock *Clock
	// is the site's cluster, by the UID of its namespace kube-system; empty until one has answered. Guarded like health.
	is string
	// basis is the fingerprint of all that it depends on.
	basis string

	once     sync.Once
	stopping chan struct{}
	done     chan struct{}

	health Health
	// other is whose the site was said to be last; nil when it was this hub's.
	other   *OtherHubError
	member  *Member
	cluster cluster.Cluster
	// old is the engagement with the configuration before, which serves until this one is engaged or has failed.
	old *engagement
}

func newEngagement(p *Provider, site *v1alpha1.Site, cfg *rest.Config, basis string) *engagement {
	run := &engagement{p: p, name: v1alpha1.SiteName(site.Name), site: site, cfg: cfg, is: site.Cluster(), basis: basis,
		clock: NewClock(), stopping: make(chan struct{}), done: make(chan struct{})}
	run.health.Site = run.name
	if cfg != nil {
		run.health.CredentialsExpire, _ = CredentialsExpire(cfg)
	}
	return run
}

// fingerprint of all that an engagement depends on.
func fingerprint(site *v1alpha1.Site, cfg *rest.Config, cause error) string {
	h := sha256.New()
	// Marshalling these plain structs cannot fail.
	spec, _ := json.Marshal(site.Spec)
	h.Write(spec)
	h.Write([]byte(site.UID))
	if cfg != nil {
		fmt.Fprintf(h, "|%s|%s|%s|%s|%s|%s", cfg.Host, cfg.BearerToken, cfg.CAData, cfg.CertData, cfg.KeyData, cfg.Username)
	}
	if cause != nil {
		fmt.Fprintf(h, "|%s", cause)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// stop ends the goroutine and waits for it a short while: a call to a dead site may take its whole deadline to return,
// and what comes after must not wait for that.
func (run *engagement) stop() {
	run.once.Do(func() { close(run.stopping) })
	run.dropOld()
	select {
	case <-run.done:
	case <-time.After(2 * time.Second):
	}
}

// loop engages and, whenever the engagement ends (silence, namespaces that changed), engages again.
func (run *engagement) loop(parent context.Context, aware multicluster.Aware) {
	defer close(run.done)
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	go func() {
		select {
		case <-run.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	log := run.p.log.WithValues("site", run.name)
	probe, err := newProber(run)
	if err != nil {
		run.failed(err)
		return
	}
	defer probe.dialer.CloseAll()
	for ctx.Err() == nil {
		if err := run.engage(ctx, aware, probe); err != nil && ctx.Err() == nil {
			if run.failed(err) {
				log.Info("not engaged", "cause", err.Error())
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(run.p.opts.Heartbeat):
		}
	}
}

// engage returns when the engagement has ended or could not be made.
func (run *engagement) engage(parent context.Context, aware multicluster.Aware, probe *prober) error {
	first, err := run.ask(parent, probe.full)
	if err != nil {
		return err
	}
	if err := run.claim(first); err != nil {
		return err
	}
	owned, err := run.claimed(parent, probe, first)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	dialer := newDialer()
	defer dialer.CloseAll()
	cl, err := run.fill(ctx, dialer, first)
	if err != nil {
		return err
	}
	if err := owned.follow(ctx, cl.GetCache()); err != nil {
		return err
	}
	defer run.disengaged()
	run.engaged(cl, first, owned)
	if err := aware.Engage(ctx, multicluster.ClusterName(run.name), cl); err != nil {
		return fmt.Errorf("starting the watches of site %s: %w", run.name, err)
	}
	run.dropOld()
	run.p.log.Info("engaged", "site", run.name, "namespaces", first.usable, "roundTrip", first.roundTrip.String())
	run.p.notify(run.name)
	return run.beat(ctx, probe, dialer, first, owned)
}

// claimed bounds the claim of the site in time. Without rights to it the answer is that of a heartbeat without rights.
func (run *engagement) claimed(ctx context.Context, probe *prober, first answer) (*ownership, error) {
	ctx, cancel := context.WithTimeout(ctx, run.p.opts.ProbeTimeout)
	defer cancel()
	hub, err := run.p.HubUID(ctx)
	if err != nil {
		// The hub's own answer says nothing of the site or its credentials.
		return nil, fmt.Errorf("it cannot be told whose site %s is: %w", run.name, err)
	}
	if hub == "" {
		return nil, nil
	}
	owned, err := run.claimSite(ctx, probe.client, hub, first.usable)
	if err != nil {
		return nil, probe.failed(err)
	}
	return owned, nil
}

// fill makes the cluster and fills its caches within a bound.
func (run *engagement) fill(ctx context.Context, dialer *connrotation.Dialer, first answer) (cluster.Cluster, error) {
	cfg := rest.CopyConfig(run.cfg)
	// A dialer of its own keeps the transport from being shared with an earlier engagement, whose connections may be
	// half open.
	cfg.Dial = dialer.DialContext
	cfg.RateLimiter = run.p.opts.Rate.Limiter()
	cfg.Wrap(run.clock.Wrap)
	mapCtx, cancelMap := context.WithTimeout(ctx, run.p.opts.SyncTimeout)
	defer cancelMap()
	cl, err := cluster.New(cfg, func(o *cluster.Options) {
		o.Scheme = run.p.opts.Scheme
		o.Logger = run.p.log.WithValues("site", run.name)
		o.Cache = cacheOptions(run.p.opts.Watched(run.site), first.usable)
		o.MapperProvider = staticMapper
	})
	if err != nil {
		return nil, fmt.Errorf("making the cluster of site %s: %w", run.name, err)
	}
	go func() {
		if err := cl.Start(ctx); err != nil && ctx.Err() == nil {
			run.p.log.Error(err, "the caches of a site stopped", "site", run.name)
		}
	}()
	for _, w := range run.p.opts.Watched(run.site) {
		if _, err := cl.GetCache().GetInformer(mapCtx, w.Object); err != nil {
			return nil, fmt.Errorf("filling the cache of %T of site %s: %w", w.Object, run.name, err)
		}
	}
	run.p.mu.RLock()
	indexers := slices.Clone(run.p.indexers)
	run.p.mu.RUnlock()
	for _, ix := range indexers {
		if err := cl.GetFieldIndexer().IndexField(mapCtx, ix.object, ix.field, ix.extract); err != nil {
			return nil, fmt.Errorf("indexing %s at site %s: %w", ix.field, run.name, err)
		}
	}
	return cl, nil
}

// lookForReturn is the time between two heartbeats of a site that has left one unanswered.
const lookForReturn = time.Second

// beat keeps the health of an engaged site until it has been silent for too long or its namespaces have changed.
func (run *engagement) beat(
	ctx context.Context,
	probe *prober,
	dialer *connrotation.Dialer,
	first answer,
	owned *ownership,
) error {
	pause := run.p.opts.Heartbeat
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-owned.moves():
			if _, err := run.claimed(ctx, probe, first); err != nil {
				if other := owned.other(); other != nil && isDenied(err) {
					return other
				}
				return err
			}
			continue
		case <-time.After(pause):
		}
		question := probe.beat
		whole := n%6 == 0
		if whole {
			question = probe.full
		}
		got, err := run.ask(ctx, question)
		if err != nil {
			pause = min(lookForReturn, run.p.opts.Heartbeat)
			silent := run.failedBeat(err)
			if silent >= run.p.opts.UnknownAfter || isDenied(err) {
				// What the caches hold is old, and their connections may be half open: fill new ones when it returns.
				return err
			}
			continue
		}
		pause = run.p.opts.Heartbeat
		if whole && (got.clusterUID != first.clusterUID || !slices.Equal(got.usable, first.usable)) {
			return nil
		}
		if run.answered(got, whole) {
			// What was sent meanwhile waits for its next repetition, which TCP puts off the longer the silence was.
			dialer.CloseAll()
		}
		if err := run.claim(first); err != nil {
			return err
		}
	}
}

// ask bounds a question in time.
func (run *engagement) ask(ctx context.Context, question func(context.Context) (answer, error)) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, run.p.opts.ProbeTimeout)
	defer cancel()
	return question(ctx)
}

func (run *engagement) newMember(cl cluster.Cluster, first answer, owned *ownership) *Member {
	timeout := run.p.opts.CallTimeout
	return &Member{
		Site:       *run.site,
		ClusterUID: first.clusterUID,
		Client:     ownedClient{deadlineClient{cl.GetClient(), timeout}, owned},
		APIReader:  deadlineReader{cl.GetAPIReader(), timeout},
		RESTConfig: ownedConfig(cl.GetConfig(), owned),
		Clock:      run.clock,
		Namespaces: first.usable,
		unusable:   first.unusable,
		gone:       first.gone,
	}
}

var _ client.Client = deadlineClient{}
