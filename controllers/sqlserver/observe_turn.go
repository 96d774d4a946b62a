// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/engineimage"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// observeTurns asks the groups of a server whose pod waits for a restart, or that has the turn.
func (r *Reconciler) observeTurns(
	ctx context.Context,
	d Desired,
	o *Observed,
	groups []v1alpha1.AvailabilityGroup,
) error {
	names := hosted(d, *o)
	waits := restartWaits(*o)
	for i := range groups {
		if holder(&groups[i]) == d.name() && !slices.Contains(names, groups[i].Name) {
			names = append(slices.Clone(names), groups[i].Name)
		}
	}
	for _, name := range names {
		at := slices.IndexFunc(groups, func(g v1alpha1.AvailabilityGroup) bool { return g.Name == name })
		if !waits && (at < 0 || holder(&groups[at]) != d.name()) {
			continue
		}
		turn := Turn{Group: name, Declared: at >= 0}
		if at >= 0 {
			if err := r.observeTurn(ctx, d, o, groups[at].Name, &turn); err != nil {
				return err
			}
		}
		o.Turns = append(o.Turns, turn)
	}
	return nil
}

// holder is the server that has the turn in a group. Replicas that are gone do not hold up the others.
func holder(g *v1alpha1.AvailabilityGroup) v1alpha1.ServerName {
	name := v1alpha1.ServerName(g.Annotations[annotationTurn])
	if !slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool { return r.Server == name }) {
		return ""
	}
	return name
}

// observeTurn reads the group from the API server, since a cache that is behind could give the turn to two, and asks
// its primary.
func (r *Reconciler) observeTurn(ctx context.Context, d Desired, o *Observed, name string, t *Turn) error {
	var g v1alpha1.AvailabilityGroup
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: name}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := r.secrets.Get(bounded, key, &g)
	if apierrors.IsNotFound(err) {
		t.Declared = false
		return nil
	}
	if err != nil {
		return fmt.Errorf("read AvailabilityGroup %s in the hub: %w", key, err)
	}
	t.Holder = holder(&g)
	if t.Suspended, err = reconcile.Suspension(ctx, r.hub, &g); err != nil {
		return err
	}
	if t.Holder != "" && t.Holder != d.name() {
		if t.HolderSuspended, err = r.suspension(ctx, g.Namespace, t.Holder); err != nil || !stuck(*o, ContainerEngine) {
			return err
		}
	}
	if t.Err = r.askPrimary(ctx, d, &g, t); t.Err != nil {
		return nil
	}
	if err := r.observeBehind(ctx, d, o, &g, t); err != nil {
		return err
	}
	return r.observeSuccession(bounded, d, o, &g, t)
}

// askPrimary asks the engine that the group's status calls the primary. It counts only if it says so itself.
func (r *Reconciler) askPrimary(ctx context.Context, d Desired, g *v1alpha1.AvailabilityGroup, t *Turn) error {
	primary := credentials.ServerOf(g.Status.Primary)
	if primary == "" {
		return errors.New("no server is known to be its primary")
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	db, err := r.connector.Open(ctx, mssql.Target{Namespace: g.Namespace, Server: primary, Role: credentials.RoleOperator})
	if err != nil {
		return err
	}
	seen, err := mssql.ReadGroup(ctx, db, g.Name)
	if err != nil {
		return err
	}
	if seen == nil || seen.Role != "PRIMARY" {
		return fmt.Errorf("%s was its primary and does not say so any more", credentials.HostName(primary))
	}
	t.Primary = primary
	t.Against = against(seen, g.Spec.Replicas, d.name(), primary)
	for _, declared := range g.Spec.Replicas {
		if declared.Server == d.name() {
			replica := seen.Replica(credentials.HostName(declared.Server))
			t.Self = ill(seen, declared)
			t.Away = t.Self != "" && (replica == nil || replica.Connected != "CONNECTED")
		}
	}
	return nil
}

// ill says what the primary has against a replica; empty when it is connected and its copies, if it has any, are as its
// mode asks.
func ill(seen *mssql.Group, declared v1alpha1.Replica) string {
	host := credentials.HostName(declared.Server)
	replica := seen.Replica(host)
	switch {
	case replica == nil:
		return host + " has not joined"
	case replica.Role == "PRIMARY":
		return ""
	case replica.Connected != "CONNECTED":
		return host + " is not connected"
	case declared.AvailabilityMode == v1alpha1.ConfigurationOnly:
		return ""
	}
	if lagging := seen.Lagging(host); len(lagging) > 0 {
		return host + " is not synchronized: " + strings.Join(lagging, ", ")
	}
	return ""
}

// against is what speaks against taking any replica but the primary down, as the primary sees it.
func against(seen *mssql.Group, replicas []v1alpha1.Replica, self, primary v1alpha1.ServerName) []string {
	var found []string
	for _, declared := range replicas {
		if declared.Server == self || declared.Server == primary {
			continue
		}
		if why := ill(seen, declared); why != "" {
			found = append(found, why)
		}
	}
	for _, database := range seen.Short(credentials.HostName(self)) {
		found = append(found, fmt.Sprintf(
			"database %s is not on every replica yet, and its commits would wait without %s", database,
			credentials.HostName(self)))
	}
	return found
}

// observeBehind finds the other servers of the group that wait too, and those that are not ready.
func (r *Reconciler) observeBehind(
	ctx context.Context,
	d Desired,
	o *Observed,
	g *v1alpha1.AvailabilityGroup,
	t *Turn,
) error {
	for _, replica := range g.Spec.Replicas {
		if replica.Server == d.name() {
			continue
		}
		var s v1alpha1.SQLServer
		err := r.hub.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: string(replica.Server)}, &s)
		if apierrors.IsNotFound(err) {
			t.Against = append(t.Against, fmt.Sprintf("SQLServer %s does not exist", replica.Server))
			continue
		}
		if err != nil {
			return fmt.Errorf("read SQLServer %s/%s: %w", g.Namespace, replica.Server, err)
		}
		if own := engineimage.MajorOf(writtenBy(d, *o)); own != 0 && engineimage.MajorOf(s.Status.Version) > own {
			t.Later = append(t.Later, replica.Server)
		}
		if !s.Status.Serves() {
			t.Against = append(t.Against, fmt.Sprintf("SQLServer %s is not ready", replica.Server))
		}
		held, err := reconcile.Suspension(ctx, r.hub, &s)
		if err != nil {
			return err
		}
		switch leaving, behind := lagging(&s, updates(*o)); {
		case held != "" && leaving:
			t.Parting = append(t.Parting, replica.Server)
		case held != "" && !(updates(*o) && outdated(&s)):
			// It restarts for nothing, and would keep the others waiting until a person lets it. While it does not serve it
			// speaks against them all the same, and where it has an older engine than it declares no primary goes before it.
		case leaving:
			t.Leaving = append(t.Leaving, replica.Server)
		case behind:
			t.Behind = append(t.Behind, replica.Server)
			if held == "" && updates(*o) && comesBefore(d, g, &s) {
				t.Asynchronous = append(t.Asynchronous, replica.Server)
			}
		}
	}
	return nil
}

// suspension says why nothing is done with a server; empty when something may be, or nobody declares it.
func (r *Reconciler) suspension(ctx context.Context, namespace string, server v1alpha1.ServerName) (string, error) {
	var s v1alpha1.SQLServer
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(server)}, &s)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read SQLServer %s/%s: %w", namespace, server, err)
	}
	return reconcile.Suspension(ctx, r.hub, &s)
}

// lagging tells of another server of the group whether its node is cordoned, and whether it waits for a restart too.
// For an update it also counts who has another image than it declares, though it waits for a request or a window: an
// upgraded primary can't send its log to a replica of a lower version.
func lagging(s *v1alpha1.SQLServer, update bool) (leaving, behind bool) {
	pending := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestartPending)
	if s.Generation != s.Status.ObservedGeneration || update && outdated(s) {
		return false, true
	}
	if pending == nil || pending.Status != metav1.ConditionTrue {
		return false, false
	}
	switch pending.Reason {
	case v1alpha1.ReasonNodeCordoned:
		return true, false
	case v1alpha1.ReasonSidecarOutdated, v1alpha1.ReasonPromisesOnDataVolume, v1alpha1.ReasonBuffersAtNextStart:
		// It may stay so for long, and keeps nobody from anything.
		return false, false
	}
	return false, true
}

// outdated tells that a server runs another image than it declares.
func outdated(s *v1alpha1.SQLServer) bool {
	return s.Status.Image != "" && s.Status.Image != s.Spec.Image
}

// comesBefore tells that another server is updated before this one: its copy of the group is asynchronous, and this
// one's is not. That is not said of a primary, which comes last in its group; of who has a synchronous copy where this
// one's is asynchronous, since the two would wait for each other; and of who is not about to be updated: nobody asked
// for it along with this one, or its image is refused.
func comesBefore(d Desired, g *v1alpha1.AvailabilityGroup, s *v1alpha1.SQLServer) bool {
	name, self := v1alpha1.ServerName(s.Name), d.name()
	const first, last = v1alpha1.AsynchronousCommit, v1alpha1.SynchronousCommit
	if !commits(g, name, first) || !commits(g, self, last) || primaryOf(d.groups, name) {
		return false
	}
	if slices.ContainsFunc(d.groups, func(other v1alpha1.AvailabilityGroup) bool {
		return commits(&other, self, first) && commits(&other, name, last)
	}) {
		return false
	}
	current := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionImageCurrent)
	switch {
	case current == nil || current.ObservedGeneration != s.Generation:
		return true
	case current.Reason == v1alpha1.ReasonUpdateAwaitsRequest:
		request := s.Annotations[v1alpha1.UpdateAnnotation]
		return request != "" && request == d.Server.Annotations[v1alpha1.UpdateAnnotation]
	}
	return current.Reason != v1alpha1.ReasonVersionLower
}

// commits tells that a server is a replica of a group that commits in a mode.
func commits(g *v1alpha1.AvailabilityGroup, server v1alpha1.ServerName, mode v1alpha1.AvailabilityMode) bool {
	return slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool {
		return r.Server == server && r.AvailabilityMode == mode
	})
}

// primaryOf tells that a server is the primary of a group, which comes last there.
func primaryOf(groups []v1alpha1.AvailabilityGroup, server v1alpha1.ServerName) bool {
	return slices.ContainsFunc(groups, func(g v1alpha1.AvailabilityGroup) bool {
		return credentials.ServerOf(g.Status.Primary) == server
	})
}
