// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// running is an API server and its etcd, which may outlive the test that they were started for.
type running struct {
	hub bool
	env *envtest.Environment
	// config and client of the administrator, past any wire.
	config *rest.Config
	client client.Client
	// folder has its files.
	folder string
	// release gives its ports back.
	release []func()

	store *store
	// listable are the kinds that it has without a test's doing, and before its keys then; nil if it is used once only.
	listable []schema.GroupVersionResource
	before   map[string]key
	// since is the store's revision when it was last as before.
	since int64
}

func (r *running) stop() error {
	err := r.env.Stop()
	for _, release := range r.release {
		release()
	}
	if err != nil {
		return fmt.Errorf("stopping kube-apiserver and etcd: %w", err)
	}
	if err := os.RemoveAll(r.folder); err != nil {
		return fmt.Errorf("remove the files of kube-apiserver and etcd: %w", err)
	}
	return nil
}

// kept are servers that no test uses, for those that begin later.
var kept struct {
	sync.Mutex
	// on says that Main will stop what is kept.
	on      bool
	servers []*running
}

// Main runs the tests of a package, for its TestMain. A test that ends well leaves its hubs and members to those that
// begin later, with everything taken away that was made there: to start one takes more of a processor than most tests
// need it for. What a cluster is known by, the UID of kube-system, stays; of two servers that a test has at the same
// time it differs.
func Main(m *testing.M) int {
	kept.on = true
	code := m.Run()
	for r := takeKept(nil); r != nil; r = takeKept(nil) {
		if err := r.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// takeKept takes one of those that are kept, a hub or a member where that is asked.
func takeKept(hub *bool) *running {
	kept.Lock()
	defer kept.Unlock()
	for i, r := range kept.servers {
		if hub == nil || r.hub == *hub {
			kept.servers = append(kept.servers[:i], kept.servers[i+1:]...)
			return r
		}
	}
	return nil
}

func (r *running) keep() {
	kept.Lock()
	defer kept.Unlock()
	kept.servers = append(kept.servers, r)
}

// again is a server that an earlier test has left, as it was when it had started. One that cannot be made so is
// stopped.
func again(t testing.TB, hub bool) *running {
	t.Helper()
	for r := takeKept(&hub); r != nil; r = takeKept(&hub) {
		why, err := r.clear(t.Context())
		if err == nil && why == "" {
			return r
		}
		t.Logf("an API server is not used again: %s %v", why, err)
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}
	return nil
}

// remember looks at what the server has by itself, so that clear can tell it from what a test makes.
func (r *running) remember(ctx context.Context) error {
	if err := r.established(ctx); err != nil {
		return err
	}
	d, err := discovery.NewDiscoveryClientForConfig(r.config)
	if err != nil {
		return fmt.Errorf("make a client for what the API server serves: %w", err)
	}
	lists, err := d.ServerPreferredResources()
	if err != nil {
		return fmt.Errorf("ask the API server what it serves: %w", err)
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return fmt.Errorf("read the API version %q: %w", list.GroupVersion, err)
		}
		for _, resource := range list.APIResources {
			r.listable = append(r.listable, version.WithResource(resource.Name))
		}
	}
	r.before, r.since, err = r.store.keys(ctx)
	return err
}

// passes are how often clear looks before it gives up on a server in which something still writes.
const passes = 10

// clear takes everything away that a test has made, past finalizers. It tells why the server is not as it was before
// the test: what was there is changed or gone, or what the API server has rules of its own from was added, even if the
// test took it away again: the rules go later.
func (r *running) clear(ctx context.Context) (why string, err error) {
	// A request of the test's may still have been carried out when the keys were read: only what finds nothing is the end.
	for range passes {
		now, revision, err := r.store.keys(ctx)
		if err != nil {
			return "", err
		}
		made, why := r.made(now)
		if why != "" {
			return why, nil
		}
		if len(made) == 0 {
			why, err := r.rulesGone(ctx)
			r.since = revision
			return why, err
		}
		if err := r.store.remove(ctx, made); err != nil {
			return "", err
		}
		if why, err := r.forget(ctx, made); why != "" || err != nil {
			return why, err
		}
	}
	return "something still writes there", nil
}

// rulesGone tells whether a test had rules that it took away again.
func (r *running) rulesGone(ctx context.Context) (why string, err error) {
	gone, known, err := r.store.gone(ctx, r.since)
	if err != nil {
		return "", err
	}
	if !known {
		return "etcd does not know what was taken away", nil
	}
	if i := slices.IndexFunc(gone, rulesServer); i >= 0 {
		return gone[i] + " was taken away", nil
	}
	return "", nil
}

// made are the keys that a test has made, unless it tells why the server is not as it was without them.
func (r *running) made(now map[string]key) (made []string, why string) {
	for name, was := range r.before {
		is := now[name]
		if is == was || serversOwn(name) || hasStatus(name) && is.Created == was.Created {
			continue
		}
		return nil, name + " was changed"
	}
	for name := range now {
		if _, was := r.before[name]; was || serversOwn(name) {
			continue
		}
		if rulesServer(name) {
			return nil, name + " was made"
		}
		made = append(made, name)
	}
	return made, ""
}

// forget waits until the API server has seen that these keys were removed from its store: each of its kinds has a
// cache, from which the first list of an informer may come as it is. A list that names no resource version is as new as
// the store.
func (r *running) forget(ctx context.Context, removed []string) (why string, err error) {
	c, err := metadata.NewForConfig(r.config)
	if err != nil {
		return "", fmt.Errorf("make a client for metadata: %w", err)
	}
	kinds := map[string]bool{}
	for _, name := range removed {
		kinds[kindOf(name)] = true
	}
	for _, resource := range r.listable {
		if !kinds[resource.Resource] {
			continue
		}
		if _, err := c.Resource(resource).List(ctx, metav1.ListOptions{}); err != nil {
			return "", fmt.Errorf("list %s: %w", resource, err)
		}
	}
	for _, resource := range r.listable {
		delete(kinds, resource.Resource)
	}
	for name := range kinds {
		return "it keeps " + name + ", which it does not list", nil
	}
	return "", nil
}
