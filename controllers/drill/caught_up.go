// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/mssql"
)

// synchronized says whether one server with data is primary and all others follow it without a gap, else what is not
// so. A secondary tells of what it has received; what it has yet to be sent only the primary knows.
func (w *Observed) synchronized() (bool, string) {
	if w.target.missing != "" {
		return false, w.target.missing
	}
	var primary v1alpha1.ServerName
	for _, name := range w.target.data {
		s, asked := w.replicas[name]
		if !asked {
			return false, fmt.Sprintf("%s was not asked", name)
		}
		if s.err != nil {
			return false, fmt.Sprintf("%s does not answer: %v", name, s.err)
		}
		if s.group == nil {
			if w.target.group != nil {
				return false, fmt.Sprintf("%s says nothing of the group", name)
			}
			continue
		}
		switch s.group.Role {
		case "PRIMARY":
			if primary != "" {
				return false, fmt.Sprintf("%s and %s both say PRIMARY", primary, name)
			}
			primary = name
		case "SECONDARY":
			if text := w.behind(name, s.group.States, local); text != "" {
				return false, text
			}
		default:
			return false, fmt.Sprintf("%s is %s", name, s.group.Role)
		}
	}
	switch {
	case w.target.group == nil:
		return true, ""
	case primary == "":
		return false, "nobody is PRIMARY"
	}
	text := w.notSent(primary)
	return text == "", text
}

// notSent says of a primary what it says of the others that is not well.
func (w *Observed) notSent(primary v1alpha1.ServerName) string {
	g := w.replicas[primary].group
	for _, name := range w.target.data {
		if name == primary {
			continue
		}
		for _, r := range g.Replicas {
			if sameServer(name, r.Server) && r.Connected != "CONNECTED" {
				return fmt.Sprintf("%s says that %s is not connected", primary, name)
			}
		}
		of := func(d mssql.GroupDatabaseState) bool { return !d.Local && sameServer(name, d.Server) }
		if text := w.behind(name, g.States, of); text != "" {
			return text + ", says " + string(primary)
		}
		here := databases(g.States, local)
		if there := databases(g.States, of); len(here) == 0 || !subset(here, there) {
			return fmt.Sprintf("%s says nothing of how far %s is", primary, name)
		}
		if there := databases(w.replicas[name].group.States, local); !subset(here, there) {
			return fmt.Sprintf("%s has not all databases of %s: %s, and not %s", name, primary, strings.Join(there, ", "),
				strings.Join(here, ", "))
		}
	}
	return ""
}

// local says that a state is of the server that tells it.
func local(d mssql.GroupDatabaseState) bool { return d.Local }

// databases that states speak of.
func databases(states []mssql.GroupDatabaseState, of func(mssql.GroupDatabaseState) bool) []string {
	var names []string
	for _, d := range states {
		if of(d) {
			names = append(names, d.Database)
		}
	}
	return names
}

func subset(names, of []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(of, name) })
}

// behind says by those of the states that speak of a secondary what it lacks.
func (w *Observed) behind(
	name v1alpha1.ServerName,
	states []mssql.GroupDatabaseState,
	of func(mssql.GroupDatabaseState) bool,
) string {
	usual := w.usual(name)
	for _, d := range states {
		switch {
		case !of(d):
		case d.Suspended:
			return fmt.Sprintf("%s of %s is suspended", d.Database, name)
		case w.synchronous(name) && d.State != "SYNCHRONIZED", d.State != "SYNCHRONIZED" && d.State != "SYNCHRONIZING":
			return fmt.Sprintf("%s of %s is %s", d.Database, name, d.State)
		case d.RedoQueueKB != nil && *d.RedoQueueKB > usual.redo:
			return fmt.Sprintf("%s of %s has %d KB to redo", d.Database, name, *d.RedoQueueKB)
		case !d.Local && d.SendQueueKB == nil:
			return fmt.Sprintf("how much of %s has yet to be sent to %s is not known", d.Database, name)
		case !d.Local && *d.SendQueueKB > usual.send:
			return fmt.Sprintf("%d KB of %s have yet to be sent to %s", *d.SendQueueKB, d.Database, name)
		}
	}
	return ""
}

// smallQueue is a queue that counts as none: what the clients of a drill write between two of redo's rounds.
const smallQueue = 64 // KB

// queuesKB are the queues of a secondary, in KB.
type queuesKB struct{ send, redo int64 }

// usual are the queues up to which a server has caught up: the greatest of the baseline. Clients write on meanwhile, so
// that they are never empty for sure.
func (w *Observed) usual(name v1alpha1.ServerName) queuesKB {
	usual := queuesKB{smallQueue, smallQueue}
	if w.runs == nil || w.drill.Status.Baseline == nil {
		return usual
	}
	for _, one := range w.runs.Replicas {
		if w.baseline(one) && one.Server == string(name) {
			usual.send, usual.redo = atLeast(usual.send, one.SendQueueKB), atLeast(usual.redo, one.RedoQueueKB)
		}
	}
	return usual
}

// baseline says whether a sample is of the time in which what is usual is measured.
func (w *Observed) baseline(one archive.ReplicaSample) bool {
	s := w.drill.Status
	return !one.At.Before(s.Baseline.Time) && (s.Started == nil || !one.At.After(s.Started.Time))
}

func atLeast(n int64, other *int64) int64 {
	if other == nil {
		return n
	}
	return max(n, *other)
}

func (w *Observed) synchronous(name v1alpha1.ServerName) bool {
	for _, replica := range w.target.group.Spec.Replicas {
		if replica.Server == name {
			return replica.AvailabilityMode == v1alpha1.SynchronousCommit
		}
	}
	return false
}
