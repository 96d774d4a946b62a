// SPDX-License-Identifier: Apache-2.0

package reconcile

import "fmt"

// Evidence names what was seen in the place of what a step takes away: why nothing that is needed goes with it. There
// is none without the readings that it rests on, each of which may have failed; the zero value is none.
type Evidence struct {
	seen string
	err  error
}

// Seen is evidence of what was seen by readings, whose errors are given, nil for those that were answered.
func Seen(what string, read error, more ...error) Evidence {
	for _, err := range append([]error{read}, more...) {
		if err != nil {
			return Evidence{err: err}
		}
	}
	return Evidence{seen: what}
}

// Err says why there is none, nil where there is.
func (e Evidence) Err() error {
	switch {
	case e.err != nil:
		return e.err
	case e.seen == "":
		return errNotRead
	}
	return nil
}

// Unproved takes the place of a step for which there was no evidence. It is never carried out: a plan that has one is
// not done, and its object says why.
type Unproved struct {
	Step
	Err error
}

// Describe says what is not done.
func (s Unproved) Describe() string { return "not without evidence: " + s.Step.Describe() }

// refused is the failure of a step that has no evidence.
func refused(s any) error {
	if u, ok := s.(Unproved); ok {
		return fmt.Errorf("what makes it safe was not read: %w", u.Err)
	}
	return nil
}

// Destroy adds a step that takes something away, with the evidence that makes it safe.
func (p *Plan) Destroy(e Evidence, s Step) { p.Add(e.proved(s)) }

// DestroyBeside is Destroy for a step that nothing else depends on, as Beside is Add.
func (p *Plan) DestroyBeside(e Evidence, s Step, reason string) { p.Beside(e.proved(s), reason) }

// proved is a step for which there is the evidence.
func (e Evidence) proved(s Step) Step {
	if err := e.Err(); err != nil {
		return Unproved{Step: s, Err: err}
	}
	return s
}
