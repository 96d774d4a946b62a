// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/control"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/workload/history"
)

const (
	// fetchTimeout bounds the fetching of one site's histories, rowsTimeout the reading of all copies side by side.
	fetchTimeout = time.Minute
	rowsTimeout  = 3 * time.Minute
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// judged is the end of a run.
type judged struct {
	verdict.Judgement
	now      time.Time
	verdict  history.Verdict
	archive  *v1alpha1.DrillArchive
	versions []v1alpha1.DrillVersion
	events   []v1alpha1.DrillEvent
	places   []verdict.Place
	controls []v1alpha1.DrillControl
	fetched  map[string]error // by site: why not, nil when fetched
}

// gather fetches the clients' histories and the replicas' rows, judges them and keeps them. A site that does not answer
// is asked again, for a while. What was kept before - this process or another ended then - is judged as it was kept.
//
// Of an archive that is not the drill's own, or that is damaged, nothing is believed: the evidence is collected, and
// the verdict says that it could not be kept.
func (r *Reconciler) gather(ctx context.Context, w *Observed) (*judged, error) {
	if !r.judging.TryLock() {
		return nil, errJudging
	}
	defer r.judging.Unlock()
	run := archive.Run{
		Namespace: w.drill.Namespace,
		Drill:     w.drill.Name,
		UID:       string(w.drill.UID),
		ID:        w.drill.Status.RunID,
	}
	j := &judged{now: r.now(), fetched: map[string]error{}}
	kept, err := archive.Read(ctx, r.direct, run)
	var unusable error
	if unusableArchive(err) {
		unusable = err
	}
	fresh := unusable != nil || errors.Is(err, archive.ErrNotFound)
	if fresh {
		kept, err = r.collect(ctx, w, run, j)
	}
	if err != nil {
		return nil, err
	}
	if err := r.judge(ctx, w, j, kept); err != nil {
		return nil, err
	}
	if fresh {
		if kept.Files, err = j.files(w); err != nil {
			return nil, err
		}
	}
	ref, err := archive.Write(
		ctx,
		r.direct,
		w.drill,
		v1alpha1.GroupVersion.String(),
		"Drill",
		kept,
		archive.DefaultLimits(),
	)
	var tooLarge *archive.TooLargeError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, archive.ErrUnreadable), unusableArchive(err):
		j.notKept(err)
		return j, nil
	case errors.Is(err, archive.ErrWritten) && unusable != nil:
		j.notKept(unusable) // it is never changed, and it will be no better next time
		return j, nil
	case errors.Is(err, archive.ErrWritten) && fresh:
		return nil, err // another process was first; its archive is judged next time
	case err != nil && !errors.Is(err, archive.ErrWritten):
		return nil, err
	}
	j.archive = &v1alpha1.DrillArchive{
		Name:   ref.Index,
		Chunks: int32(ref.Chunks), //nolint:gosec // as many as an archive may have
		Bytes:  int64(ref.Size),
		SHA256: ref.SHA256,
	}
	return j, nil
}

// errJudging says that a run waits until another one has been judged.
var errJudging = errors.New("another drill is being judged, one at a time: this one is judged after it")

// unusableArchive tells of what stands where the archive should: somebody else's, or nothing that can be read.
func unusableArchive(err error) bool {
	return errors.Is(err, archive.ErrForeign) || errors.Is(err, archive.ErrDamaged)
}

// notKept notes that the evidence is too large to be kept, or that something of no use stands in its place. Nobody can
// look at it later: that is no pass.
func (j *judged) notKept(err error) {
	if j.Verdict == v1alpha1.VerdictPassed {
		j.Verdict, j.Reason = v1alpha1.VerdictInconclusive, v1alpha1.ReasonEvidenceMissing
	}
	j.Message += "; the evidence is not kept: " + err.Error()
}

// judge lets an archive speak.
func (r *Reconciler) judge(ctx context.Context, w *Observed, j *judged, kept archive.Archive) error {
	for site := range kept.Histories {
		j.fetched[site] = nil
	}
	evidence, err := kept.Evidence()
	if err != nil {
		return err
	}
	j.verdict = history.Check(evidence)
	measured := r.measured(w, j, kept)
	if measured.Places, err = w.arrived(kept); err != nil {
		return err
	}
	measured.Controls = control.Check(control.Run{
		Spec:     w.drill.Spec,
		Group:    w.target.objectives,
		Evidence: evidence,
		Measured: measured,
	})
	j.controls = measured.Controls
	j.Judgement = verdict.Judge(w.drill.Spec, w.target.objectives, measured)
	j.places = measured.Places
	j.versions = r.versions(ctx, w)
	j.events = r.elections(ctx, w)
	return nil
}

// files are the drill as it was judged, from which a report can be made when the object speaks of a later run.
func (j *judged) files(w *Observed) (map[string][]byte, error) {
	d := w.drill.DeepCopy()
	j.write(&d.Status)
	d.ManagedFields = nil
	d.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Drill"))
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("keep the drill itself: %w", err)
	}
	return map[string][]byte{"drill.json": data}, nil
}

// collect asks the clients for their histories and the replicas for their rows.
func (r *Reconciler) collect(ctx context.Context, w *Observed, run archive.Run, j *judged) (archive.Archive, error) {
	boot, err := history.BootID()
	if err != nil {
		return archive.Archive{}, err
	}
	instant := instants()
	a := archive.Archive{Run: run, Histories: map[string][]byte{}, Samples: w.runs.Samples, Faults: r.faults(w, instant),
		Bounds: archive.Bounds{
			AcknowledgedAtLeast: 1,
			AllowLost:           int(ptr.Deref(w.drill.Spec.Objectives.LostRows, 0)),
			Served:              verdict.Served(w.drill.Spec.Objectives),
			FaultsBoot:          boot,
			Baseline:            instant(w.drill.Status.Baseline),
		}}
	a.Samples.Clocks = append(slices.Clone(a.Samples.Clocks), notedClocks(w.drill.Status.Clients)...)
	var missing []string
	budget := archive.NewBudget()
	for _, c := range w.drill.Status.Clients {
		site := v1alpha1.SiteName(c.Site)
		out, err := r.inClients(ctx, w, site, timeLeft(ctx, fetchTimeout), "history", "fetch", "--stop", "--timeout", "20s")
		if err != nil && !r.now().Before(w.gatherUntil()) {
			// What lies there is worth having, though nobody says that it is all.
			if lies, asItIs := r.inClients(ctx, w, site, timeLeft(ctx, fetchTimeout), "history", "fetch"); asItIs == nil {
				a.Bounds.Unstopped, out, err = append(a.Bounds.Unstopped, c.Site), lies, nil
			}
		}
		if err == nil {
			err = budget.Take(out)
		}
		if err != nil {
			j.fetched[c.Site] = err
			missing = append(missing, fmt.Sprintf("%s: %v", c.Site, err))
			continue
		}
		a.Histories[c.Site], j.fetched[c.Site] = out, nil
	}
	if len(missing) > 0 && r.now().Before(w.gatherUntil()) {
		return a, fmt.Errorf("fetch the histories of %s", strings.Join(missing, "; "))
	}
	last := !r.now().Before(w.gatherUntil())
	if err := r.readCopies(ctx, w, &a, last); err != nil {
		return a, err
	}
	a.Bounds.Unread = w.unread(a.Replicas)
	if text := different(a.Replicas); text != "" && w.redoes() && !last {
		// A secondary has acknowledged what it has hardened, and shows it when it is redone.
		return a, errors.New(text)
	}
	return a, r.collectArrivals(ctx, w, &a, budget, last)
}

// redoes says whether a secondary goes on redoing, so that copies which differ may become equal by themselves. A
// primary takes over nothing, and a suspended copy waits for a person.
func (w *Observed) redoes() bool {
	if w.target.group == nil {
		return false
	}
	for _, name := range w.target.data {
		switch s := w.replicas[name]; {
		case s.group == nil:
			return true // what it does is not known
		case s.group.Role == "SECONDARY" &&
			slices.ContainsFunc(s.group.States, func(d mssql.GroupDatabaseState) bool { return d.Local && !d.Suspended }):
			return true
		}
	}
	return false
}

// different says which replicas do not have the same rows.
func different(replicas []history.Replica) string {
	var first map[history.RowID]int
	for i, replica := range replicas {
		rows := map[history.RowID]int{}
		for _, id := range replica.Rows {
			rows[id]++
		}
		if i == 0 {
			first = rows
		} else if !maps.Equal(first, rows) {
			return fmt.Sprintf("the rows of %s and %s differ: one of them may have some to redo yet", replicas[0].Server,
				replica.Server)
		}
		for _, t := range replica.Tables {
			if other := replicas[0].Table(t.Name); other != nil && other.SHA256 != t.SHA256 {
				return fmt.Sprintf("%s of %s and of %s differ: one of them may have some to redo yet", t.Name,
					replicas[0].Server, replica.Server)
			}
		}
	}
	return ""
}

// lastMoment is when the run went over to be judged, as near as the timeline tells.
func lastMoment(w *Observed) time.Time {
	last := w.drill.Status.Ended.Time
	for _, e := range w.drill.Status.Timeline {
		if e.Time.After(last) {
			last = e.Time.Time
		}
	}
	return last
}

// gatherUntil is when what is still missing of a run is lost.
func (w *Observed) gatherUntil() time.Time {
	if w.drill.Status.AbortReason != "" {
		return lastMoment(w).Add(endedWithin)
	}
	return lastMoment(w).Add(judgeWithin)
}

// canBeRead says whether a server must have all rows and can be asked for them: the primary, every server that says
// that it is one - the group's status names none of several -, and secondaries that are readable.
func (w *Observed) canBeRead(name v1alpha1.ServerName) bool {
	says := w.replicas[name].group
	return w.target.group == nil || slices.Contains(w.target.readable, name) ||
		w.resolved.Roles[v1alpha1.RolePrimary] == name ||
		says != nil && says.Role == "PRIMARY"
}

// instants put times on the checker's clocks. They were taken from the wall clock of this process; both clocks run
// alike, so that they are put on the other by what lies between them now.
func instants() func(*metav1.MicroTime) history.Instant {
	now := history.Now()
	return func(t *metav1.MicroTime) history.Instant {
		if t == nil {
			return history.Instant{}
		}
		wall := t.UnixNano()
		return history.Instant{Wall: wall, Monotonic: now.Monotonic - (now.Wall - wall)}
	}
}

// faults as the checker knows them.
func (r *Reconciler) faults(w *Observed, instant func(*metav1.MicroTime) history.Instant) []history.Fault {
	var list []history.Fault
	for _, f := range w.drill.Status.Faults {
		if f.Injected == nil {
			continue
		}
		one := history.Fault{
			Name:     f.Name,
			Target:   strings.Join(f.Targets, ", "),
			Injected: instant(f.Injected),
			Settled:  instant(f.Settled),
			Isolated: f.Isolated,
			Moves:    fault.Moves(f.Kind),
		}
		if o, ok := occurrence(w.drill.Spec, f.Name); ok && o.Lasts() > 0 {
			one.Healed = instant(f.Removed)
		}
		if b := f.Bounds; b != nil {
			one.Bounds = boundsOf(*b, instant)
		}
		if f.Effect != nil && f.Effect.Status == metav1.ConditionTrue {
			one.Proof = f.Effect.Seen
		}
		list = append(list, one)
	}
	return list
}

// versions of everything that took part.
func (r *Reconciler) versions(ctx context.Context, w *Observed) []v1alpha1.DrillVersion {
	list := []v1alpha1.DrillVersion{{Component: "geosql", Image: r.image}}
	for _, site := range w.target.sites() {
		if health, ok := r.sites.Health(site); ok {
			list = append(list, v1alpha1.DrillVersion{Component: "kubernetes", Site: string(site), Version: health.Version})
		}
		if pod := w.clients[site]; pod != nil && len(pod.Status.ContainerStatuses) > 0 {
			c := pod.Status.ContainerStatuses[0]
			list = append(
				list,
				v1alpha1.DrillVersion{Component: "clients", Site: string(site), Image: c.Image, Digest: c.ImageID},
			)
		}
		if member := w.members[site]; member != nil {
			list = append(list, chaosVersions(ctx, member.APIReader, site)...)
		}
	}
	for _, s := range w.target.servers {
		v := v1alpha1.DrillVersion{Component: s.Name, Site: string(s.Spec.Site), Image: s.Spec.Image}
		if pod := w.pods[v1alpha1.ServerName(s.Name)]; pod != nil {
			for _, c := range pod.Status.ContainerStatuses {
				if c.Name == fault.EngineContainer {
					v.Digest = c.ImageID
				}
			}
		}
		v.Version = s.Status.Version
		list = append(list, v)
	}
	return list
}

// elections are the moments of the group's elections during the run, from its Failovers.
func (r *Reconciler) elections(ctx context.Context, w *Observed) []v1alpha1.DrillEvent {
	var list v1alpha1.FailoverList
	if w.drill.Status.Group == "" || r.direct.List(ctx, &list, client.InNamespace(w.drill.Namespace)) != nil {
		return nil
	}
	var events []v1alpha1.DrillEvent
	for _, f := range list.Items {
		t := f.Status.Timeline
		if string(f.Spec.Group) != w.drill.Status.Group || t == nil {
			continue
		}
		for _, m := range []struct {
			event string
			at    *metav1.MicroTime
		}{{"Suspected", t.Suspected}, {"Claimed", t.Claimed}, {"Fenced", t.Fenced}, {"Promoted", t.Promoted},
			{"FirstWrite", t.FirstWrite}, {"AllSynchronized", t.AllSynchronized}} {
			if m.at != nil && m.at.After(w.drill.Status.Accepted.Time) {
				events = append(
					events,
					v1alpha1.DrillEvent{Time: *m.at, Event: m.event, Fault: lastFault(w.drill.Status, m.at.Time),
						Message: conditions.Shorten(
							fmt.Sprintf(
								"term %d, %s, from %s to %s (Failover %s)",
								f.Status.Term,
								f.Status.Cause,
								f.Status.From,
								f.Status.To,
								f.Name,
							),
							512,
						)},
				)
			}
		}
	}
	return events
}

// lastFault is the fault that was injected last before that time.
func lastFault(s v1alpha1.DrillStatus, t time.Time) string {
	name, when := "", time.Time{}
	for _, f := range s.Faults {
		if f.Injected != nil && !f.Injected.After(t) && f.Injected.After(when) {
			name, when = f.Name, f.Injected.Time
		}
	}
	return name
}
