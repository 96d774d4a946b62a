// SPDX-License-Identifier: Apache-2.0

// Package overview shows a topology to people: its state as text, its servers and flows as a graph. It reads objects of
// the hub, or of one site when the hub is away, and decides nothing; what is not said is shown as unknown.
package overview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/topology"
)

// Snapshot has the objects that are shown, each list in the order of namespaces and names.
type Snapshot struct {
	Sites         []v1alpha1.Site              `json:"sites"`
	Topologies    []v1alpha1.Topology          `json:"topologies"`
	Servers       []v1alpha1.SQLServer         `json:"servers"`
	Groups        []v1alpha1.AvailabilityGroup `json:"availabilityGroups"`
	Distributors  []v1alpha1.Distributor       `json:"distributors"`
	Publications  []v1alpha1.Publication       `json:"publications"`
	Subscriptions []v1alpha1.Subscription      `json:"subscriptions"`
	// Failovers of the groups that are shown, Logins of them and of the servers, and PublisherMoves of the publications.
	Failovers      []v1alpha1.Failover      `json:"failovers"`
	Logins         []v1alpha1.Login         `json:"logins"`
	PublisherMoves []v1alpha1.PublisherMove `json:"publisherMoves"`
	// SitesHidden says that whoever asked may not list Sites, which are in no namespace.
	SitesHidden bool `json:"sitesHidden,omitempty"`
	// Declared are the objects of manifests as they stand there, of whatever kind; empty of what was read from the hub.
	Declared []Declared `json:"-"`
}

// Scope says what is read.
type Scope struct {
	// Namespace of the objects; all when empty.
	Namespace string
	// Topology whose objects are read; when empty, those of all Topologies and of none.
	Topology string
}

// Read reads a snapshot from the hub, without the Sites where these may not be listed. A Topology that does not exist
// is an error that names those that do.
func Read(ctx context.Context, reader client.Reader, scope Scope) (*Snapshot, error) {
	var (
		sites         v1alpha1.SiteList
		topologies    v1alpha1.TopologyList
		servers       v1alpha1.SQLServerList
		groups        v1alpha1.AvailabilityGroupList
		distributors  v1alpha1.DistributorList
		publications  v1alpha1.PublicationList
		subscriptions v1alpha1.SubscriptionList
		failovers     v1alpha1.FailoverList
		logins        v1alpha1.LoginList
		moves         v1alpha1.PublisherMoveList
	)
	err := reader.List(ctx, &sites)
	hidden := apierrors.IsForbidden(err)
	if err != nil && !hidden {
		return nil, fmt.Errorf("list Sites in the hub: %w", err)
	}
	if err := reader.List(ctx, &topologies, client.InNamespace(scope.Namespace)); err != nil {
		return nil, fmt.Errorf("list Topologies in the hub: %w", err)
	}
	options := []client.ListOption{client.InNamespace(scope.Namespace)}
	if scope.Topology != "" {
		options = append(options, client.MatchingLabels{v1alpha1.LabelTopology: scope.Topology})
	}
	for _, list := range []client.ObjectList{&servers, &groups, &distributors, &publications, &subscriptions} {
		if err := reader.List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("list the objects of kind %s in the hub: %w", v1alpha1.ListedKind(list), err)
		}
	}
	// These belong to what they are about, whoever made them.
	for _, list := range []client.ObjectList{&failovers, &logins, &moves} {
		if err := reader.List(ctx, list, client.InNamespace(scope.Namespace)); err != nil {
			return nil, fmt.Errorf("list the objects of kind %s in the hub: %w", v1alpha1.ListedKind(list), err)
		}
	}
	s := &Snapshot{
		Failovers:      failovers.Items,
		Logins:         logins.Items,
		PublisherMoves: moves.Items,
		Sites:          sites.Items,
		SitesHidden:    hidden,
		Topologies:     topologies.Items,
		Servers:        servers.Items,
		Groups:         groups.Items,
		Distributors:   distributors.Items,
		Publications:   publications.Items,
		Subscriptions:  subscriptions.Items,
	}
	if scope.Topology != "" {
		if err := s.only(scope); err != nil {
			return nil, err
		}
	}
	s.order()
	s.confirm(ctx, reader)
	return s, nil
}

// confirm says of groups and Sites when they were last seen as their statuses say. Where that cannot be read the times
// are those at which the statuses were written.
func (s *Snapshot) confirm(ctx context.Context, reader client.Reader) {
	read := map[string]confirmed.Statuses{}
	of := func(namespace string) confirmed.Statuses {
		if _, done := read[namespace]; !done {
			read[namespace], _ = confirmed.Read(ctx, reader, namespace)
		}
		return read[namespace]
	}
	for i := range s.Groups {
		s.Groups[i] = *of(s.Groups[i].Namespace).Of(&s.Groups[i])
	}
	for i := range s.Sites {
		s.Sites[i] = *of(sites.OperatorNamespace).Site(&s.Sites[i])
	}
}

// Nothing tells that nothing is declared beside Sites.
func (s *Snapshot) Nothing() bool {
	return len(s.Topologies)+len(s.Servers)+len(s.Groups)+len(s.Distributors)+len(s.Publications)+len(s.Subscriptions)+
		len(s.Failovers)+len(s.Logins)+len(s.PublisherMoves) == 0
}

// only keeps one Topology, and the sites that its servers are at.
func (s *Snapshot) only(scope Scope) error {
	var known []string
	for _, t := range s.Topologies {
		known = append(known, t.Name)
	}
	s.Topologies = slices.DeleteFunc(s.Topologies, func(t v1alpha1.Topology) bool { return t.Name != scope.Topology })
	if len(s.Topologies) == 0 {
		if len(known) == 0 {
			known = []string{"none"}
		}
		return fmt.Errorf(
			"there is no Topology %s in namespace %s; there are: %s",
			scope.Topology,
			scope.Namespace,
			strings.Join(known, ", "),
		)
	}
	has := func(x v1alpha1.ServerOrGroup) bool {
		return slices.ContainsFunc(
			s.Groups,
			func(g v1alpha1.AvailabilityGroup) bool { return g.Name == string(x.AvailabilityGroup) },
		) ||
			slices.ContainsFunc(s.Servers, func(server v1alpha1.SQLServer) bool { return server.Name == string(x.Server) })
	}
	s.Failovers = slices.DeleteFunc(
		s.Failovers,
		func(f v1alpha1.Failover) bool { return !has(v1alpha1.ServerOrGroup{AvailabilityGroup: f.Spec.Group}) },
	)
	s.Logins = slices.DeleteFunc(s.Logins, func(l v1alpha1.Login) bool { return !has(l.Spec.Target) })
	s.PublisherMoves = slices.DeleteFunc(s.PublisherMoves, func(m v1alpha1.PublisherMove) bool {
		return !slices.ContainsFunc(
			s.Publications,
			func(p v1alpha1.Publication) bool { return p.Name == string(m.Spec.Publication) },
		)
	})
	s.Sites = slices.DeleteFunc(s.Sites, func(site v1alpha1.Site) bool { return !s.uses(site.Name) })
	return nil
}

// uses tells whether a server is at the site or a group votes there.
func (s *Snapshot) uses(site string) bool {
	for _, x := range s.Servers {
		if string(x.Spec.Site) == site {
			return true
		}
	}
	for _, g := range s.Groups {
		if slices.Contains(g.Spec.Voters, v1alpha1.SiteName(site)) {
			return true
		}
	}
	return false
}

func (s *Snapshot) order() {
	sortByName(s.Sites, func(x *v1alpha1.Site) metav1.Object { return x })
	sortByName(s.Topologies, func(x *v1alpha1.Topology) metav1.Object { return x })
	sortByName(s.Servers, func(x *v1alpha1.SQLServer) metav1.Object { return x })
	sortByName(s.Groups, func(x *v1alpha1.AvailabilityGroup) metav1.Object { return x })
	sortByName(s.Distributors, func(x *v1alpha1.Distributor) metav1.Object { return x })
	sortByName(s.Publications, func(x *v1alpha1.Publication) metav1.Object { return x })
	sortByName(s.Subscriptions, func(x *v1alpha1.Subscription) metav1.Object { return x })
	sortByName(s.Failovers, func(x *v1alpha1.Failover) metav1.Object { return x })
	sortByName(s.Logins, func(x *v1alpha1.Login) metav1.Object { return x })
	sortByName(s.PublisherMoves, func(x *v1alpha1.PublisherMove) metav1.Object { return x })
}

func sortByName[T any](list []T, object func(*T) metav1.Object) {
	for i := range list {
		object(&list[i]).SetManagedFields(nil)
	}
	slices.SortFunc(list, func(a, b T) int {
		x, y := object(&a), object(&b)
		return cmp.Or(strings.Compare(x.GetNamespace(), y.GetNamespace()), strings.Compare(x.GetName(), y.GetName()))
	})
}

// Add adds another snapshot's objects.
func (s *Snapshot) Add(other *Snapshot) {
	s.Sites = append(s.Sites, other.Sites...)
	s.SitesHidden = s.SitesHidden || other.SitesHidden
	s.Topologies = append(s.Topologies, other.Topologies...)
	s.Servers = append(s.Servers, other.Servers...)
	s.Groups = append(s.Groups, other.Groups...)
	s.Distributors = append(s.Distributors, other.Distributors...)
	s.Publications = append(s.Publications, other.Publications...)
	s.Subscriptions = append(s.Subscriptions, other.Subscriptions...)
	s.Failovers = append(s.Failovers, other.Failovers...)
	s.Logins = append(s.Logins, other.Logins...)
	s.PublisherMoves = append(s.PublisherMoves, other.PublisherMoves...)
	s.Declared = append(s.Declared, other.Declared...)
	s.order()
}

// Declared names an object of a manifest. Other is the apiVersion of one that is not of the operator's API.
type Declared struct{ Kind, Namespace, Name, Other string }

// kinds of the API. Of each a manifest may have objects.
var kinds = runtime.NewScheme()

func init() { utilruntime.Must(v1alpha1.AddToScheme(kinds)) }

// Decode reads manifests, separated by "---", and expands Topologies. Objects of other APIs, such as the Secret of a
// Login, are Declared and no more. What may be meant for the operator and is misspelt is refused: one of its kinds
// under another apiVersion, a kind or a field that its API does not have.
func Decode(manifests io.Reader) (*Snapshot, error) {
	s := &Snapshot{}
	documents := utilyaml.NewYAMLReader(newBufferedReader(manifests))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		if err := s.decode(document); err != nil {
			return nil, err
		}
	}
	s.order()
	return s, nil
}

func (s *Snapshot) decode(document []byte) error {
	var head metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(document, &head); err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	switch {
	case head.Kind == "" && len(strings.TrimSpace(stripComments(document))) == 0:
		return nil
	case head.APIVersion != v1alpha1.GroupVersion.String():
		if err := foreign(head); err != nil {
			return err
		}
		s.Declared = append(s.Declared, Declared{head.Kind, head.Namespace, head.Name, head.APIVersion})
		return nil
	}
	decoded, err := kinds.New(v1alpha1.GroupVersion.WithKind(head.Kind))
	object, ok := decoded.(client.Object)
	if err != nil || !ok {
		return fmt.Errorf("%s has no kind %q", v1alpha1.GroupVersion, head.Kind)
	}
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return fmt.Errorf("%s %s: %w", head.Kind, head.Name, err)
	}
	s.Declared = append(s.Declared, Declared{Kind: head.Kind, Namespace: head.Namespace, Name: head.Name})
	switch x := object.(type) {
	case *v1alpha1.Topology:
		return s.expand(*x)
	case *v1alpha1.Site:
		s.Sites = append(s.Sites, *x)
	case *v1alpha1.SQLServer:
		s.Servers = append(s.Servers, *x)
	case *v1alpha1.AvailabilityGroup:
		s.Groups = append(s.Groups, *x)
	case *v1alpha1.Distributor:
		s.Distributors = append(s.Distributors, *x)
	case *v1alpha1.Publication:
		s.Publications = append(s.Publications, *x)
	case *v1alpha1.Subscription:
		s.Subscriptions = append(s.Subscriptions, *x)
	case *v1alpha1.Failover:
		s.Failovers = append(s.Failovers, *x)
	case *v1alpha1.Login:
		s.Logins = append(s.Logins, *x)
	case *v1alpha1.PublisherMove:
		s.PublisherMoves = append(s.PublisherMoves, *x)
	}
	return nil
}

// foreign refuses an object that may be one of the operator's although its apiVersion is not.
func foreign(head metav1.PartialObjectMetadata) error {
	version, err := schema.ParseGroupVersion(head.APIVersion)
	if err != nil || version.Empty() || head.Kind == "" {
		return fmt.Errorf(
			"%s %s: a manifest needs a kind and an apiVersion, such as %s, not %q",
			head.Kind,
			head.Name,
			v1alpha1.GroupVersion,
			head.APIVersion,
		)
	}
	if version.Group == v1alpha1.GroupVersion.Group || kinds.Recognizes(v1alpha1.GroupVersion.WithKind(head.Kind)) {
		return fmt.Errorf(
			"%s %s: apiVersion %q is not supported here; %s is",
			head.Kind,
			head.Name,
			head.APIVersion,
			v1alpha1.GroupVersion,
		)
	}
	return nil
}

// expand adds a Topology and its objects.
func (s *Snapshot) expand(t v1alpha1.Topology) error {
	objects, err := topology.Expand(&t)
	if err != nil {
		return err
	}
	s.Topologies = append(s.Topologies, t)
	for _, x := range objects.Servers {
		s.Servers = append(s.Servers, *x)
	}
	for _, x := range objects.Groups {
		s.Groups = append(s.Groups, *x)
	}
	for _, x := range objects.Distributors {
		s.Distributors = append(s.Distributors, *x)
	}
	for _, x := range objects.Publications {
		s.Publications = append(s.Publications, *x)
	}
	for _, x := range objects.Subscriptions {
		s.Subscriptions = append(s.Subscriptions, *x)
	}
	return nil
}
