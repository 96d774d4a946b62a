// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"errors"
	"sync"
	"time"
)

// settleTime is how long a new process waits for its first answer of a site before it says that there is none.
const settleTime = 15 * time.Second

// Settling is the while after a process has begun to reach for the sites. What was reported before stays meanwhile, so
// that a restarted manager does not call everything into doubt. The zero value begins with its first use.
type Settling struct {
	begin sync.Once
	began time.Time
}

// Of tells that a site may only be unknown because this process has just begun.
func (s *Settling) Of(err error, now time.Time) bool {
	s.begin.Do(func() { s.began = now })
	if err == nil || now.Sub(s.began) > settleTime {
		return false
	}
	var silent *UnreachableError
	return errors.Is(err, ErrUnknownSite) || errors.As(err, &silent) && silent.Since.IsZero()
}
