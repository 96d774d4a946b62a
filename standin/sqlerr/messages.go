// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"fmt"
	"strings"

	"geosql.dev/standin/catalog"
)

// New makes the error of that number with its documented severity and its text, args filling the text's parameters
// in the order of catalog.Error(number).Parameters. state tells apart the places that raise the number, from 1. The
// caller (the engine) adds Procedure and Line. A number that has no text here still gives its number and severity,
// with the parameters as its text: an error is never lost for want of words.
func New(number int32, state uint8, args ...any) *Error {
	return &Error{Number: number, Class: Severity(number), State: state, Message: Text(number, args...)}
}

// Raise is New for an error that a procedure raises because its call failed. Some messages that are listed with
// severity 10 are raised with 16 by system procedures (RAISERROR(20608, 16, -1)).
func Raise(number int32, state uint8, args ...any) *Error {
	e := New(number, state, args...)
	if e.Class <= 10 {
		e.Class = 16
	}
	return e
}

// UnsupportedNumber is that of Unsupported.
const UnsupportedNumber = 40517

// Unsupported is error 40517, for T-SQL that SQL Server has and the stand-in has not.
func Unsupported(what string) *Error {
	return &Error{
		Number:  UnsupportedNumber,
		Class:   16,
		State:   1,
		Message: what + " is not supported by the stand-in engine (see its README, Limits).",
	}
}

// Internal is for what must not happen; it says so without leaking more than the Go error's text.
func Internal(err error) *Error {
	return &Error{
		Number:  565,
		Class:   18,
		State:   1,
		Message: "A severe error occurred in the stand-in engine: " + err.Error(),
	}
}

// At sets the line, also in the texts that tell it (1001, 1002), and returns the same error.
func (e *Error) At(line int32) *Error {
	if e == nil {
		return nil
	}
	e.Line = line
	if _, what, ok := strings.Cut(e.Message, ": "); ok && (e.Number == 1001 || e.Number == 1002) {
		e.Message = fmt.Sprintf("Line %d: %s", line, what)
	}
	return e
}

// Severity is the documented severity of a message, 16 for an unknown one.
func Severity(number int32) uint8 {
	if info, ok := catalog.Error(number); ok {
		return info.Severity
	}
	if s, ok := notListed[number]; ok {
		return s.severity
	}
	return 16
}

// Text is the text of a message with its parameters filled in.
func Text(number int32, args ...any) string {
	format, ok := formats[number]
	if !ok {
		gist := "The statement was refused."
		if info, known := catalog.Error(number); known {
			gist = info.Gist
		}
		if len(args) > 0 {
			return fmt.Sprintf("%s %v", gist, args)
		}
		return gist
	}
	return fmt.Sprintf(format, args...)
}
