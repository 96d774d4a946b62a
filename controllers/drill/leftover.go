// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// leftover says what is left of earlier runs, of this drill or of another one on the same servers, and has it taken
// away: a login that is being dropped, a fault that a site kept while it was out of reach, or clients that write on
// would be taken for the new run's.
func (p *planner) leftover() string {
	for _, site := range p.target.sites() {
		if slices.Contains(p.unswept, site) {
			return fmt.Sprintf(
				"whether something of an earlier run is left at site %s cannot be told: %v",
				site,
				p.unusable(site),
			)
		}
	}
	for _, f := range p.former {
		if text := p.leftBy(f); text != "" {
			return text
		}
	}
	if len(p.swept) == 0 {
		return ""
	}
	if len(p.steps) == 0 {
		p.clear()
	}
	var of []string
	for _, l := range p.swept {
		if name := l.obj.GetLabels()[v1alpha1.LabelDrill]; name != p.drill.Name && name != "" {
			of = append(of, name)
		}
	}
	slices.Sort(of)
	text := fmt.Sprintf("%d objects of an earlier run are taken away", len(p.swept))
	if of = slices.Compact(of); len(of) > 0 {
		text += ", also of drill " + strings.Join(of, ", ")
	}
	return text
}

// leftBy says what another drill's run may have left that nobody can look at, or take away.
func (p *planner) leftBy(f formerRun) string {
	for _, site := range f.sites {
		lost, declared := p.declared[site]
		_, usable := p.members[site]
		switch {
		case lost:
		case slices.Contains(p.forbidden, site):
			return fmt.Sprintf("whether something of drill %s is left at site %s cannot be told: %s", f.drill, site,
				grantHint(site))
		case slices.Contains(p.unswept, site), !declared, !usable:
			return fmt.Sprintf("whether something of drill %s is left at site %s cannot be told: %v; declare the site Lost "+
				"if it is gone for good", f.drill, site, p.unusable(site))
		}
	}
	if f.frozen.After(p.now) {
		return fmt.Sprintf("an engine may be frozen by drill %s for %s yet", f.drill,
			cmp.Or(f.frozen.Sub(p.now).Round(time.Second), time.Second))
	}
	return ""
}
