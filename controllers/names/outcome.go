// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// outcome is the plan of an object's names at all sites, and what came of it.
type outcome struct {
	sites     []siteSteps
	conflicts []conflict
	// failed says by site why its names are not as they should be, unknown what can't be told.
	failed  map[string]error
	unknown []string
	// released says of a deletion that nothing is left once the steps are carried out.
	released bool
	// wrong says since when names have been wrong at sites that keep them themselves; left are the sites to which that is
	// left.
	wrong map[v1alpha1.SiteName]time.Time
	left  []v1alpha1.SiteName
}

// Gist is what the frame of all controllers needs of it.
func (p *outcome) Gist() reconcile.Gist {
	g := reconcile.Gist{Progress: conditions.Settled, Done: p.released}
	for _, s := range p.sites {
		g.Steps += len(s.steps)
	}
	if len(p.left) > 0 {
		g.Progress = conditions.Working
	}
	return g
}

// planNames makes the names of an object right at every site that answers.
func planNames(w *world) *outcome {
	p := &outcome{failed: map[string]error{}, wrong: map[v1alpha1.SiteName]time.Time{}}
	for _, v := range w.views {
		if v.member == nil {
			p.unknown = append(p.unknown, v.err.Error())
			continue
		}
		if v.readErr != nil {
			p.failed[string(v.name)] = v.readErr
			continue
		}
		var desired []name
		if w.desired != nil {
			desired = w.desired(v.name)
		}
		steps, conflicts := plan(v.name, desired, w.labels, v.has)
		p.conflicts = append(p.conflicts, conflicts...)
		if len(steps) > 0 && p.leave(w, v) {
			p.left, steps = append(p.left, v.name), nil
		}
		p.sites = append(p.sites, siteSteps{v, steps})
	}
	if w.unknown != "" {
		p.unknown = append(p.unknown, w.unknown)
	}
	return p
}

// planDelete keeps the names of an object right until they alone are left of it, and takes them away then.
func planDelete(w *world) *outcome {
	if goes(w.object) {
		return planRelease(w)
	}
	return planNames(w)
}

// planRelease takes an object's names away everywhere. It waits for sites that do not answer; a person who says that a
// site is lost releases it.
func planRelease(w *world) *outcome {
	p := &outcome{failed: map[string]error{}}
	here := *w
	// With the namespace go the names in it: a site that does not have it, or deletes it, is waited for in vain.
	here.views = slices.DeleteFunc(slices.Clone(w.views), func(v *siteView) bool { return sites.IsNamespaceGone(v.err) })
	w = &here
	for _, v := range w.views {
		if v.member != nil && v.keeps && v.declares {
			// Its own process would make the names again.
			p.left = append(p.left, v.name)
		}
	}
	if len(p.left) > 0 {
		return p
	}
	p = planNames(w)
	// That a site's process was about to make them again shows by another look.
	p.released = len(p.failed) == 0 && len(p.unknown) == 0 && p.Gist().Steps == 0
	return p
}

// apply carries out the steps of all sites. What failed is in the error and, by site, in the outcome.
func (p *outcome) apply(ctx context.Context) error {
	maps.Copy(p.failed, apply(ctx, p.sites))
	var errs []error
	for _, site := range slices.Sorted(maps.Keys(p.failed)) {
		errs = append(errs, p.failed[site])
	}
	return errors.Join(errs...)
}

// condition says it, the worst first.
func (p *outcome) condition(w *world) metav1.Condition {
	c := metav1.Condition{Type: conditions.TypeNamesReady, ObservedGeneration: w.object.GetGeneration()}
	var texts []string
	for _, x := range p.conflicts {
		texts = append(texts, x.text)
	}
	switch {
	case len(p.conflicts) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, conditions.ReasonNamesConflict, strings.Join(texts, "; ")
	case len(p.failed) > 0:
		for _, site := range slices.Sorted(maps.Keys(p.failed)) {
			texts = append(texts, p.failed[site].Error())
		}
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, conditions.ReasonApplyFailed, strings.Join(texts, "; ")
	case len(p.unknown) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, conditions.ReasonNamesPartial
		c.Message = fmt.Sprintf("%s. The name is right at: %s", strings.Join(p.unknown, "; "), p.right(w))
	case w.addressless != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, conditions.ReasonNoAddress, w.addressless
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, conditions.ReasonNamesPublished, "at "+p.right(w)
	}
	return c
}

// right are the sites at which the names are as they should be.
func (p *outcome) right(w *world) string {
	var right []string
	for _, v := range w.views {
		if v.member != nil && p.failed[string(v.name)] == nil {
			right = append(right, string(v.name))
		}
	}
	if len(right) == 0 {
		return "none"
	}
	return strings.Join(right, ", ")
}
