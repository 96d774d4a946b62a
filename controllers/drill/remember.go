// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

const (
	// runsObject is the ConfigMap, one in each namespace of a site that drills break, with the runs that were begun, a key
	// per drill.
	runsObject = "geosql-drill-runs"
	// runsKept is how many runs of a drill are remembered, the newest.
	runsKept = 64
)

// begunRun is a run that was begun at a site. A Drill that comes back from a backup or a repository, without its status
// and with another UID, is known by it: its history is gone, and its archive with it.
type begunRun struct {
	ID  string `json:"id"`
	UID string `json:"uid"`
}

// RememberRun notes at a site that the run is begun, before anything is done there.
type RememberRun struct{ Site v1alpha1.SiteName }

// Describe implements reconcile.Step.
func (s RememberRun) Describe() string {
	return fmt.Sprintf("note in ConfigMap %s at site %s that the run is begun", runsObject, s.Site)
}

// observeBegun asks the target's sites which runs of a drill of the name were begun there.
func (r *Reconciler) observeBegun(ctx context.Context, w *Observed) {
	w.begun = map[v1alpha1.SiteName]reconcile.Reading[[]begunRun]{}
	for _, site := range w.target.sites() {
		if member := w.members[site]; member != nil {
			m, err := runsAt(ctx, member, w.drill.Namespace)
			w.begun[site] = reconcile.Asked(runsOf(m, w.drill.Name), err)
		}
	}
}

// runsAt is the ConfigMap at a site, an empty one where there is none.
func runsAt(ctx context.Context, member *sites.Member, namespace string) (*corev1.ConfigMap, error) {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: runsObject}}
	err := member.APIReader.Get(ctx, client.ObjectKeyFromObject(m), m)
	if client.IgnoreNotFound(err) != nil {
		return m, fmt.Errorf("read ConfigMap %s/%s at site %s: %w", namespace, runsObject, member.Name(), err)
	}
	return m, nil
}

// runsOf are those of a drill. What nobody can read is none, and is written anew.
func runsOf(m *corev1.ConfigMap, drill string) []begunRun {
	var runs []begunRun
	if err := json.Unmarshal([]byte(m.Data[drill]), &runs); err != nil {
		return nil
	}
	return runs
}

// ranElsewhere says that a drill of the name, which was another object, began this run before.
func (w *Observed) ranElsewhere() bool {
	for _, reading := range w.begun {
		runs, err := reading.Get()
		if err == nil &&
			slices.ContainsFunc(
				runs,
				func(b begunRun) bool { return b.ID == w.drill.Spec.RunID && b.UID != string(w.drill.UID) },
			) {
			return true
		}
	}
	return false
}

// unremembered are the target's sites that answer and do not know yet that this run is begun.
func (w *Observed) unremembered() []v1alpha1.SiteName {
	var missing []v1alpha1.SiteName
	for _, site := range w.target.sites() {
		runs, err := w.begun[site].Get()
		if err == nil && !slices.Contains(runs, begunRun{ID: w.drill.Status.RunID, UID: string(w.drill.UID)}) {
			missing = append(missing, site)
		}
	}
	return missing
}

// rememberRun writes the ConfigMap only as it was read: drills of other names share it.
func (r *Reconciler) rememberRun(ctx context.Context, w *Observed, site v1alpha1.SiteName) error {
	member := w.members[site]
	if member == nil {
		return w.unusable(site)
	}
	m, err := runsAt(ctx, member, w.drill.Namespace)
	if err != nil {
		return err
	}
	run := begunRun{ID: w.drill.Status.RunID, UID: string(w.drill.UID)}
	runs := runsOf(m, w.drill.Name)
	if slices.Contains(runs, run) {
		return nil
	}
	runs = append(runs, run)
	content, err := json.Marshal(runs[max(0, len(runs)-runsKept):])
	if err != nil {
		return fmt.Errorf("encode the runs of Drill %s: %w", w.drill.Name, err)
	}
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[w.drill.Name] = string(content)
	if m.ResourceVersion == "" {
		m.Labels = maps.Clone(map[string]string(sites.OwnLabels()))
		m.Labels[v1alpha1.LabelNamespace] = m.Namespace
		err = member.Client.Create(ctx, m, sites.FieldOwner)
	} else {
		err = member.Client.Update(ctx, m, sites.FieldOwner)
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// Another drill came first; the next look has what it wrote.
		return nil
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s at site %s: %w", m.Namespace, runsObject, site, err)
	}
	return nil
}
