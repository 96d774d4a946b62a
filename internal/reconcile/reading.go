// SPDX-License-Identifier: Apache-2.0

package reconcile

import "errors"

// errNotRead is why a Reading that nobody made has no value.
var errNotRead = errors.New("it was not read")

// Reading is what a server was asked for: its answer, or why there is none. The zero value was not read. An answer that
// never came looks like "there is none" in every other type, and whoever deletes by it lets go of what is still there;
// so the value cannot be had without the error.
type Reading[T any] struct {
	value T
	read  bool
	err   error
}

// Read is an answer, also one that says that there is nothing.
func Read[T any](value T) Reading[T] { return Reading[T]{value: value, read: true} }

// NotRead is a reading without an answer; err says of which server and why.
func NotRead[T any](err error) Reading[T] { return Reading[T]{err: err} }

// Asked is what became of a question: the answer, or why there is none.
func Asked[T any](answer T, err error) Reading[T] {
	if err != nil {
		return NotRead[T](err)
	}
	return Read(answer)
}

// Get gives the answer; an error says that there is none, and the value then means nothing.
func (r Reading[T]) Get() (T, error) {
	switch {
	case r.read:
		return r.value, nil
	case r.err != nil:
		return r.value, r.err
	}
	return r.value, errNotRead
}

// Err is why there is no answer, nil when there is one.
func (r Reading[T]) Err() error {
	_, err := r.Get()
	return err
}
