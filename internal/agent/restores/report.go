// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"time"

	"geosql.dev/operator/internal/backup"
)

// shownMost is how many sets of a chain are shown: as many of its begin as of its end.
const shownMost = 64

// keysMost is how many files of a set are shown.
const keysMost = 8

// Steps of a Status.
const (
	Choosing    = "Choosing"
	Downloading = "Downloading"
	Restoring   = "Restoring"
	Recovering  = "Recovering"
	Checking    = "Checking"
	Ended       = "Ended"
	// Unread is of no Restore: the sidecar has not read its orders yet.
	Unread = "Unread"
)

// Status of one Restore at this server, as /status shows it.
type Status struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Step is what comes next, one of the words below.
	Step string `json:"step"`
	// Failing says why that is tried again or waited for; empty when it is not.
	Failing string `json:"failing,omitempty"`
	// Database that is made, and the store that the sets are in; empty before the chain is known.
	Database string `json:"database,omitempty"`
	Store    string `json:"store,omitempty"`
	// Sets of the chain, of which Chain shows the first and the last ones; Bytes that all have.
	Sets  int         `json:"sets,omitempty"`
	Chain []SetStatus `json:"chain,omitempty"`
	Bytes int64       `json:"bytes,omitempty"`
	// Downloaded bytes; Restored sets.
	Downloaded int64 `json:"downloaded,omitempty"`
	Restored   int   `json:"restored,omitempty"`
	// ToTime and ToLSN are to where the chain takes the database: a moment, and the position behind the last set where all
	// of it is restored.
	ToTime time.Time `json:"toTime,omitzero"`
	ToLSN  string    `json:"toLSN,omitempty"`
	// Unused are backups that files have which are not restored, of many the first; UnusedSets is how many there are.
	Unused     []backup.Unused `json:"unused,omitempty"`
	UnusedSets int             `json:"unusedSets,omitempty"`
	// Lacks are the thumbprints, in hexadecimal digits, of the certificates that it waits for: what the sets are encrypted
	// by and the server does not have.
	Lacks []string `json:"lacks,omitempty"`
	// Started is when the order was taken up.
	Started time.Time `json:"started,omitzero"`
	// Denied says that the engine does not let the agent check the database: it is not its own within it.
	Denied bool `json:"denied,omitempty"`
	// Checked says that the engine has checked it and found nothing.
	Checked bool `json:"checked,omitempty"`
	// Result is how it ended; nil while it goes on.
	Result *Result `json:"result,omitempty"`
}

// SetStatus is a set of a chain.
type SetStatus struct {
	ID       string      `json:"id"`
	Kind     backup.Kind `json:"kind"`
	FirstLSN string      `json:"firstLSN"`
	LastLSN  string      `json:"lastLSN"`
	Finished time.Time   `json:"finished"`
	Bytes    int64       `json:"bytes"`
	// Files are the keys of the objects that have it, where any server wrote them, and Position its place in them.
	Files    []string `json:"files,omitempty"`
	Position int      `json:"position,omitempty"`
}

func (r *runner) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.record
	s := Status{Name: r.order.Name, UID: r.order.UID, Step: stepOf(k), Failing: r.failing, Database: k.Database,
		Store: k.Store, Sets: len(k.Plan.Sets), Bytes: k.Plan.Stored(), Restored: k.Restored, Started: k.Started,
		Result: k.Result, Denied: r.denied, Checked: k.Checked, ToTime: k.Plan.Until, Lacks: r.lacks,
		Downloaded: max(r.downloaded, backup.Plan{Sets: k.Plan.Sets[:k.Downloaded]}.Stored())}
	for n, d := range k.Plan.Sets {
		if len(k.Plan.Sets) > shownMost && n >= shownMost/2 && n < len(k.Plan.Sets)-shownMost/2 {
			continue
		}
		shown := SetStatus{ID: d.ID, Kind: d.Kind, FirstLSN: string(d.FirstLSN), LastLSN: string(d.LastLSN),
			Finished: d.Finished, Bytes: d.Stored()}
		if len(k.Positions) > n {
			shown.Files, shown.Position = k.keys(d), k.Positions[n]
		}
		s.Chain = append(s.Chain, shown)
	}
	k.gathered(&s, r.downloaded)
	switch n := len(k.Plan.Sets); {
	case n == 0:
	case k.Plan.StopBefore != "":
		s.ToLSN, s.ToTime = string(k.Plan.StopBefore), time.Time{}
	case k.Plan.StopAt.IsZero():
		s.ToLSN = string(k.Plan.Sets[n-1].LastLSN)
	}
	return s
}

// gathered adds what is known of files that any server wrote: all of them are downloaded, to see what they have.
func (k record) gathered(s *Status, downloaded int64) {
	if len(k.Files) == 0 {
		return
	}
	s.Bytes, s.Downloaded = k.total(), max(k.whole(), downloaded)
	s.Unused, s.UnusedSets = k.Unused[:min(len(k.Unused), shownMost)], len(k.Unused)
}

// keys are those of the objects that have a set, of many the first.
func (k record) keys(d backup.Description) (keys []string) {
	for _, file := range d.Files[:min(len(d.Files), keysMost)] {
		for _, f := range k.Files {
			if f.Name == file.Name {
				keys = append(keys, f.Key)
			}
		}
	}
	return keys
}

func stepOf(k record) string {
	switch {
	case k.Result != nil:
		return Ended
	case len(k.Plan.Sets) == 0 && k.whole() < k.total():
		return Downloading
	case len(k.Plan.Sets) == 0:
		return Choosing
	case k.Downloaded < len(k.Plan.Sets):
		return Downloading
	case k.Restored < len(k.Plan.Sets):
		return Restoring
	case k.Checking && !k.Checked:
		return Checking
	}
	return Recovering
}
