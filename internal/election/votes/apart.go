// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// annotationApart is on a group's Leases from the first quarantined replica on.
const annotationApart = "geosql.dev/apart"

// Apart is a replica that a forced failover left with log that nobody else has. It is kept as it is until a person
// decides.
type Apart struct {
	// Server of the replica.
	Server string `json:"server"`
	// Term that was forced.
	Term int64 `json:"term"`
	// Databases of the replica that have such log.
	Databases []ApartDatabase `json:"databases,omitempty"`
	// Over says that a person has decided: the replica follows again, or is to be seeded anew.
	Over bool `json:"over,omitempty"`
}

// ApartDatabase is what a quarantined replica alone has of a database. LSNs are numeric(25,0) as the engine shows them.
type ApartDatabase struct {
	Name string `json:"name"`
	// FromLSN is the end of the log that the new primary began with.
	FromLSN string `json:"fromLSN,omitempty"`
	// ToLSN is the end of this replica's log.
	ToLSN string `json:"toLSN,omitempty"`
	// LastCommit is the time of the last commit that the replica has, nil when it is not known.
	LastCommit *metav1.MicroTime `json:"lastCommit,omitempty"`
}

// QuarantinedReplicas are those that the notes of several votes tell of together, at most one entry per server: the
// newest term's, and within a term that which is over. What cannot be read is left out.
func QuarantinedReplicas(records ...Record) []Apart {
	var all []Apart
	for _, r := range records {
		if one, err := ParseApart(r.Notes.Apart); err == nil {
			all = MergeApart(all, one)
		}
	}
	return all
}

// ParseApart reads the quarantined replicas that a note tells of.
func ParseApart(text string) ([]Apart, error) {
	if text == "" {
		return nil, nil
	}
	var all []Apart
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", annotationApart, err)
	}
	return all, nil
}

// MergeApart puts more among them: of one server the newest term counts, and within a term that which is over.
func MergeApart(all, more []Apart) []Apart {
	for _, a := range more {
		i := slices.IndexFunc(all, func(b Apart) bool { return strings.EqualFold(a.Server, b.Server) })
		switch {
		case i < 0:
			all = append(all, a)
		case a.Term > all[i].Term || a.Term == all[i].Term && a.Over && !all[i].Over:
			all[i] = a
		}
	}
	return all
}

// Complete is the lost range of a timeline with what quarantined replicas have told since: the end of the log that they
// alone have. The range is known once the server that held the term before has told; nil when nothing was forced.
func (t Timeline) Complete(quarantined []Apart) *LostRange {
	if t.Lost == nil {
		return nil
	}
	lost := LostRange{Known: t.Lost.Known, Databases: slices.Clone(t.Lost.Databases)}
	for _, a := range quarantined {
		if a.Term != t.Term {
			continue
		}
		lost.Known = lost.Known || strings.EqualFold(a.Server, t.From)
		for _, d := range a.Databases {
			for i := range lost.Databases {
				if one := &lost.Databases[i]; one.Name == d.Name && CompareLSN(d.ToLSN, one.ToLSN) > 0 {
					one.ToLSN, one.OldLastCommit = d.ToLSN, d.LastCommit
				}
			}
		}
	}
	return &lost
}
