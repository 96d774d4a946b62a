// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// skips are the errors that a subscription's agent skips by its profile, or has skipped since the subscriber has its
// copy, empty when there are none.
func (d Desired) skips(s v1alpha1.Subscription) string {
	var numbers []string
	for _, n := range d.SkippedErrors[s.Name] {
		numbers = append(numbers, strconv.Itoa(int(n)))
	}
	if i := s.Status.Initialization; i != nil && i.Skipped != "" {
		for _, number := range strings.Split(i.Skipped, ", ") {
			if !slices.Contains(numbers, number) {
				numbers = append(numbers, number)
			}
		}
	}
	return strings.Join(numbers, ", ")
}

// content is what a comparison by rows has shown of a copy, and when. The one with a publisher that lives was made for
// this move; the others are those of the Subscription's own controller.
func content(d Desired, o Observed, s v1alpha1.Subscription) (v1alpha1.MoveContent, *metav1.Time) {
	if o.Comparison != nil && o.ReadOnly != "" && s.Name == d.targetSubscription() {
		at := metav1.NewTime(o.Now).Rfc3339Copy()
		if o.Compared != nil {
			at = metav1.NewTime(o.Compared.At).Rfc3339Copy()
		}
		switch {
		case o.Comparison.Equal:
			return v1alpha1.ContentEqual, &at
		case o.Comparison.Steady && !o.Comparison.Impossible:
			return v1alpha1.ContentDiffers, &at
		}
	}
	switch i := s.Status.Initialization; {
	case i == nil || !d.From.Has(i.Publisher) || i.RestoredAt != nil:
	case i.Differs != "":
		return v1alpha1.ContentDiffers, i.DiffersSince
	case i.Validated != nil:
		return v1alpha1.ContentEqual, i.Validated
	}
	return v1alpha1.ContentNotCompared, nil
}

// contents says in words what is known of the rows of the copy that is to publish.
func contents(own v1alpha1.MoveEvidence, to string) string {
	var text string
	switch own.Content {
	case v1alpha1.ContentEqual:
		text = fmt.Sprintf("Its rows were the former publisher's, by a hash of every row, at %s; since then they were not "+
			"compared.", moment(own.Compared))
	case v1alpha1.ContentDiffers:
		text = fmt.Sprintf("Its rows are not the former publisher's: a comparison has shown a difference since %s.",
			moment(own.Compared))
	default:
		text = fmt.Sprintf("Its rows were not compared with the former publisher's: what was delivered does not say that %s "+
			"has it.", to)
	}
	if own.Skips != "" {
		text += fmt.Sprintf(" Its agent skips errors %s, or has: changes that met one of them are missing in it.", own.Skips)
	}
	return text
}

// rowCounts are the rows of the copies that were counted, empty when all have as many.
func rowCounts(all []v1alpha1.MoveEvidence) string {
	var lines []string
	counts := map[int64]bool{}
	for _, e := range all {
		if e.Rows != nil {
			counts[*e.Rows] = true
			lines = append(lines, fmt.Sprintf("%s %d", credentials.HostName(e.Server), *e.Rows))
		}
	}
	if len(counts) < 2 {
		return ""
	}
	return strings.Join(lines, ", ")
}
