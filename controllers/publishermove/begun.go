// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// noteThere is what sp_addextendedproperty refuses with when the note is there.
const noteThere = 15233

// Begun is a note, in the database of a new publisher, that a move there was begun. A PublisherMove that comes back
// from a backup or a repository, without its status and with another UID, is known by it: its effect is there.
type Begun struct {
	// Noted tells that there is one.
	Noted bool
	// By is the UID of the PublisherMove that was begun.
	By types.UID
}

// noteName is the note's name: of the move's name and what it asks for. Both do not fit, so it has their hash.
func noteName(m *v1alpha1.PublisherMove) string {
	asked := strings.Join([]string{m.Namespace, m.Name, string(m.Spec.Publication), string(m.Spec.To),
		string(m.Spec.Distributor)}, "/")
	sum := sha256.Sum256([]byte(asked))
	return "geosql.dev PublisherMove " + hex.EncodeToString(sum[:16])
}

// noteValue says by which object the move was begun.
func noteValue(m *v1alpha1.PublisherMove) string {
	return fmt.Sprintf("%s %s/%s publishes %s from %s", m.UID, m.Namespace, m.Name, m.Spec.Publication, m.Spec.To)
}

// noteDatabase is the database at the new publisher that has the note: the copy, or what it publishes already; empty
// while nobody knows.
func (d Desired) noteDatabase() string {
	if database := d.targetDatabase(); database != "" || d.Publication.Spec.Publisher.Server != d.Move.Spec.To {
		return database
	}
	return string(d.Publication.Spec.Database)
}

// observeBegun reads the note.
func observeBegun(ctx context.Context, engines replication.Engines, d Desired) reconcile.Reading[Begun] {
	database := d.noteDatabase()
	if database == "" {
		return reconcile.NotRead[Begun](errors.New("it is not known which database is to publish"))
	}
	var b Begun
	err := engines.Read(ctx, d.Move.Spec.To, database, func(ctx context.Context, db *mssql.DB) error {
		value, found, err := mssql.ReadDatabaseNote(ctx, db, noteName(d.Move))
		by, _, _ := strings.Cut(value, " ")
		b = Begun{Noted: found, By: types.UID(by)}
		return err
	})
	return reconcile.Asked(b, err)
}

// again tells that a move of the name, which was another object and asked for the same, was begun before. What its own
// status has of its steps is this object's record, also if it came from a backup: it goes on.
func (d Desired) again(o Observed) bool {
	s := d.Move.Status
	if s.Timeline != nil && s.Timeline.Drained != nil {
		return false
	}
	if d.switched() && s.From == nil {
		return true
	}
	b, err := o.Begun.Get()
	return err == nil && b.Noted && b.By != d.Move.UID
}

// planAgain ends a move that has come back without its status.
func planAgain(d Desired, o Observed, p *replication.Plan) bool {
	if !d.again(o) {
		return true
	}
	return settle(p, v1alpha1.MoveCompleted, carriedOut(d))
}

// carriedOut says what became of a move that has come back.
func carriedOut(d Desired) conditions.Outcome {
	if d.switched() && d.Publication.Spec.Publisher.Server == d.Move.Spec.To {
		return conditions.Ready(v1alpha1.ReasonCarriedOut, fmt.Sprintf(
			"it was carried out before, by an object of this name: %s publishes %s. Nothing is done again",
			credentials.HostName(d.Move.Spec.To), d.Move.Spec.Publication))
	}
	if d.switched() {
		return conditions.Stalled(v1alpha1.ReasonCarriedOut, fmt.Sprintf(
			"a PublisherMove of this name was carried out before, and not to %s: nothing is done. Make one of another name",
			d.Move.Spec.To))
	}
	return conditions.Stalled(v1alpha1.ReasonCarriedOut, fmt.Sprintf(
		"a PublisherMove of this name that asked for the same was begun before, by the word of the database at %s; this one "+
			"has come back without its status, and is not carried out again. Delete it; if %s is to publish %s now, make one "+
			"of another name", credentials.HostName(d.Move.Spec.To), d.Move.Spec.To, d.Move.Spec.Publication))
}

// planNote has the new publisher's database note that the move is begun, before its first step.
func planNote(d Desired, o Observed, p *replication.Plan) bool {
	if d.switched() {
		return true
	}
	b, err := o.Begun.Get()
	if err != nil {
		return settle(p, v1alpha1.MoveSwitching, conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, fmt.Sprintf(
			"whether a move of this name was begun before is not known: %v", err)))
	}
	if !b.Noted {
		p.Execute(d.Move.Spec.To, d.noteDatabase(), tsql.NoteInDatabase(noteName(d.Move), noteValue(d.Move)), noteThere)
	}
	return stopIfSteps(p, v1alpha1.MoveSwitching, v1alpha1.ReasonSwitching, "that the move is begun is being noted")
}
