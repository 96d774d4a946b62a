// SPDX-License-Identifier: Apache-2.0

// Package sqlerr has SQL Server's errors: number, severity, state and a text in SQL Server's manner.
package sqlerr

import "fmt"

// Error is an error or informational message as a client of the server sees it.
type Error struct {
	// Number identifies the message (sys.messages); 50000 is a user's own.
	Number int32
	// Class is the severity, 0 to 25; up to 10 is informational.
	Class uint8
	// State tells apart the places that raise one number, 0 to 255.
	State uint8
	// Message is the text with its parameters filled in.
	Message string
	// Procedure is the stored procedure that raised it, empty outside one.
	Procedure string
	// Line is the line in the batch or procedure, from 1; 0 when it is not known.
	Line int32
	// Offset is the byte of the batch, from 1, that an error of its text is near; 0 when it is not known. Clients are not
	// told.
	Offset int
	// Before are errors of the same statement that clients are told first; a CATCH block knows the last one alone.
	Before []*Error
}

// Together is the last of several errors of one statement with the others before it, nil for none.
func Together(list []*Error) *Error {
	if len(list) == 0 {
		return nil
	}
	last := *list[len(list)-1]
	last.Before = append([]*Error(nil), list[:len(list)-1]...)
	return &last
}

// Error makes Error an error: "Msg 208, Level 16, State 1: Invalid object name 'x'."
func (e *Error) Error() string {
	return fmt.Sprintf("Msg %d, Level %d, State %d: %s", e.Number, e.Class, e.State, e.Message)
}
