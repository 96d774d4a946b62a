// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// target is what a drill is about, resolved.
type target struct {
	// missing says what is not there; denied that it does not allow drills; unwell why it cannot be drilled now, suspended
	// which part of it a person has suspended.
	missing, denied, unwell, suspended string
	group                              *v1alpha1.AvailabilityGroup
	subscription                       *v1alpha1.Subscription
	// publisher is the server whose name stands for the target: the group's first replica, or the publisher.
	publisher v1alpha1.ServerName
	// address is host:port at which clients connect.
	address  string
	database string
	// servers of the target.
	servers []*v1alpha1.SQLServer
	// data are the servers that must have every acknowledged row, readable those of them that can be asked for it whatever
	// their role.
	data, readable []v1alpha1.ServerName
	// distributor and subscriber, when there is a subscription.
	distributor, subscriber v1alpha1.ServerName
	subscribed              string
	// articles of the publication.
	articles   []v1alpha1.Article
	objectives *v1alpha1.Objectives
}

// resolve finds a drill's target.
func (r *Reconciler) resolve(ctx context.Context, d *v1alpha1.Drill) (*target, error) {
	t := &target{}
	on, ns := d.Spec.Target, d.Namespace
	var err error
	switch {
	case on.AvailabilityGroup != "":
		err = r.resolveGroup(ctx, t, ns, string(on.AvailabilityGroup), true)
	case on.Subscription != "":
		err = r.resolveSubscription(ctx, t, ns, string(on.Subscription), true)
	default:
		err = r.resolveTopology(ctx, t, ns, string(on.Topology))
	}
	if err != nil || t.missing != "" {
		return t, err
	}
	t.unwell = cmp.Or(t.unwell, t.suspended)
	t.database = string(d.Spec.Workload.Database)
	if t.database == "" && t.subscription == nil && len(t.group.Spec.Databases) > 0 {
		t.database = string(t.group.Spec.Databases[0].Name)
	}
	if t.database == "" {
		t.database = t.subscribed
	}
	if t.database == "" {
		t.missing = "there is no database to write to: name one in spec.workload.database"
	}
	return t, nil
}

// read reads an object of the target; what is not there is noted.
func (r *Reconciler) read(
	ctx context.Context,
	t *target,
	ns, name string,
	obj client.Object,
	kind string,
	labelled bool,
) (bool, error) {
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, obj)
	if apierrors.IsNotFound(err) {
		t.missing = fmt.Sprintf("there is no %s %s", kind, name)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s/%s: %w", kind, ns, name, err)
	}
	if labelled && obj.GetLabels()[v1alpha1.DrillsLabel] != v1alpha1.DrillsAllowed {
		t.denied = fmt.Sprintf(
			"%s %s does not allow drills: label it %s=%s if it may be broken on purpose",
			kind,
			name,
			v1alpha1.DrillsLabel,
			v1alpha1.DrillsAllowed,
		)
	}
	why, err := reconcile.Suspension(ctx, r.hub, obj)
	if why != "" {
		t.suspended = cmp.Or(t.suspended, fmt.Sprintf("%s %s is suspended: %s", kind, name, why))
	}
	return err == nil, err
}

func (r *Reconciler) addServer(ctx context.Context, t *target, ns string, name v1alpha1.ServerName) error {
	if slices.ContainsFunc(t.servers, func(s *v1alpha1.SQLServer) bool { return s.Name == string(name) }) {
		return nil
	}
	var s v1alpha1.SQLServer
	if ok, err := r.read(ctx, t, ns, string(name), &s, "SQLServer", false); !ok {
		return err
	}
	t.servers = append(t.servers, &s)
	return nil
}

// resolveGroup adds a group; clients write to the first that is added.
func (r *Reconciler) resolveGroup(ctx context.Context, t *target, ns, name string, labelled bool) error {
	var g v1alpha1.AvailabilityGroup
	if ok, err := r.read(ctx, t, ns, name, &g, "AvailabilityGroup", labelled); !ok {
		return err
	}
	for _, replica := range g.Spec.Replicas {
		if err := r.addServer(ctx, t, ns, replica.Server); err != nil {
			return err
		}
	}
	if t.group != nil {
		return nil
	}
	t.group, t.objectives = &g, g.Spec.Objectives
	for _, replica := range g.Spec.Replicas {
		if replica.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		t.data = append(t.data, replica.Server)
		if replica.Readable {
			t.readable = append(t.readable, replica.Server)
		}
	}
	t.publisher = g.Spec.Replicas[0].Server
	listener, port := g.Name, int32(mssql.Port)
	if l := g.Spec.Listener; l != nil {
		if l.Name != "" {
			listener = l.Name
		}
		port = orDefault(l.Port, port)
	}
	t.address = net.JoinHostPort(listener, strconv.Itoa(int(port)))
	t.unwell = notReady("AvailabilityGroup "+g.Name, g.Status.Conditions)
	return nil
}

func notReady(what string, list []metav1.Condition) string {
	c := meta.FindStatusCondition(list, v1alpha1.ConditionReady)
	switch {
	case c == nil:
		return what + " has no status yet"
	case c.Status != metav1.ConditionTrue:
		return fmt.Sprintf("%s is not Ready (%s): %s", what, c.Reason, c.Message)
	case c.Reason == v1alpha1.ReasonSuspended:
		return fmt.Sprintf("%s is suspended: %s", what, c.Message)
	}
	return ""
}

func (r *Reconciler) resolveSubscription(ctx context.Context, t *target, ns, name string, labelled bool) error {
	var s v1alpha1.Subscription
	var p v1alpha1.Publication
	var d v1alpha1.Distributor
	if ok, err := r.read(ctx, t, ns, name, &s, "Subscription", labelled); !ok {
		return err
	}
	if ok, err := r.read(ctx, t, ns, string(s.Spec.Publication), &p, "Publication", false); !ok {
		return err
	}
	if p.Spec.Scheduled() {
		t.missing = fmt.Sprintf("Publication %s is of type Snapshot: what a drill writes would not arrive before its "+
			"schedule says so. Name a Subscription to one that is streamed, or the group", p.Name)
		return nil
	}
	if ok, err := r.read(ctx, t, ns, string(p.Spec.Distributor), &d, "Distributor", false); !ok {
		return err
	}
	if p.Spec.Publisher.AvailabilityGroup != "" {
		if err := r.resolveGroup(ctx, t, ns, string(p.Spec.Publisher.AvailabilityGroup), false); err != nil ||
			t.missing != "" {
			return err
		}
	} else {
		t.publisher, t.data, t.readable = p.Spec.Publisher.Server, []v1alpha1.ServerName{p.Spec.Publisher.Server},
			[]v1alpha1.ServerName{p.Spec.Publisher.Server}
		t.address = net.JoinHostPort(credentials.HostName(t.publisher), strconv.Itoa(mssql.Port))
		if err := r.addServer(ctx, t, ns, t.publisher); err != nil || t.missing != "" {
			return err
		}
	}
	t.subscription, t.distributor, t.subscriber, t.subscribed = &s, d.Spec.Server, s.Spec.Subscriber.Server, string(
		p.Spec.Database,
	)
	t.articles = p.Spec.Articles
	if text := notReady("Subscription "+s.Name, s.Status.Conditions); t.unwell == "" {
		t.unwell = text
	}
	if err := r.addServer(ctx, t, ns, t.distributor); err != nil || t.missing != "" {
		return err
	}
	if t.subscriber == "" {
		return r.resolveGroup(ctx, t, ns, string(s.Spec.Subscriber.AvailabilityGroup), false)
	}
	return r.addServer(ctx, t, ns, t.subscriber)
}

func (r *Reconciler) resolveTopology(ctx context.Context, t *target, ns, name string) error {
	var p v1alpha1.Topology
	if ok, err := r.read(ctx, t, ns, name, &p, "Topology", true); !ok {
		return err
	}
	switch {
	case len(p.Spec.Subscriptions) == 1:
		if err := r.resolveSubscription(ctx, t, ns, string(p.Spec.Subscriptions[0].Name), false); err != nil ||
			t.missing != "" {
			return err
		}
	case len(p.Spec.AvailabilityGroups) == 1:
		if err := r.resolveGroup(ctx, t, ns, string(p.Spec.AvailabilityGroups[0].Name), false); err != nil ||
			t.missing != "" {
			return err
		}
	default:
		t.missing = fmt.Sprintf(
			"Topology %s has %d groups and %d subscriptions: name one of them as the target",
			name,
			len(p.Spec.AvailabilityGroups),
			len(p.Spec.Subscriptions),
		)
		return nil
	}
	for _, s := range p.Spec.Servers {
		if err := r.addServer(ctx, t, ns, s.Name); err != nil || t.missing != "" {
			return err
		}
	}
	return nil
}

// sameServer compares a server's name with an instance's.
func sameServer(name v1alpha1.ServerName, instance string) bool {
	return strings.EqualFold(credentials.HostName(name), instance)
}

// site of a server; empty when it is none of the target's.
func (t *target) site(name v1alpha1.ServerName) v1alpha1.SiteName {
	for _, s := range t.servers {
		if s.Name == string(name) {
			return s.Spec.Site
		}
	}
	return ""
}

// sites of the target's servers, in the order of the servers.
func (t *target) sites() []v1alpha1.SiteName {
	var list []v1alpha1.SiteName
	for _, s := range t.servers {
		if !slices.Contains(list, s.Spec.Site) {
			list = append(list, s.Spec.Site)
		}
	}
	return list
}
