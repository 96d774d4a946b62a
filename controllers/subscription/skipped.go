// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// skippable are the errors that the agent's profile lets it skip.
func (d Desired) skippable() []string {
	if d.Profile == nil {
		return nil
	}
	var numbers []string
	for _, n := range d.Profile.SkipErrors {
		numbers = append(numbers, strconv.Itoa(int(n)))
	}
	return numbers
}

// withSkipped adds to a status what the agent has skipped since the subscriber has its copy. It stays there when the
// profile skips no more, because what was skipped stays missing; a new copy ends it, or that the data were brought in
// another way. A comparison does not: it reads only the articles that nobody has found equal before.
func withSkipped(d Desired, o Observed, s *v1alpha1.SubscriptionInitialization) *v1alpha1.SubscriptionInitialization {
	if s == nil || d.Publication == nil {
		return s
	}
	since := copied(d, o)
	if s.SkippedAt != nil && since != nil && !since.Before(s.SkippedAt) {
		s.Skipped, s.SkippedAt = "", nil
	}
	if o.Agent == nil {
		return s
	}
	if since == nil || since.Before(s.Time) {
		since = s.Time
	}
	at := metav1.NewTime(o.Now.Add(-o.Agent.ErrorAge)).Rfc3339Copy()
	if since != nil && !since.Before(&at) {
		return s
	}
	for _, number := range d.skippable() {
		if o.Agent.Met(number) == "" {
			continue
		}
		if have := split(s.Skipped); !slices.Contains(have, number) {
			s.Skipped = strings.Join(slices.Sorted(slices.Values(append(have, number))), ", ")
		}
		// The age is of whole seconds, read a moment before: a status that follows it would change at every look.
		if s.SkippedAt == nil || at.Sub(s.SkippedAt.Time) > time.Minute {
			s.SkippedAt = &at
		}
	}
	return s
}

func split(numbers string) []string {
	if numbers == "" {
		return nil
	}
	return strings.Split(numbers, ", ")
}

// skips says of an agent that skips errors, or has, what its progress does not say. It goes on with what it skipped
// left out, for good.
func skips(d Desired, o Observed) string {
	numbers := d.skippable()
	if s := d.Subscription.Status.Initialization; len(numbers) == 0 && s != nil && s.Skipped != "" && s.SkippedAt != nil {
		return fmt.Sprintf(
			"; its agent has skipped errors %s (the newest at %s): what it skipped is missing here until that is mended: %s",
			s.Skipped,
			s.SkippedAt.UTC().Format(time.RFC3339),
			d.renew(),
		)
	}
	if len(numbers) == 0 {
		return ""
	}
	newest := ""
	if a := o.Agent; a != nil {
		if code := a.Met(numbers...); code != "" {
			newest = fmt.Sprintf(" (the newest, %s, %s ago)", code, a.ErrorAge.Truncate(time.Second))
		}
	}
	return fmt.Sprintf(
		"; its agent's profile skips errors %s%s: what it skipped is missing here, and neither latency nor pending "+
			"commands tell of it",
		strings.Join(numbers, ", "),
		newest,
	)
}
