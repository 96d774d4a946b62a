// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/mssql"
)

// retransmission is after which TCP repeats the first packet of a connection (RFC 6298, section 2): a connection that
// took longer has lost one.
const retransmission = 900 * time.Millisecond

// lossSeen is how many events - lost packets, duplicates - must be expected of what was sent before their absence says
// something: with that many expected, none at all is chance once in three million times.
const lossSeen = 15

// seenAtLeast is how many events show that there are some.
const seenAtLeast = 3

// NetworkEffect judges whether a fault of the network was seen by probes: figures from before it and from while it
// lasts. Struck are the servers of its place, by which the directions are told apart. It is Unknown while there is not
// enough to tell.
func NetworkEffect(
	o drill.Occurrence,
	struck []v1alpha1.ServerName,
	before, during []v1alpha1.ProbeFigures,
) (metav1.ConditionStatus, string) {
	pairs := pairsOf(before, during)
	if len(pairs) == 0 {
		return metav1.ConditionUnknown, "no probe came through before the fault, so none can tell"
	}
	var (
		status metav1.ConditionStatus
		text   string
	)
	if o.Kind == v1alpha1.FaultPartition {
		status, text = partitioned(pairs, unusable(before, during))
	} else {
		status, text = emulated(o, pairs, sentInDirection(o, struck, pairs))
	}
	if missing := unseen(before, pairs); missing != "" && status == metav1.ConditionTrue {
		return metav1.ConditionUnknown, text + "; nobody could look between " + missing
	}
	return status, text
}

// unseen names two engines between which a way was open before a fault and was not looked at since, from neither end:
// those of a site that is lost can be asked by nobody, and a connection needs both directions.
func unseen(before []v1alpha1.ProbeFigures, pairs []pair) string {
	for _, b := range before {
		from, to, is := ends(b)
		if !is || b.Failures >= b.Attempts {
			continue
		}
		if !slices.ContainsFunc(pairs, func(p pair) bool {
			x, y, is := ends(p.during)
			return is && (x == from && y == to || x == to && y == from)
		}) {
			return from + " and " + to
		}
	}
	return ""
}

// ends of a way between two engines, by their servers' names; false of other ways.
func ends(p v1alpha1.ProbeFigures) (from, to string, is bool) {
	host, port, err := net.SplitHostPort(p.To)
	return p.From, strings.TrimSuffix(host, "-0"), err == nil && port == strconv.Itoa(mssql.Port)
}

// StillInForce judges the newest look at a fault that was seen before. A delay that varies by as much as half of it may
// be short by chance, and tells nothing.
func StillInForce(
	o drill.Occurrence,
	struck []v1alpha1.ServerName,
	before, newest []v1alpha1.ProbeFigures,
) (metav1.ConditionStatus, string) {
	if o.Kind == v1alpha1.FaultNetwork && o.Network.Latency != nil && o.Network.Jitter != nil &&
		2*o.Network.Jitter.Duration >= o.Network.Latency.Duration {
		network := *o.Network
		network.Latency, network.Jitter = nil, nil
		o.Network = &network
	}
	if o.Kind == v1alpha1.FaultNetwork && o.Network.Latency == nil && !Transfers(o) {
		return metav1.ConditionUnknown, ""
	}
	return NetworkEffect(o, struck, before, newest)
}

// Transfers says whether data has to be sent for a while to see a fault: connections alone do not show it.
func Transfers(o drill.Occurrence) bool {
	return o.Kind == v1alpha1.FaultNetwork && o.Network != nil &&
		(o.Network.Loss+o.Network.Corrupt+o.Network.Duplicate > 0 || o.Network.Rate != "")
}

// emulated judges each part that was asked for; it is True when all of them were seen.
func emulated(o drill.Occurrence, pairs, sent []pair) (metav1.ConditionStatus, string) {
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
		add(lossy(n.Loss+n.Corrupt-n.Loss*n.Corrupt/100, pairs, sent))
	}
	if n.Duplicate > 0 {
		add(duplicated(n.Duplicate, sent))
	}
	if n.Rate != "" {
		add(slowed(n.Rate, n.Latency != nil || n.Loss+n.Corrupt > 0, sent))
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

// unusable are probed addresses other than engines' - API servers - that nobody came through to before the fault.
func unusable(before, during []v1alpha1.ProbeFigures) []string {
	var list []string
	usable := pairsOf(before, during)
	for _, b := range before {
		if _, port, err := net.SplitHostPort(b.To); err != nil || port == strconv.Itoa(mssql.Port) {
			continue
		}
		if !slices.ContainsFunc(usable, func(p pair) bool { return p.before.From == b.From && p.before.To == b.To }) {
			list = append(list, b.To)
		}
	}
	return list
}

func partitioned(pairs []pair, missing []string) (metav1.ConditionStatus, string) {
	for _, p := range pairs {
		if p.during.Failures < p.during.Attempts {
			return metav1.ConditionFalse, fmt.Sprintf(
				"%s reached %s in %d of %d attempts",
				p.during.From,
				p.during.To,
				p.during.Attempts-p.during.Failures,
				p.during.Attempts,
			)
		}
	}
	if len(missing) > 0 {
		return metav1.ConditionUnknown, "whether " + words(
			missing,
		) + " can be reached was not seen before and during the fault: a site whose API server answers has not been lost"
	}
	return metav1.ConditionTrue, fmt.Sprintf(
		"none of %d probed ways was open, %s to %s for one",
		len(pairs),
		pairs[0].during.From,
		pairs[0].during.To,
	)
}

// leastDelay is below what a delay of connections cannot be told from how they vary by themselves.
const leastDelay = 10 * time.Millisecond

// delayed wants three quarters of what was asked for, of every pair: a delay of both directions that is in force in one
// of them alone gives the half.
func delayed(o drill.Occurrence, pairs []pair) (metav1.ConditionStatus, string) {
	added := o.Network.Latency.Duration
	if o.Direction == "" || o.Direction == v1alpha1.DirectionBoth {
		added *= 2
	}
	text := ""
	var before []v1alpha1.ProbeFigures
	var answered []pair
	for _, p := range pairs {
		before = append(before, p.before)
		if p.during.Connect == nil {
			continue
		}
		answered = append(answered, p)
		was, is := ptr.Deref(p.before.Connect, metav1.Duration{}).Duration, p.during.Connect.Duration
		text = fmt.Sprintf(
			"%s to %s took %s instead of %s, %s more were asked for",
			p.during.From,
			p.during.To,
			is.Round(time.Millisecond),
			was.Round(time.Millisecond),
			added,
		)
		if is-was < added*3/4 {
			return metav1.ConditionFalse, text
		}
	}
	missing := unseen(before, answered)
	switch {
	case len(answered) == 0:
		return metav1.ConditionUnknown, "no connection was opened while it lasted"
	case missing != "":
		return metav1.ConditionUnknown, text + "; no connection was opened between " + missing
	case added < leastDelay:
		return metav1.ConditionUnknown, fmt.Sprintf(
			"%s; less than %s cannot be told from how connections vary",
			text,
			leastDelay,
		)
	}
	return metav1.ConditionTrue, text
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
		s.Transfer = together(s.Transfer, m.Transfer)
		if m.Slowest != nil && (s.Slowest == nil || m.Slowest.Duration > s.Slowest.Duration) {
			s.Slowest = m.Slowest
		}
	}
	return sum
}
