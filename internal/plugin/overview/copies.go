// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
)

const (
	// copyShown is how long a copy that is done is still shown.
	copyShown = 10 * time.Minute
	// barLength of a whole copy, in characters.
	barLength = 20
)

// writeCopies says how far the copies of subscribers are, and what those took that have just come.
func (s *Snapshot) writeCopies(out io.Writer, now time.Time) {
	for i := range s.Subscriptions {
		x := &s.Subscriptions[i]
		if text := copying(x.Status.Copy, now); text != "" {
			fmt.Fprint(out, wrap(fmt.Sprintf("copy of %s: %s", s.qualified(x.Namespace, x.Name), text), "  "))
		}
	}
}

// copying is a copy in words, with a bar of what is at the subscriber's site; empty where nothing is to be said.
func copying(c *v1alpha1.SubscriptionCopy, now time.Time) string {
	if c == nil || c.PhaseStarted == nil {
		return ""
	}
	since := replication.Rounded(now.Sub(c.PhaseStarted.Time))
	text := fmt.Sprintf("%s for %s", strings.ToLower(string(c.Phase)), since)
	switch {
	case c.Phase == v1alpha1.CopyDone && since > copyShown:
		return ""
	case c.Phase == v1alpha1.CopyDone:
		text = fmt.Sprintf("done %s ago", since)
	case c.Phase == v1alpha1.CopyTransfer && c.Bytes > 0:
		part := float64(c.PresentBytes) / float64(c.Bytes)
		full := min(barLength, int(part*barLength))
		text = fmt.Sprintf("[%s%s] %d %%, %s", strings.Repeat("#", full), strings.Repeat(".", barLength-full),
			int(part*100), text)
		text += "; " + replication.CopyWords(c)
	}
	if took := replication.CopyTook(c); took != "" {
		text += "; " + took
	}
	return text
}
