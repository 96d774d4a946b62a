// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// Succession is how a primary whose pod waits for a restart gets somebody else to be primary.
type Succession struct {
	// Allowed says that the group's failoverPolicy is Automatic: else a person switches over.
	Allowed bool
	// To is a replica that could be promoted now without losing anything; empty when none is known.
	To v1alpha1.ServerName
	// Later are servers that could be promoted and are of a later major version, while this one is to have none: a person
	// decides that there is no failing back.
	Later []v1alpha1.ServerName
	// Leaves says that the node of To is cordoned, too, as are those of all that could be promoted.
	Leaves bool
	// Term is the group's, in which this server is primary.
	Term int64
	// Failover is the name of the switchover for this pod. There is one at most: what was refused once is for a person.
	Failover string
	// Asked is its status, nil while it does not exist.
	Asked *v1alpha1.FailoverStatus
}

// AskSwitchover creates the Failover by which another replica becomes primary.
type AskSwitchover struct {
	Group, Name string
	To          v1alpha1.ServerName
}

// Describe names group and target.
func (s AskSwitchover) Describe() string {
	return fmt.Sprintf(
		"ask for a switchover of group %s to %s (Failover %s), so that this server's pod can be restarted or evicted",
		s.Group,
		s.To,
		s.Name,
	)
}

// switchover is the step by which the primary makes room, nil when there is nothing to be done; why says what is waited
// for.
func switchover(t Turn) (step reconcile.Step, why string) {
	s := t.Succession
	manual := fmt.Sprintf(
		"`kubectl geosql switchover %s --to SERVER` makes another one primary, then the pod is restarted",
		t.Group,
	)
	switch {
	case !s.Allowed:
		return nil, manual
	case s.Asked == nil && s.To == "" && len(s.Later) > 0:
		return nil, fmt.Sprintf("whoever could follow it is of a later major version (%s), from which nobody fails back: %s",
			list(s.Later), manual)
	case s.Asked == nil && s.To == "":
		return nil, "no replica is known to be promotable now"
	case s.Asked == nil:
		return AskSwitchover{Group: t.Group, Name: s.Failover, To: s.To}, "a switchover to " + string(s.To) + " is asked for"
	case s.Asked.Phase != v1alpha1.FailoverCompleted:
		return nil, fmt.Sprintf("switchover %s is under way", s.Failover)
	case s.Asked.Outcome == v1alpha1.FailoverSucceeded:
		return nil, fmt.Sprintf("switchover %s was done, and it is primary again: %s", s.Failover, manual)
	}
	return nil, fmt.Sprintf("switchover %s was not done (%s): %s; %s", s.Failover, s.Asked.Reason, s.Asked.Message, manual)
}

// switchoverLife is how long the agents may take to begin.
const switchoverLife = 2 * time.Minute

// successor is the one of the promotable servers that becomes primary: the first whose node is not cordoned, too. Where
// there is none it is the first, which leaves as well; see comesLast.
func (t Turn) successor(promotable []v1alpha1.ServerName) (to v1alpha1.ServerName, leaves bool) {
	if i := slices.IndexFunc(promotable, func(s v1alpha1.ServerName) bool {
		return !slices.Contains(t.Leaving, s) && !slices.Contains(t.Parting, s)
	}); i >= 0 {
		return promotable[i], false
	}
	if len(promotable) > 0 {
		return promotable[0], true
	}
	return "", false
}

// within splits promotable servers: those that may follow without a person's word, and those of a later major version,
// which follow only a server whose own update may go there as well (crosses).
func (t Turn) within(promotable []v1alpha1.ServerName, crosses bool) (may, later []v1alpha1.ServerName) {
	for _, s := range promotable {
		if !crosses && slices.Contains(t.Later, s) {
			later = append(later, s)
		} else {
			may = append(may, s)
		}
	}
	return may, later
}

// observeSuccession finds out what a primary whose pod waits can do about it.
func (r *Reconciler) observeSuccession(
	ctx context.Context,
	d Desired,
	o *Observed,
	g *v1alpha1.AvailabilityGroup,
	t *Turn,
) error {
	pod := o.Pod
	if t.Primary != d.name() || pod == nil || len(pod.UID) < 8 {
		return nil
	}
	s := &t.Succession
	s.Allowed = g.Spec.FailoverPolicy == v1alpha1.FailoverAutomatic
	s.Term = g.Status.Term
	s.Failover = fmt.Sprintf("%s-restart-%s-%s", g.Name, t.Primary, pod.UID[:8])
	if leaves(*o) != "" {
		s.Failover = drainName(g.Name, t.Primary, s.Term)
	}
	var promotable []v1alpha1.ServerName
	for _, replica := range g.Spec.Replicas {
		for _, seen := range g.Status.Replicas {
			if seen.Server == string(replica.Server)+"-0" && seen.Promotable != nil &&
				seen.Promotable.Status == metav1.ConditionTrue {
				promotable = append(promotable, replica.Server)
			}
		}
	}
	crosses := updates(*o) && mayBeLater(d, *o, imageOfSet(o.StatefulSet).declared)
	promotable, s.Later = t.within(promotable, crosses)
	s.To, s.Leaves = t.successor(promotable)
	var f v1alpha1.Failover
	err := r.secrets.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: s.Failover}, &f)
	switch {
	case err == nil:
		s.Asked = &f.Status
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read Failover %s/%s: %w", g.Namespace, s.Failover, err)
	}
	return nil
}

// askSwitchover creates the Failover. That it is there already is as good.
func (r *Reconciler) askSwitchover(ctx context.Context, d Desired, s AskSwitchover) error {
	f := &v1alpha1.Failover{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: s.Name,
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelGroup: s.Group}},
		Spec: v1alpha1.FailoverSpec{
			Group:   v1alpha1.ObjectName(s.Group),
			Kind:    v1alpha1.FailoverSwitchover,
			To:      s.To,
			Expires: &metav1.Duration{Duration: switchoverLife},
		},
	}
	if err := r.hub.Create(ctx, f); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create Failover %s/%s: %w", f.Namespace, f.Name, err)
	}
	return nil
}
