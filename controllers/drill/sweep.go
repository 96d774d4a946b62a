// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/sites"
)

// sweepOnce sweeps after a run that is over, until nothing is left of it.
func (r *Reconciler) sweepOnce(ctx context.Context, w *Observed) {
	r.mu.Lock()
	clean := r.clean[w.drill.UID] == w.drill.Status.RunID
	r.mu.Unlock()
	if clean {
		return
	}
	r.sweep(ctx, w)
	if len(w.swept)+len(w.unswept) == 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.clean[w.drill.UID] = w.drill.Status.RunID
	}
}

// sweep looks for everything that carries the drill's labels, at all sites and in the hub, whatever the status says.
func (r *Reconciler) sweep(ctx context.Context, w *Observed) {
	r.sweepSites(ctx, w, client.MatchingLabels{v1alpha1.LabelDrill: w.drill.Name})
	r.sweepHub(ctx, w)
}

// sweepTarget looks for what drills have left at the sites that a run which is about to begin may meet: what is the
// drill's own, what another one that is not at work has left on a server of the target - the drills of a schedule
// differ in name -, and what nobody owns any more. Whoever is about to begin has the servers to himself, and takes it
// away.
func (r *Reconciler) sweepTarget(ctx context.Context, w *Observed) error {
	r.sweepSites(ctx, w, client.HasLabels{v1alpha1.LabelDrill})
	// They are listed after what they have made: whose drill is missing there has none.
	var list v1alpha1.DrillList
	if err := r.direct.List(ctx, &list, client.InNamespace(w.drill.Namespace)); err != nil {
		return fmt.Errorf("list the Drills of namespace %s: %w", w.drill.Namespace, err)
	}
	leave := map[string]bool{}
	servers := serverNames(w.target)
	for i := range list.Items {
		o := &list.Items[i]
		if o.Name == w.drill.Name {
			continue
		}
		shares, err := r.shares(ctx, w.target, servers, o)
		if err != nil {
			return err
		}
		leave[o.Name] = active(o.Status.Phase) || !shares
		if f := formerRunOf(o, w.now); !leave[o.Name] && !f.empty() {
			w.former = append(w.former, f)
		}
	}
	w.swept = slices.DeleteFunc(w.swept, func(l left) bool { return leave[l.obj.GetLabels()[v1alpha1.LabelDrill]] })
	r.sweepHub(ctx, w)
	return nil
}

// formerRun is the run of another drill that is over and shares a server with the target.
type formerRun struct {
	drill string
	// sites that may have something of it: they have to say that they have not.
	sites []v1alpha1.SiteName
	// frozen is until when an engine may be stopped by it; zero when none is.
	frozen time.Time
}

func (f formerRun) empty() bool { return len(f.sites) == 0 && f.frozen.IsZero() }

// freezeMargin is how long after its time a freeze that nobody has ended may last.
const freezeMargin = 10 * time.Second

// formerRunOf is what a drill may have left behind, by its status. Its clients end by themselves.
func formerRunOf(o *v1alpha1.Drill, now time.Time) formerRun {
	f := formerRun{drill: o.Name}
	for _, one := range o.Status.Faults {
		switch one.State {
		case v1alpha1.FaultWaiting, v1alpha1.FaultRemoved, v1alpha1.FaultSkipped:
			continue
		}
		for _, object := range one.Objects {
			if object.Site != "" && !object.Gone {
				f.sites = append(f.sites, v1alpha1.SiteName(object.Site))
			}
		}
		if until := frozenUntil(o.Spec, one); until.After(now) && until.After(f.frozen) {
			f.frozen = until
		}
	}
	if a := o.Status.Accepted; a != nil && now.Sub(a.Time) < drill.TimeLimit(o.Spec)+2*time.Minute {
		for _, c := range o.Status.Clients {
			f.sites = append(f.sites, v1alpha1.SiteName(c.Site))
		}
	}
	slices.Sort(f.sites)
	f.sites = slices.Compact(f.sites)
	return f
}

// frozenUntil is when engines go on by themselves that a fault may have stopped; zero when it stops none.
func frozenUntil(spec v1alpha1.DrillSpec, f v1alpha1.FaultStatus) time.Time {
	o, known := occurrence(spec, f.Name)
	began := f.Injected
	if began == nil {
		began = f.Planned
	}
	if !mayFreeze(f) || !known || began == nil {
		return time.Time{}
	}
	return began.Add(injectWithin + o.Lasts() + freezeMargin)
}

// sweepHub looks for what the drill has made in the hub.
func (r *Reconciler) sweepHub(ctx context.Context, w *Observed) {
	d := w.drill
	for _, obj := range []client.Object{
		&v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: clientsName(d)}},
		&v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: readersName(d)}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: clientsName(d)}},
	} {
		err := r.direct.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil && obj.GetLabels()[v1alpha1.LabelDrill] == d.Name {
			if _, isSecret := obj.(*corev1.Secret); isSecret && len(w.swept) > 0 {
				continue // the Login needs it to go
			}
			w.swept = append(w.swept, left{"", obj})
		}
	}
}

// chaosKinds are those of Chaos Mesh that a drill may have created.
var chaosKinds = []string{
	"NetworkChaos",
	"PodChaos",
	"StressChaos",
	"IOChaos",
	"TimeChaos",
	"DNSChaos",
	"HTTPChaos",
	"JVMChaos",
}

// sweepSites looks at all sites for what drills of the namespace have made, as far as the options ask for it.
func (r *Reconciler) sweepSites(ctx context.Context, w *Observed, which client.ListOption) {
	options := []client.ListOption{client.InNamespace(w.drill.Namespace), client.MatchingLabels{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
		v1alpha1.LabelNamespace: w.drill.Namespace,
	}, which}
	for site := range w.siteErr {
		w.unswept = append(w.unswept, site)
	}
	for _, site := range w.holding() {
		if w.members[site] == nil && !w.declared[site] && !slices.Contains(w.unswept, site) {
			// It is no longer declared, or does not allow the namespace any more: nobody can look what is left there.
			w.unswept = append(w.unswept, site)
		}
	}
	for site, member := range w.members {
		if err := sweepSite(ctx, w, site, member, options); err != nil {
			w.unswept = append(w.unswept, site)
			w.siteErr[site] = err
		}
	}
}

func sweepSite(
	ctx context.Context,
	w *Observed,
	site v1alpha1.SiteName,
	member *sites.Member,
	options []client.ListOption,
) error {
	ctx, cancel := context.WithTimeout(ctx, 4*siteTimeout)
	defer cancel()
	for _, kind := range chaosKinds {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("chaos-mesh.org/v1alpha1")
		list.SetKind(kind + "List")
		err := member.APIReader.List(ctx, list, options...)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		if apierrors.IsForbidden(err) {
			if slices.Contains(w.holding(), site) {
				return fmt.Errorf("%w; %s", err, grantHint(site))
			}
			// Where drills are not granted nothing was made, as far as the status says.
			w.forbidden = append(w.forbidden, site)
			break
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			w.swept = append(w.swept, left{site, &list.Items[i]})
		}
	}
	var pods corev1.PodList
	if err := member.APIReader.List(ctx, &pods, options...); err != nil {
		return err
	}
	for i := range pods.Items {
		pods.Items[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		w.swept = append(w.swept, left{site, &pods.Items[i]})
	}
	return nil
}
