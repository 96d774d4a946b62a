// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"fmt"
	"time"

	"geosql.dev/operator/internal/reconcile/conditions"
)

// UnderWay is why a step is not done yet that takes longer than a worker waits: it goes on, and the next looks see how
// far it is. It is no failure, and the steps after it wait.
type UnderWay struct {
	// What goes on, and where.
	What string
	// Since when; zero where that is not known.
	Since time.Time
	// Percent that is done, as the server says; negative where it does not.
	Percent int
}

// Error says what goes on. It changes with the percents alone.
func (u *UnderWay) Error() string {
	text := u.What + " goes on"
	if !u.Since.IsZero() {
		text += " since " + u.Since.UTC().Format(time.RFC3339)
	}
	if u.Percent >= 0 {
		text += fmt.Sprintf(", %d %% done", u.Percent)
	}
	return text
}

// goesOn gives what is under way where nothing of an error is a failure.
func goesOn(err error) (*UnderWay, bool) {
	if u, ok := err.(*UnderWay); ok { //nolint:errorlint // what is wrapped is looked at below, all of it
		return u, true
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		return goesOn(e.Unwrap())
	case interface{ Unwrap() []error }:
		var first *UnderWay
		for _, one := range e.Unwrap() {
			u, ok := goesOn(one)
			if !ok {
				return nil, false
			}
			if first == nil {
				first = u
			}
		}
		return first, first != nil
	}
	return nil, false
}

// whileUnderWay is the outcome while a step is under way: what was planned, and how far it is.
func whileUnderWay(planned conditions.Outcome, u *UnderWay) conditions.Outcome {
	if planned.Progress == conditions.Settled {
		return planned
	}
	planned.Message += "; " + u.Error()
	return planned
}

func underWay(err error) bool {
	_, ok := goesOn(err)
	return ok
}
