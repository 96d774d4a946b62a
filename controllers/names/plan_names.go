// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// siteStep is one change at a site.
type siteStep struct {
	site *siteView
	step
}

// Describe says what is done where and why.
func (s siteStep) Describe() string {
	return fmt.Sprintf("site %s: %s (%s)", s.site.name, s.kind, s.reason)
}

// noted is what a plan says of an object's names beside its steps.
type noted struct {
	conflicts []conflict
	// failed says by site why its names are not as they should be, unknown what can't be told.
	failed  map[string]error
	unknown []string
	// wrong says since when names have been wrong at sites that keep them themselves; left are the sites to which that is
	// left.
	wrong map[v1alpha1.SiteName]time.Time
	left  []v1alpha1.SiteName
	// waits are the Services that opened the server and stay since a site leads there, or that are going.
	waits []string
	// untried are the sites that lead where they did, since it has not been found yet that a load balancer forwards.
	untried []string
}

// plan of steps, those of different sites apart, with the note.
func (p *noted) plan(steps []reconcile.Step) reconcile.Plan {
	progress := conditions.Settled
	if len(p.left) > 0 {
		progress = conditions.Working
	}
	return reconcile.Plan{Steps: steps, Apart: true, Outcome: conditions.Outcome{Progress: progress}, Note: *p}
}

// planNames makes the names of an object right at every site that answers.
func planNames(_ Desired, w Observed) reconcile.Plan {
	p := noted{failed: map[string]error{}, wrong: map[v1alpha1.SiteName]time.Time{}}
	var steps []reconcile.Step
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
		if w.names != nil {
			desired = w.names(v.name)
		}
		tries := func(n name) bool {
			_, tries := n.settled(v.has[n.service])
			return tries
		}
		if slices.ContainsFunc(desired, tries) {
			p.untried = append(p.untried, string(v.name))
		}
		here, conflicts := planOf(w.suspended && w.names != nil, v.name, desired, w.labels, v.has)
		p.conflicts = append(p.conflicts, conflicts...)
		if len(here) > 0 && p.leave(w, v) {
			p.left, here = append(p.left, v.name), nil
		}
		if !w.suspended || w.names == nil {
			// The site's own process takes nothing away: it does not see who else leads there.
			closed, waits := planClosed(w, v, desired)
			here, p.waits = append(here, closed...), append(p.waits, waits...)
		}
		for _, s := range here {
			steps = append(steps, siteStep{v, s})
		}
	}
	if w.unknown != "" {
		p.unknown = append(p.unknown, w.unknown)
	}
	return p.plan(steps)
}

// planDelete keeps the names of an object right until they alone are left of it, and takes them away then.
func planDelete(d Desired, w Observed) reconcile.Plan {
	if goes(d.object) {
		return planRelease(d, w)
	}
	return planNames(d, w)
}

// planRelease takes an object's names away everywhere: first out of what sites were told, then themselves. It waits for
// sites that do not answer; a person who says that a site is lost releases it.
func planRelease(d Desired, w Observed) reconcile.Plan {
	n := noted{failed: map[string]error{}}
	// With the namespace go the names in it: a site that does not have it, or deletes it, is waited for in vain.
	w.views = slices.DeleteFunc(slices.Clone(w.views), func(v *siteView) bool { return sites.IsNamespaceGone(v.err) })
	var forget []reconcile.Step
	for _, v := range w.views {
		if v.member == nil || !v.declares {
			continue
		}
		// Its own process would make the names again, also one that is away now.
		object, err := v.told.Without(keyOf(d.object))
		if err != nil {
			n.failed[string(v.name)] = err
			continue
		}
		forget = append(forget, siteStep{v, step{tellObject, object, "the object is deleted"}})
	}
	if len(forget)+len(n.failed) > 0 {
		return n.plan(forget)
	}
	p := planNames(d, w)
	n = reconcile.Noted[noted](p)
	// That a site's process was about to make them again shows by another look.
	p.Done = len(n.failed) == 0 && len(n.unknown) == 0 && len(p.Steps) == 0 && len(n.waits) == 0
	return p
}

// leave decides whether what is wrong at a site is left to its own process; it says so when that takes long.
func (p *noted) leave(w Observed, v *siteView) bool {
	if !v.keeps || !v.declares {
		return false
	}
	since, ok := w.wrong[v.name]
	if !ok {
		since = w.now
	}
	p.wrong[v.name] = since
	waited := w.now.Sub(since)
	if waited >= patience {
		return false
	}
	if waited >= behindAfter {
		p.unknown = append(
			p.unknown,
			fmt.Sprintf("the process of site %s has left the name wrong for %s", v.name, waited.Round(time.Second)),
		)
	}
	return true
}
