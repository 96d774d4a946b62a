// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/account"
)

const (
	// sourceEvery is how often a site looks whether it was told of other sites or other credentials.
	sourceEvery = 5 * time.Second
	// sourceTimeout bounds a call to the site's own API server.
	sourceTimeout = 5 * time.Second
	// renewBelow is the part of a token's life below which the site makes itself a new one.
	renewBelow = 0.5
)

// SiteSource is the sites as a site's own process reaches them: itself with its own credentials, and each other site
// for each namespace with what the manager left in the Secret there. It renews those credentials by itself.
type SiteSource struct {
	// Self is the site's name.
	Self v1alpha1.SiteName
	// Config and Client reach the site's own API server; Client does not cache.
	Config *rest.Config
	Client client.Client
	// Namespaces are those whose names are kept.
	Namespaces []string
}

var _ sites.Source = SiteSource{}

// SiteOptions are what a provider with this source needs beside it.
func (s SiteSource) SiteOptions(o sites.Options) sites.Options {
	o.Source, o.Anonymous = s, true
	o.Needed = authorizationv1.ResourceAttributes{Verb: "watch", Resource: "pods"}
	o.Watched = func(site *v1alpha1.Site) []sites.WatchedObject {
		watched := []sites.WatchedObject{
			{Object: &corev1.Pod{}, OwnOnly: true},
			{Object: &coordinationv1.Lease{}, OwnOnly: true},
		}
		if site.Name != string(s.Self) {
			return append(watched, sites.WatchedObject{Object: &corev1.Service{}, OwnOnly: true})
		}
		return append(
			watched,
			sites.WatchedObject{Object: &corev1.Service{}},
			sites.WatchedObject{
				Object:  &discoveryv1.EndpointSlice{},
				OwnOnly: true,
			},
			sites.WatchedObject{Object: &corev1.ConfigMap{}, OwnOnly: true},
		)
	}
	return o
}

// Watch implements sites.Source: the site's API server is asked now and then.
func (s SiteSource) Watch(ctx context.Context, changed func()) (func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		ticker := time.NewTicker(sourceEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				changed()
			}
		}
	}()
	return cancel, nil
}

// Sites implements sites.Source. An error leaves everything engaged as it is.
func (s SiteSource) Sites(ctx context.Context) ([]sites.Declared, error) {
	own := &v1alpha1.Site{
		ObjectMeta: metav1.ObjectMeta{Name: string(s.Self)},
		Spec:       v1alpha1.SiteSpec{AllowedNamespaces: s.Namespaces},
	}
	all := []sites.Declared{{Site: own, Config: rest.CopyConfig(s.Config)}}
	for _, namespace := range s.Namespaces {
		told, err := s.told(ctx, namespace)
		if err != nil {
			return nil, err
		}
		peers, err := s.peers(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, site := range told.Sites {
			spec := v1alpha1.SiteSpec{
				AllowedNamespaces: []string{namespace},
				Exposure: v1alpha1.Exposure{
					Type: v1alpha1.ExposureType(site.Exposure), LoadBalancer: site.LoadBalancer,
				},
			}
			if site.Name == own.Name {
				own.Spec.Exposure = spec.Exposure
				continue
			}
			peer := peers[site.Name]
			if site.Lost {
				spec.Lifecycle = v1alpha1.SiteLost
			}
			if peer.Token == "" && !site.Lost {
				continue
			}
			all = append(all, sites.Declared{Config: peerConfig(peer),
				Site: &v1alpha1.Site{
					ObjectMeta: metav1.ObjectMeta{Name: string(peerName(v1alpha1.SiteName(site.Name), namespace))},
					Spec:       spec,
				}})
		}
	}
	return all, nil
}

func peerConfig(p orders.Voter) *rest.Config {
	return &rest.Config{Host: p.Server, BearerToken: p.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.CA, ServerName: p.TLSServerName}}
}

func (s SiteSource) told(ctx context.Context, namespace string) (orders.Names, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	var object corev1.ConfigMap
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.NamesObject}, &object)
	if client.IgnoreNotFound(err) != nil {
		return orders.Names{}, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, orders.NamesObject, err)
	}
	if err != nil {
		return orders.Names{}, nil
	}
	names, err := orders.DecodeNames(object.Data)
	if err != nil {
		log.FromContext(ctx).Info("a name can't be read", "namespace", namespace, "cause", err.Error())
	}
	return names, nil
}

// peers reads how the other sites are reached for a namespace, with tokens that are renewed when half of their life is
// over: nobody else may be there to do it.
func (s SiteSource) peers(ctx context.Context, namespace string) (map[string]orders.Voter, error) {
	bounded, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	var secret corev1.Secret
	err := s.Client.Get(bounded, client.ObjectKey{Namespace: namespace, Name: orders.PeersObject}, &secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, orders.PeersObject, err)
	}
	peers, bad := orders.Peers(secret.Data)
	if err := errors.Join(bad...); err != nil {
		log.FromContext(ctx).Info("a site can't be reached", "namespace", namespace, "cause", err.Error())
	}
	for name, peer := range peers {
		if peer.Token == "" || peer.Left(time.Now()) >= renewBelow {
			continue
		}
		renewed, err := s.renew(ctx, namespace, peer)
		if err != nil {
			log.FromContext(ctx).
				Info("the credentials of another site could not be renewed", "namespace", namespace, "of", name, "left",
					peer.Left(time.Now()), "cause", err.Error())
			continue
		}
		peers[name] = renewed
	}
	return peers, nil
}

// renew makes a new token with the present one and keeps it in the Secret.
func (s SiteSource) renew(ctx context.Context, namespace string, peer orders.Voter) (orders.Voter, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	there, err := client.New(peerConfig(peer), client.Options{Scheme: s.Client.Scheme(), Mapper: s.Client.RESTMapper()})
	if err != nil {
		return peer, err
	}
	own := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: peer.Account}}
	uid := peer.AccountUID
	if err := account.Mint(ctx, there, own, &peer, time.Now()); err != nil {
		return peer, fmt.Errorf("at site %s: %w", peer.Site, err)
	}
	peer.AccountUID = uid
	value, err := peer.Encode()
	if err != nil {
		return peer, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: orders.PeersObject}}
	before := client.MergeFrom(secret.DeepCopy())
	secret.Data = map[string][]byte{orders.PeerKey(peer.Site): value}
	if err := s.Client.Patch(ctx, secret, before, sites.FieldOwner); err != nil {
		return peer, fmt.Errorf("writing Secret %s/%s: %w", namespace, orders.PeersObject, err)
	}
	return peer, nil
}

// ReadNamespaces reads from the site's ConfigMap which namespaces the site is allowed; `site join` writes it.
func ReadNamespaces(ctx context.Context, c client.Reader, operatorNamespace string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	var object corev1.ConfigMap
	key := client.ObjectKey{Namespace: operatorNamespace, Name: sites.SiteConfig}
	if err := c.Get(ctx, key, &object); err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s, which `kubectl geosql site join` makes: %w", key, err)
	}
	namespaces := strings.Fields(object.Data[sites.SiteConfigNamespaces])
	slices.Sort(namespaces)
	return namespaces, nil
}
