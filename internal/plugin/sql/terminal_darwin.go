// SPDX-License-Identifier: Apache-2.0

package sql

import "golang.org/x/sys/unix"

// getSettings and setSettings are the requests for a terminal's settings (tcgetattr(3), tcsetattr(3)).
const getSettings, setSettings = unix.TIOCGETA, unix.TIOCSETA
