// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"net/http"
	"sync"
	"time"
)

// clockAge is how long a comparison of clocks counts. One that is older says nothing of a clock that was set since.
const clockAge = time.Minute

// Clock compares this process's clock with an API server's, by the time that stands in the server's answers (header
// Date, RFC 9110, section 6.6.1). Nothing is asked for it. A nil one has compared nothing.
type Clock struct {
	mu   sync.Mutex
	last ClockDifference
	// now is the process's clock.
	now func() time.Time
}

// NewClock is one that has compared nothing yet.
func NewClock() *Clock { return &Clock{now: time.Now} }

// ClockDifference is how far an API server's clock is ahead of this process's, within bounds: the header tells whole
// seconds, and the answer took its time. Negative is behind.
type ClockDifference struct {
	Least, Most time.Duration
	// At is when the clocks were compared, by this process's clock.
	At time.Time
}

// Apart is how far the clocks are apart at least: 0 when they may be the same, negative when the API server's is
// behind.
func (d ClockDifference) Apart() time.Duration {
	switch {
	case d.Least > 0:
		return d.Least
	case d.Most < 0:
		return d.Most
	}
	return 0
}

// Wrap makes a client's transport compare the clocks with every answer that tells a time.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		sent := c.now()
		response, err := next.RoundTrip(request)
		if err != nil {
			return response, err
		}
		if date, unreadable := http.ParseTime(response.Header.Get("Date")); unreadable == nil {
			c.note(date, sent, c.now())
		}
		return response, nil
	})
}

// note takes an answer in which the API server's clock stood within the second that begins with date. It was written
// after the question was sent and before the answer came.
func (c *Clock) note(date, sent, received time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = ClockDifference{Least: date.Sub(received), Most: date.Add(time.Second).Sub(sent), At: received}
}

// Difference is the newest comparison; false when there is none of the last minute.
func (c *Clock) Difference(now time.Time) (ClockDifference, bool) {
	if c == nil {
		return ClockDifference{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := now.Sub(c.last.At); c.last.At.IsZero() || age > clockAge || age < -clockAge {
		return ClockDifference{}, false
	}
	return c.last, true
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
