// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// retransmission is after which TCP repeats the first packet of a connection (RFC 6298, section 2): a connection that took
// longer has lost one.
const retransmission = 900 * time.Millisecond

// lossSeen is how many lost packets must be expected of the attempts before their absence says something.
const lossSeen = 5

// NetworkEffect judges whether a fault of the network was seen by probes: figures from before it and from while it lasts.
// It is Unknown while there is not enough to tell.
func NetworkEffect(o Occurrence, before, during []v1alpha1.ProbeFigures) (metav1.ConditionStatus, string) {
	pairs := pairsOf(before, during)
	if len(pairs) == 0 {
		return metav1.ConditionUnknown, "no probe came through before the fault, so none can tell"
	}
	if o.Kind == v1alpha1.FaultPartition {
		return partitioned(pairs)
	}
	return emulated(o, pairs)
}

// emulated judges each part that was asked for and that probes can see; it is True when all of them were seen.
func emulated(o Occurrence, pairs []pair) (metav1.ConditionStatus, string) {
	n, status := o.Network, metav1.ConditionTrue
	var texts []string
	add := func(s metav1.ConditionStatus, text string) {
		texts = append(texts, text)
		if status != metav1.ConditionFalse && s != metav1.ConditionTrue {
			status = s
		}
	}
	if n.Latency != nil {
		add(delayed(o, pairs))
	}
	if n.Loss+n.Corrupt > 0 {
		add(lossy(int(max(n.Loss, n.Corrupt)), pairs))
	}
	const unseen = "probes open connections: they do not see duplicates or bandwidth"
	if len(texts) == 0 {
		return metav1.ConditionUnknown, unseen
	}
	if n.Duplicate > 0 || n.Rate != "" {
		texts = append(texts, unseen)
	}
	return status, strings.Join(texts, "; ")
}

// pair is one probe before and during the fault.
type pair struct{ before, during v1alpha1.ProbeFigures }

// pairsOf are the probes that came through before the fault.
func pairsOf(before, during []v1alpha1.ProbeFigures) []pair {
	var pairs []pair
	for _, d := range during {
		if d.Attempts == 0 {
			continue
		}
		i := slices.IndexFunc(before, func(b v1alpha1.ProbeFigures) bool { return b.From == d.From && b.To == d.To })
		if i >= 0 && before[i].Failures < before[i].Attempts {
			pairs = append(pairs, pair{before[i], d})
		}
	}
	return pairs
}

func partitioned(pairs []pair) (metav1.ConditionStatus, string) {
	for _, p := range pairs {
		if p.during.Failures < p.during.Attempts {
			return metav1.ConditionFalse, fmt.Sprintf("%s reached %s in %d of %d attempts", p.during.From, p.during.To, p.during.Attempts-p.during.Failures, p.during.Attempts)
		}
	}
	return metav1.ConditionTrue, fmt.Sprintf("none of %d probed ways was open, %s to %s for one", len(pairs), pairs[0].during.From, pairs[0].during.To)
}

func delayed(o Occurrence, pairs []pair) (metav1.ConditionStatus, string) {
	added := o.Network.Latency.Duration
	if o.Direction == "" || o.Direction == v1alpha1.DirectionBoth {
		added *= 2
	}
	text, answered := "", 0
	for _, p := range pairs {
		if p.during.Connect == nil {
			continue
		}
		answered++
		was, is := orDefault(p.before.Connect, 0), p.during.Connect.Duration
		text = fmt.Sprintf("%s to %s took %s instead of %s, %s more were asked for", p.during.From, p.during.To, is.Round(time.Millisecond), was.Round(time.Millisecond), added)
		if is-was < added/2 {
			return metav1.ConditionFalse, text
		}
	}
	if answered == 0 {
		return metav1.ConditionUnknown, "no connection was opened while it lasted"
	}
	return metav1.ConditionTrue, text
}

func lossy(percent int, pairs []pair) (metav1.ConditionStatus, string) {
	attempts, lost := 0, 0
	for _, p := range pairs {
		attempts += int(p.during.Attempts)
		lost += int(p.during.Failures)
		if p.during.Slowest != nil && p.during.Slowest.Duration > retransmission && orDefault(p.before.Slowest, 0) < retransmission {
			lost++
		}
	}
	switch {
	case lost > 0:
		return metav1.ConditionTrue, fmt.Sprintf("packets of at least %d of %d connections were lost", lost, attempts)
	case attempts*percent >= 100*lossSeen:
		return metav1.ConditionFalse, fmt.Sprintf("no packet of %d connections was lost", attempts)
	}
	return metav1.ConditionUnknown, fmt.Sprintf("no packet of %d connections was lost, too few to tell", attempts)
}

// Accumulate adds the figures of another look to those of one fault. A partition's newest look counts alone: what came
// through before all rules were in place says nothing about it.
func Accumulate(kind v1alpha1.DrillFaultKind, sum, more []v1alpha1.ProbeFigures) []v1alpha1.ProbeFigures {
	if kind == v1alpha1.FaultPartition || len(sum) == 0 {
		return more
	}
	sum = slices.Clone(sum)
	for _, m := range more {
		i := slices.IndexFunc(sum, func(s v1alpha1.ProbeFigures) bool { return s.From == m.From && s.To == m.To })
		if i < 0 {
			sum = append(sum, m)
			continue
		}
		s := &sum[i]
		s.Attempts, s.Failures = s.Attempts+m.Attempts, s.Failures+m.Failures
		if m.Connect != nil {
			s.Connect = m.Connect
		}
		if m.Slowest != nil && (s.Slowest == nil || m.Slowest.Duration > s.Slowest.Duration) {
			s.Slowest = m.Slowest
		}
	}
	return sum
}
