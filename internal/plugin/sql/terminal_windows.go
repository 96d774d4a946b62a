// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// settings are the modes of a console's two ends.
type settings struct{ in, out uint32 }

// settingsOf reads them.
func settingsOf(in, out *os.File) (s settings, err error) {
	err = errors.Join(
		windows.GetConsoleMode(windows.Handle(in.Fd()), &s.in),
		windows.GetConsoleMode(windows.Handle(out.Fd()), &s.out),
	)
	return s, err
}

// typed are the same where keys come as they are typed, without an echo, and arrows and colours in the sequences that
// the editor knows. With signals, Ctrl-C is a signal.
func (s settings) typed(signals bool) settings {
	s.in &^= windows.ENABLE_LINE_INPUT | windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT
	s.in |= windows.ENABLE_VIRTUAL_TERMINAL_INPUT
	if signals {
		s.in |= windows.ENABLE_PROCESSED_INPUT
	}
	s.out |= windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	return s
}

// apply gives them to the console.
func (s settings) apply(in, out *os.File) error {
	return errors.Join(
		windows.SetConsoleMode(windows.Handle(in.Fd()), s.in),
		windows.SetConsoleMode(windows.Handle(out.Fd()), s.out),
	)
}
