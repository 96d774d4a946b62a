// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
)

// drill checks a Drill against its target. What is not there yet is no error: objects may come in any order, and the
// drill waits. What depends on the moment - whether the target is well, who is primary - is found out when it runs.
func (w *World) drill(at *field.Path, old, d *v1alpha1.Drill) field.ErrorList {
	if old != nil {
		if errs := changedRun(at, old, d); len(errs) > 0 {
			return errs
		}
		if onlyAbort(old.Spec, d.Spec) {
			return nil
		}
	}
	return w.drillSpec(at, d.Spec)
}

// changedRun refuses changes of a run that has begun: its verdict would speak of something else.
func changedRun(at *field.Path, old, d *v1alpha1.Drill) field.ErrorList {
	s := old.Status
	if d.Spec.RunID != old.Spec.RunID &&
		slices.ContainsFunc(s.History, func(h v1alpha1.DrillRunSummary) bool { return h.RunID == d.Spec.RunID }) {
		return field.ErrorList{
			field.Invalid(
				at.Child("runID"),
				d.Spec.RunID,
				"that run is over, and its verdict stands: name one that was never used to run again",
			),
		}
	}
	if s.RunID == "" || s.RunID != old.Spec.RunID || onlyAbort(old.Spec, d.Spec) {
		return nil
	}
	switch {
	case s.Phase != v1alpha1.DrillCompleted:
		return field.ErrorList{
			field.Forbidden(
				at,
				fmt.Sprintf(
					"run %q is in phase %s: wait for its end, or set spec.abort to true; nothing else may be changed until then",
					s.RunID,
					s.Phase,
				),
			),
		}
	case d.Spec.RunID == old.Spec.RunID:
		return field.ErrorList{
			field.Invalid(
				at.Child("runID"),
				d.Spec.RunID,
				fmt.Sprintf(
					"run %q is over, and its verdict speaks of the spec as it was: change runID, too, to run again",
					s.RunID,
				),
			),
		}
	}
	return nil
}

// onlyAbort says that nothing but abort differs.
func onlyAbort(a, b v1alpha1.DrillSpec) bool {
	a.Abort, b.Abort = false, false
	return equality.Semantic.DeepEqual(a, b)
}

func (w *World) drillSpec(at *field.Path, s v1alpha1.DrillSpec) field.ErrorList {
	errs := w.drillTarget(at.Child("target"), s.Target)
	errs = append(errs, drillTimes(at, s)...)
	errs = append(errs, drillServed(at, s)...)
	target, known := w.drilled(s.Target)
	for i, f := range s.Faults {
		path := at.Child("faults").Index(i)
		if f.Kind == v1alpha1.FaultChaosMesh {
			errs = append(errs, fault.CheckLiteral(path.Child("chaosMesh", "spec"), *f.ChaosMesh)...)
		}
		if known {
			errs = append(errs, target.fault(path, f)...)
		}
	}
	if !known {
		return errs
	}
	if db := s.Workload.Database; db != "" && len(target.databases) > 0 && !slices.Contains(target.databases, db) {
		errs = append(
			errs,
			field.Invalid(
				at.Child("workload", "database"),
				db,
				fmt.Sprintf("it is no database of the target, whose databases are %s", join(target.databases)),
			),
		)
	}
	errs = append(errs, target.arrival(at, s)...)
	errs = append(errs, target.clients(at, s)...)
	errs = append(errs, target.kept(at, s)...)
	for i, site := range s.Workload.Sites {
		if len(w.Sites) > 0 && w.Sites[string(site)] == nil {
			errs = append(errs, field.NotFound(at.Child("workload", "sites").Index(i), site))
		}
	}
	return errs
}

// drillTimes refuses faults that could not be over within the time limit.
func drillTimes(at *field.Path, s v1alpha1.DrillSpec) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, f := range s.Faults {
		path := at.Child("faults").Index(i)
		if f.Times > 1 && f.Every == nil {
			errs = append(
				errs,
				field.Required(
					path.Child("every"),
					fmt.Sprintf(
						"times is %d, and without every all of them would begin at once: say how long after one the next begins",
						f.Times,
					),
				),
			)
		}
		if f.Every != nil && f.Duration != nil && f.Every.Duration <= f.Duration.Duration {
			errs = append(
				errs,
				field.Invalid(
					path.Child("every"),
					f.Every.Duration.String(),
					"it must be longer than duration: the fault would begin again before it is over",
				),
			)
		}
		for _, o := range drill.Expand([]v1alpha1.DrillFault{f}) {
			if names[o.Name] {
				errs = append(errs, field.Duplicate(path.Child("name"), o.Name))
			}
			names[o.Name] = true
		}
	}
	if len(names) > drill.MaxFaults {
		errs = append(errs, field.TooMany(at.Child("faults"), len(names), drill.MaxFaults))
	}
	if end, limit := drill.Needs(s), drill.TimeLimit(s); end > limit {
		errs = append(
			errs,
			field.Invalid(
				at.Child("timeLimit"),
				limit.String(),
				fmt.Sprintf("baseline and faults alone need %s: give more time", end.Round(time.Second)),
			),
		)
	}
	return errs
}

// drillTarget refuses a target that does not allow drills.
func (w *World) drillTarget(at *field.Path, t v1alpha1.DrillTarget) field.ErrorList {
	check := func(path *field.Path, kind, name string, obj client.Object) field.ErrorList {
		if obj.GetLabels()[v1alpha1.DrillsLabel] == v1alpha1.DrillsAllowed {
			return nil
		}
		return field.ErrorList{
			field.Forbidden(
				path,
				fmt.Sprintf(
					"%s %s does not allow drills: label it %s=%s if it may be broken on purpose",
					kind,
					name,
					v1alpha1.DrillsLabel,
					v1alpha1.DrillsAllowed,
				),
			),
		}
	}
	switch {
	case t.AvailabilityGroup != "":
		if g := w.Groups[string(t.AvailabilityGroup)]; g != nil {
			return check(at.Child("availabilityGroup"), "AvailabilityGroup", g.Name, g)
		}
	case t.Subscription != "":
		if s := w.Subscriptions[string(t.Subscription)]; s != nil {
			return check(at.Child("subscription"), "Subscription", s.Name, s)
		}
	case t.Topology != "":
		if p := w.Topologies[string(t.Topology)]; p != nil {
			return check(at.Child("topology"), "Topology", p.Name, p)
		}
	}
	return nil
}

// drilled is what admission needs to know of a target.
type drilled struct {
	servers    map[string]v1alpha1.SiteName
	replicas   []v1alpha1.ServerName
	databases  []v1alpha1.DatabaseName
	grouped    bool
	replicated bool
	// readable says that a replica can be read while it is a secondary.
	readable bool
	// articles of the publications, whole ones alone.
	articles []string
}

// drilled resolves a target; false while something that it refers to is not there.
func (w *World) drilled(t v1alpha1.DrillTarget) (drilled, bool) {
	d := drilled{servers: map[string]v1alpha1.SiteName{}}
	switch {
	case t.AvailabilityGroup != "":
		return d, w.addGroup(&d, string(t.AvailabilityGroup))
	case t.Subscription != "":
		return d, w.addSubscription(&d, string(t.Subscription))
	}
	p := w.Topologies[string(t.Topology)]
	if p == nil {
		return d, false
	}
	known := true
	for _, g := range p.Spec.AvailabilityGroups {
		known = w.addGroup(&d, string(g.Name)) && known
	}
	for _, s := range p.Spec.Subscriptions {
		known = w.addSubscription(&d, string(s.Name)) && known
	}
	for _, s := range p.Spec.Servers {
		known = w.addServer(&d, s.Name) && known
	}
	return d, known
}

func (w *World) addServer(d *drilled, name v1alpha1.ServerName) bool {
	s := w.Servers[string(name)]
	if s != nil {
		d.servers[s.Name] = s.Spec.Site
	}
	return s != nil
}

func (w *World) addGroup(d *drilled, name string) bool {
	g := w.Groups[name]
	if g == nil {
		return false
	}
	d.grouped = true
	d.databases = append(d.databases, g.Spec.DatabaseNames()...)
	known := true
	for _, r := range g.Spec.Replicas {
		d.replicas = append(d.replicas, r.Server)
		d.readable = d.readable || r.Readable
		known = w.addServer(d, r.Server) && known
	}
	return known
}

func (w *World) addEnd(d *drilled, end v1alpha1.ServerOrGroup) bool {
	if end.Server != "" {
		return w.addServer(d, end.Server)
	}
	return w.addGroup(d, string(end.AvailabilityGroup))
}

func (w *World) addSubscription(d *drilled, name string) bool {
	s := w.Subscriptions[name]
	if s == nil {
		return false
	}
	p := w.Publications[string(s.Spec.Publication)]
	if p == nil || w.Distributors[string(p.Spec.Distributor)] == nil {
		return false
	}
	d.replicated = true
	d.databases = append(d.databases, p.Spec.Database)
	for _, a := range p.Spec.Articles {
		if a.Filter == "" && len(a.Columns) == 0 {
			d.articles = append(d.articles, a.Table)
		}
	}
	return w.addEnd(d, p.Spec.Publisher) && w.addEnd(d, s.Spec.Subscriber) &&
		w.addServer(d, w.Distributors[string(p.Spec.Distributor)].Spec.Server)
}

// fault checks one fault against the target.
func (d drilled) fault(at *field.Path, f v1alpha1.DrillFault) field.ErrorList {
	var errs field.ErrorList
	if f.Where != nil {
		errs = append(errs, d.place(at.Child("where"), *f.Where)...)
	}
	if f.Peer != nil {
		errs = append(errs, d.place(at.Child("peer"), *f.Peer)...)
		if f.Where != nil && *f.Where == *f.Peer {
			errs = append(errs, field.Invalid(at.Child("peer"), "", "it is the same place as where: a link has two ends"))
		}
	}
	switch f.Kind {
	case v1alpha1.FaultSwitchover, v1alpha1.FaultFailover:
		if !d.grouped {
			errs = append(
				errs,
				field.Forbidden(at.Child("kind"), fmt.Sprintf("%s concerns a group, and the target has none", f.Kind)),
			)
		} else if f.To != "" && !slices.Contains(d.replicas, f.To) {
			errs = append(errs, field.Invalid(at.Child("to"), f.To,
				fmt.Sprintf("it is no replica of the target's group; those are %s", join(d.replicas))))
		}
	}
	return errs
}

// place checks that there is something at a place.
func (d drilled) place(at *field.Path, p v1alpha1.FaultPlace) field.ErrorList {
	switch {
	case p.Server != "":
		if _, ok := d.servers[string(p.Server)]; !ok {
			return field.ErrorList{
				field.Invalid(
					at.Child("server"),
					p.Server,
					fmt.Sprintf("it is no server of the target; those are %s", names(d.servers)),
				),
			}
		}
	case p.Site != "":
		for _, site := range d.servers {
			if site == p.Site {
				return nil
			}
		}
		return field.ErrorList{
			field.Invalid(at.Child("site"), p.Site, "no server of the target runs there: the fault would strike nothing"),
		}
	case (p.Role == v1alpha1.RolePrimary || p.Role == v1alpha1.RoleSecondary) && !d.grouped:
		return field.ErrorList{field.Invalid(at.Child("role"), p.Role, "the target has no group")}
	case (p.Role == v1alpha1.RolePublisher || p.Role == v1alpha1.RoleDistributor || p.Role == v1alpha1.RoleSubscriber) &&
		!d.replicated:
		return field.ErrorList{field.Invalid(at.Child("role"), p.Role, "the target has no subscription")}
	}
	return nil
}

func join[S ~string](list []S) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// drillSchedule checks a schedule, and its template as the Drill that it will make.
func (w *World) drillSchedule(at *field.Path, old, s *v1alpha1.DrillSchedule) field.ErrorList {
	if s.Spec.Repeat != nil {
		return w.drillRepeat(at, old, s)
	}
	errs := times(at, s.Spec.Schedule, s.Spec.TimeZone)
	if s.Spec.Template.Spec.Abort {
		errs = append(
			errs,
			field.Forbidden(at.Child("template", "spec", "abort"), "a drill that is aborted before it begins shows nothing"),
		)
	}
	return append(errs, w.drillSpec(at.Child("template", "spec"), s.Spec.Template.Spec)...)
}
