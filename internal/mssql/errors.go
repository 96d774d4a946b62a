// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	driver "github.com/microsoft/go-mssqldb"
)

// Class says what is known after an error.
type Class string

const (
	// Refused: the server executed the batch up to the error and said no; Number says why.
	Refused Class = "Refused"
	// LoginFailed: the server answers and does not let the login in.
	LoginFailed Class = "LoginFailed"
	// Unreachable: no connection was made, so nothing was executed.
	Unreachable Class = "Unreachable"
	// Untrusted: the server's certificate is not signed by the CA or not for its name; nothing was sent.
	Untrusted Class = "Untrusted"
	// Retryable: the server said no for a reason that passes by itself.
	Retryable Class = "Retryable"
	// Unknown: the deadline passed or the connection broke; the statement may have been executed or not.
	Unknown Class = "Unknown"
)

// Error is what a call to a server ended with.
type Error struct {
	// Server is the instance's name.
	Server string
	// Doing is what was attempted.
	Doing string
	// Class says what is known.
	Class Class
	// Number is SQL Server's error number, 0 when the error is not the server's.
	Number int32
	// Err is the driver's error.
	Err error
}

// Error says what was attempted on which server.
func (e *Error) Error() string {
	if e.Class == Unknown {
		return fmt.Sprintf("%s on server %s: outcome unknown: %v", e.Doing, e.Server, e.Err)
	}
	return fmt.Sprintf("%s on server %s: %v", e.Doing, e.Server, e.Err)
}

// Unwrap is the driver's error.
func (e *Error) Unwrap() error { return e.Err }

// Is tells whether err is an error of the class.
func Is(err error, class Class) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == class
}

// Number is SQL Server's error number in err, 0 when there is none.
func Number(err error) int32 {
	var e driver.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// HasNumber tells whether err, or any of the errors the server sent with it, has one of the numbers.
func HasNumber(err error, numbers ...int32) bool {
	var e driver.Error
	if !errors.As(err, &e) {
		return false
	}
	return slices.Contains(numbers, e.Number) ||
		slices.ContainsFunc(e.All, func(one driver.Error) bool { return slices.Contains(numbers, one.Number) })
}

func newError(server, doing string, err error) *Error {
	return &Error{Server: server, Doing: doing, Class: classify(err), Number: Number(err), Err: err}
}

// Login errors: 18456 login failed, 18470 disabled, 18486 locked out, 18487 expired, 18488 must change password,
// 18452 untrusted domain, 4060 and 4064 database cannot be opened, 916 no access to the database.
var loginErrors = []int32{18456, 18470, 18486, 18487, 18488, 18452, 4060, 4064, 916}

// Errors that pass by themselves: 1205 deadlock victim, 1222 lock time-out, 701 and 8645 memory, 921 and 922 database
// is recovering, 983 replica is resolving, 988 no quorum for the database, 1807 model is locked, 5061 exclusive lock on
// the database, 17830 and 17197 network during login, 17142 paused, 18401 upgrade scripts are running, 47106 no answer
// from the primary.
var passingErrors = []int32{1205, 1222, 701, 8645, 921, 922, 983, 988, 1807, 5061, 17830, 17197, 17142, 18401, 47106}

func classify(err error) Class {
	var (
		server    driver.Error
		dial      *net.OpError
		name      *net.DNSError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &server):
		switch {
		case HasNumber(err, loginErrors...):
			return LoginFailed
		case HasNumber(err, passingErrors...):
			return Retryable
		}
		return Refused
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid), errors.As(err, &verify),
		// The driver keeps only the text of a failed handshake.
		strings.Contains(err.Error(), "tls: failed to verify certificate"):
		return Untrusted
	case errors.As(err, &name):
		return Unreachable
	case errors.As(err, &dial) && dial.Op == "dial":
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled),
		errors.Is(err, os.ErrDeadlineExceeded):
		return Unknown
	}
	return Unknown
}
