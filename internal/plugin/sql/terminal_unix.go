// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package sql

import (
	"os"

	"golang.org/x/sys/unix"
)

// settings are those of a terminal.
type settings struct{ termios unix.Termios }

// settingsOf reads them.
func settingsOf(in, _ *os.File) (settings, error) {
	termios, err := unix.IoctlGetTermios(descriptor(in), getSettings)
	if err != nil {
		return settings{}, err
	}
	return settings{*termios}, nil
}

// typed are the same where keys come as they are typed, without an echo. With signals, Ctrl-C is a signal.
func (s settings) typed(signals bool) settings {
	s.termios.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.IEXTEN | unix.ISIG
	s.termios.Iflag &^= unix.IXON | unix.ICRNL
	s.termios.Cc[unix.VMIN], s.termios.Cc[unix.VTIME] = 1, 0
	if signals {
		s.termios.Lflag |= unix.ISIG
	}
	return s
}

// apply gives them to the terminal.
func (s settings) apply(in, _ *os.File) error {
	return unix.IoctlSetTermios(descriptor(in), setSettings, &s.termios)
}
