// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/tsql"
)

// drillServed refuses a time for which service has to hold that clients are not there to see.
func drillServed(at *field.Path, s v1alpha1.DrillSpec) field.ErrorList {
	holds, recovery := drill.ServedFor(s.Objectives), drill.Recovery(s)
	if holds <= recovery {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("objectives", "served", "for"), holds.String(), fmt.Sprintf(
		"recovery is %s: clients end before service can have held for that long; give at most that, or more recovery",
		recovery))}
}

// arrival refuses objectives of an arrival that nobody could see.
func (d drilled) arrival(at *field.Path, s v1alpha1.DrillSpec) field.ErrorList {
	var errs field.ErrorList
	o := s.Objectives
	for _, one := range []struct {
		name string
		set  bool
	}{{"arrivalP50", o.ArrivalP50 != nil}, {"arrivalP99", o.ArrivalP99 != nil}} {
		path := at.Child("objectives", one.name)
		switch {
		case !one.set:
		case !d.replicated && !d.readable:
			errs = append(
				errs,
				field.Forbidden(
					path,
					"rows are seen to arrive at a subscriber or at a readable secondary: the target has no subscription, and no "+
						"replica is readable",
				),
			)
		case d.replicated && !d.carries(s.Workload.Row):
			errs = append(
				errs,
				field.Forbidden(
					path,
					fmt.Sprintf(
						"the publication must have %s among its articles, without columns and filter: a drill observes rows "+
							"of that table",
						d.carriers(s.Workload.Row),
					),
				),
			)
		}
	}
	return errs
}

// carries says whether the clients' rows come to the subscriber.
func (d drilled) carries(row *v1alpha1.DrillRow) bool {
	return slices.ContainsFunc(tables(row), func(table tsql.PayloadTable) bool {
		return slices.ContainsFunc(d.articles, func(a string) bool { return strings.EqualFold(a, string(table)) })
	})
}

func (d drilled) carriers(row *v1alpha1.DrillRow) string {
	var names []string
	for _, table := range tables(row) {
		names = append(names, string(table))
	}
	return strings.Join(names, " or ")
}

// tables that a row's payload may be in.
func tables(row *v1alpha1.DrillRow) []tsql.PayloadTable {
	switch {
	case row == nil:
		return []tsql.PayloadTable{tsql.ArticlePayload, tsql.AttachmentPayload}
	case row.Type == v1alpha1.RowVarBinary:
		return []tsql.PayloadTable{tsql.AttachmentPayload}
	}
	return []tsql.PayloadTable{tsql.ArticlePayload}
}

// clients refuses a drill that would leave nobody to measure it: the clients of a site that is cut off from everything
// are cut off with it.
func (d drilled) clients(at *field.Path, s v1alpha1.DrillSpec) field.ErrorList {
	path, sites := at.Child("workload", "sites"), s.Workload.Sites
	if len(sites) == 0 {
		sites = slices.Compact(slices.Sorted(maps.Values(d.servers)))
	}
	if len(sites) == 0 || len(drill.Remaining(s.Faults, sites)) > 0 {
		return nil
	}
	return field.ErrorList{
		field.Invalid(
			path,
			join(sites),
			fmt.Sprintf(
				"faults cut off %s as a whole, with all clients: name a site that no fault takes away, whose clients can tell "+
					"what others see",
				join(drill.TakenAway(s.Faults)),
			),
		),
	}
}

// kept refuses a drill whose histories no archive holds: nobody could check its verdict, and it would say so at its
// end. What is computed is the least time that it takes, with clients that are answered as fast as they ask.
func (d drilled) kept(at *field.Path, s v1alpha1.DrillSpec) field.ErrorList {
	sites := drill.ClientSites(s, slices.Compact(slices.Sorted(maps.Values(d.servers))))
	would := drill.Operations(s, len(sites))
	if would <= archive.MaxOperations {
		return nil
	}
	share := float64(archive.MaxOperations) / float64(would)
	var slower string
	each := float64(drill.RowsPerSecond(s.Workload))
	think, thinks := drill.ThinkTime(s.Workload)
	if thinks {
		each = 1 / max(think, time.Millisecond).Seconds()
	}
	if slow := math.Floor(each * share); !thinks && slow >= 1 {
		slower = fmt.Sprintf("a rowsPerSecond of at most %d", int(slow))
	} else {
		pause := time.Duration(math.Ceil(1/(each*share))) * time.Second
		slower = fmt.Sprintf("a thinkTime of at least %s", pause)
	}
	return field.ErrorList{field.Invalid(at.Child("workload"), fmt.Sprintf("%d operations", would), fmt.Sprintf(
		"so many operations would be recorded at %s in the %s that the drill takes at least, and an archive keeps %d: "+
			"give %s, fewer users or sites, or let it be shorter", join(sites), drill.Needs(s).Round(time.Second),
		archive.MaxOperations, slower))}
}
