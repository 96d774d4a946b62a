// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Statuses with which commands exit that fail.
const (
	exitFailed = 1
	exitUsage  = 2
)

// ErrTold ends a command with status 1 of which everything was said already.
var ErrTold = errors.New("it failed, as was said before")

// usageError is a mistake in how a command was called: nothing was done.
type usageError struct{ error }

// Unwrap is the mistake.
func (e usageError) Unwrap() error { return e.error }

// Usage marks an error as a mistake in how a command was called: the status is 2.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// UsageIsTwo has a command exit with 2 where its arguments or flags are wrong.
func UsageIsTwo(cmd *cobra.Command) *cobra.Command {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error { return Usage(check(cmd, args)) }
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	return cmd
}

// Exit says of an error what is to be said, and returns the status to exit with.
func Exit(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, ErrTold) {
		// A server, or what stands between, may have chosen some of the words.
		fmt.Fprintln(w, "error: "+Said(err.Error()))
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}
