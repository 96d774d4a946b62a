// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

// sentInDirection are the pairs with transfers whose data goes where the fault is: a fault of what a place sends does
// not concern data that it receives.
func sentInDirection(o drill.Occurrence, struck []v1alpha1.ServerName, pairs []pair) []pair {
	var list []pair
	for _, p := range pairs {
		from := slices.Contains(struck, v1alpha1.ServerName(p.during.From))
		if p.before.Transfer == nil || p.during.Transfer == nil ||
			o.Direction == v1alpha1.DirectionTo && !from || o.Direction == v1alpha1.DirectionFrom && from {
			continue
		}
		list = append(list, p)
	}
	return list
}

// together adds what two looks saw. Of the bandwidth the newest one counts.
func together(sum, more *v1alpha1.TransferFigures) *v1alpha1.TransferFigures {
	if more == nil || sum == nil {
		if more != nil {
			sum = more
		}
		return sum
	}
	return &v1alpha1.TransferFigures{Segments: sum.Segments + more.Segments, Resent: sum.Resent + more.Resent,
		Duplicates: sum.Duplicates + more.Duplicates, KilobitsPerSecond: more.KilobitsPerSecond}
}

// events are segments that something happened to.
type events struct{ before, beforeOf, during, of int64 }

func count(pairs []pair, of func(v1alpha1.TransferFigures) int64) events {
	var e events
	for _, p := range pairs {
		e.before, e.beforeOf = e.before+of(*p.before.Transfer), e.beforeOf+p.before.Transfer.Segments
		e.during, e.of = e.during+of(*p.during.Transfer), e.of+p.during.Transfer.Segments
	}
	return e
}

// seen judges events by how many of a hundred segments should have one. A quarter of them is enough - bursts and what
// the network does by itself blur the figure - if it is more than twice what was usual.
func (e events) seen(percent int32, what string) (metav1.ConditionStatus, string) {
	text := fmt.Sprintf("%d of %d segments %s, %d %% were asked for", e.during, e.of, what, percent)
	usual := 2 * e.before * e.of / max(e.beforeOf, 1)
	switch {
	case e.during >= seenAtLeast && e.during*400 >= int64(percent)*e.of && e.during > usual:
		return metav1.ConditionTrue, text
	case e.of*int64(percent) < 100*lossSeen:
		return metav1.ConditionUnknown, text + ": too few to tell"
	case e.during <= usual && e.before > 0:
		return metav1.ConditionUnknown, fmt.Sprintf("%s; before it %d of %d", text, e.before, e.beforeOf)
	}
	return metav1.ConditionFalse, text
}

// lossy judges loss and corruption: a packet whose checksum is wrong is thrown away. Where they are so many that
// connections fail, those tell.
func lossy(percent int32, pairs, sent []pair) (metav1.ConditionStatus, string) {
	attempts, lost := 0, 0
	for _, p := range pairs {
		attempts += int(p.during.Attempts)
		lost += int(p.during.Failures)
		if p.during.Slowest != nil && p.during.Slowest.Duration > retransmission &&
			ptr.Deref(p.before.Slowest, metav1.Duration{}).Duration < retransmission {
			lost++
		}
	}
	e := count(sent, func(t v1alpha1.TransferFigures) int64 { return t.Resent })
	status, text := e.seen(percent, "were sent again")
	if status == metav1.ConditionTrue {
		return status, text
	}
	// A connection has at least two packets that may be lost.
	if lost >= seenAtLeast && lost*400 >= int(percent)*attempts {
		return metav1.ConditionTrue, fmt.Sprintf(
			"packets of at least %d of %d connections were lost, %d %% were asked for",
			lost,
			attempts,
			percent,
		)
	}
	if e.of == 0 && attempts*int(percent) >= 100*lossSeen {
		return metav1.ConditionFalse, fmt.Sprintf(
			"packets of %d of %d connections were lost, %d %% were asked for",
			lost,
			attempts,
			percent,
		)
	}
	return status, text
}

func duplicated(percent int32, sent []pair) (metav1.ConditionStatus, string) {
	return count(sent, func(t v1alpha1.TransferFigures) int64 { return t.Duplicates }).seen(percent, "came twice")
}

// slowed judges the bandwidth by the time of a transfer. Where delay or loss was asked for as well, they slow a
// transfer down by themselves, and what is far below the rate says nothing of it.
func slowed(rate string, besides bool, sent []pair) (metav1.ConditionStatus, string) {
	asked, ok := Kilobits(rate)
	if !ok || len(sent) == 0 {
		return metav1.ConditionUnknown, "no transfer told the bandwidth"
	}
	text := ""
	for _, p := range sent {
		was, is := p.before.Transfer.KilobitsPerSecond, p.during.Transfer.KilobitsPerSecond
		text = fmt.Sprintf(
			"%s sent %d kbit/s to %s instead of %d, at most %d were asked for",
			p.during.From,
			is,
			p.during.To,
			was,
			asked,
		)
		switch {
		case 2*is > 3*asked:
			return metav1.ConditionFalse, text
		case 2*was <= 3*asked:
			return metav1.ConditionUnknown, text + ": the way was no faster before"
		case is == 0 || besides && 3*is < asked:
			return metav1.ConditionUnknown, text + ": that may be the delay or the loss"
		}
	}
	return metav1.ConditionTrue, text
}

// units of tc(8), "PARAMETERS": bit counts bits and bps bytes, and k, m, g are powers of 1000; in bits.
var units = []struct {
	suffix string
	bits   int64
}{{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"kbps", 8e3}, {"mbps", 8e6}, {"gbps", 8e9}, {"bit", 1}, {"bps", 8}}

// Kilobits are the kilobits per second of a rate as tc writes it.
func Kilobits(rate string) (int64, bool) {
	for _, u := range units {
		if number, ok := strings.CutSuffix(rate, u.suffix); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			return max(n*u.bits/1000, 1), err == nil && n > 0
		}
	}
	return 0, false
}

// TransferBytes is how much must be sent in a look at a fault: enough for a second at the rate that was asked for and a
// half, that a faster way can be told from it, and else enough segments.
func TransferBytes(n v1alpha1.NetworkFault) int {
	const least, most = 512 << 10, 32 << 20
	kilobits, _ := Kilobits(n.Rate)
	return int(min(max(kilobits*1000/8*3/2, least), most))
}
