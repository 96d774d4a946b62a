// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// AnnotationCarriedOut is a JSON array of the last Failovers that were carried out, newest last. An object that comes
// back from a backup or a repository without its status, and with another UID, is known by it.
const AnnotationCarriedOut = "geosql.dev/carried-out"

// carriedOutKept is how many are kept; an annotation has to share 256 KiB with others.
const carriedOutKept = 64

// CarriedOut is a Failover that agents have begun with.
type CarriedOut struct {
	// Name of the Failover, and a hash of its Spec: another one of the name that asks for something else is another
	// request.
	Name string `json:"name"`
	Spec string `json:"spec"`
	// ID of its request, the UID that it had.
	ID string `json:"id"`
	// At is when it was asked for.
	At time.Time `json:"at"`
}

// ParseCarriedOut reads what a Lease's annotations say was carried out.
func ParseCarriedOut(annotations map[string]string) ([]CarriedOut, error) {
	text := annotations[AnnotationCarriedOut]
	if text == "" {
		return nil, nil
	}
	var all []CarriedOut
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", AnnotationCarriedOut, err)
	}
	return all, nil
}

// NoteCarriedOut adds those that are missing to a Lease's annotations and keeps the newest. It tells whether anything
// is new.
func NoteCarriedOut(annotations map[string]string, more []CarriedOut) bool {
	// What nobody can read is written anew.
	all, _ := ParseCarriedOut(annotations)
	before := len(all)
	for _, c := range more {
		if !slices.ContainsFunc(all, func(o CarriedOut) bool { return o.ID == c.ID }) {
			all = append(all, c)
		}
	}
	if len(all) == before {
		return false
	}
	slices.SortStableFunc(all, func(a, b CarriedOut) int { return a.At.Compare(b.At) })
	annotations[AnnotationCarriedOut] = EncodeNote(all[max(0, len(all)-carriedOutKept):])
	return true
}
