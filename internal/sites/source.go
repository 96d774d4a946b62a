// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
)

// Declared is a site that shall be engaged, and how it is reached.
type Declared struct {
	Site *v1alpha1.Site
	// Config reaches its API server; nil when Err says why there is none.
	Config *rest.Config
	Err    error
}

// Source says which sites there are.
type Source interface {
	// Sites returns all of them.
	Sites(ctx context.Context) ([]Declared, error)
	// Watch calls changed whenever Sites may return something else, until stop is called.
	Watch(ctx context.Context, changed func()) (stop func(), err error)
}

// hubSource reads the Site objects and the kubeconfig Secrets of the hub from its manager's cache.
type hubSource struct {
	hub       manager.Manager
	namespace string
}

// Watch implements Source.
func (s hubSource) Watch(ctx context.Context, changed func()) (func(), error) {
	var stops []func()
	stop := func() {
		for _, s := range stops {
			s()
		}
	}
	for _, obj := range []client.Object{&v1alpha1.Site{}, &corev1.Secret{}} {
		informer, err := s.hub.GetCache().GetInformer(ctx, obj)
		if err != nil {
			stop()
			return nil, fmt.Errorf("watching the hub's Sites and Secrets: %w", err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		})
		if err != nil {
			stop()
			return nil, fmt.Errorf("watching the hub's Sites and Secrets: %w", err)
		}
		stops = append(stops, func() { _ = informer.RemoveEventHandler(registration) })
	}
	return stop, nil
}

// Sites implements Source.
func (s hubSource) Sites(ctx context.Context) ([]Declared, error) {
	var list v1alpha1.SiteList
	if err := s.hub.GetCache().List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing Sites: %w", err)
	}
	var declared []Declared
	for i := range list.Items {
		site := &list.Items[i]
		if site.DeletionTimestamp != nil && site.Spec.Lifecycle == v1alpha1.SiteLost {
			continue
		}
		cfg, err := s.config(ctx, site)
		declared = append(declared, Declared{Site: site, Config: cfg, Err: err})
	}
	return declared, nil
}

// config returns how to reach a site.
func (s hubSource) config(ctx context.Context, site *v1alpha1.Site) (*rest.Config, error) {
	ref := site.Spec.KubeconfigSecretRef
	if ref == nil {
		return rest.CopyConfig(s.hub.GetConfig()), nil
	}
	var secret corev1.Secret
	name := v1alpha1.SiteName(site.Name)
	full := s.namespace + "/" + ref.Name
	err := s.hub.GetCache().Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: ref.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, &KubeconfigError{Site: name, Secret: full, Reason: "the Secret does not exist"}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the Secret %s of site %s: %w", full, name, err)
	}
	key := ref.Key
	if key == "" {
		key = KubeconfigKey
	}
	data, ok := secret.Data[key]
	if !ok {
		return nil, &KubeconfigError{Site: name, Secret: full, Reason: fmt.Sprintf("the Secret has no key %q", key)}
	}
	cfg, err := LoadKubeconfig(data)
	if err != nil {
		return nil, &KubeconfigError{Site: name, Secret: full, Reason: err.Error()}
	}
	return cfg, nil
}
