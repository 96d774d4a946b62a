// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

// MeasureOf says what is measured at the servers that a fault strikes; empty when nothing is.
func MeasureOf(o drill.Occurrence) v1alpha1.EffectMeasure {
	switch o.Kind {
	case v1alpha1.FaultCPUStress:
		return v1alpha1.MeasureProcessors
	case v1alpha1.FaultMemoryStress:
		return v1alpha1.MeasureMemory
	case v1alpha1.FaultClockOffset:
		return v1alpha1.MeasureClock
	}
	return ""
}

// Machine is what there is of what stressors take.
type Machine struct {
	Processors int
	// Memory in bytes.
	Memory int64
}

// ServerEffect judges a fault of processors, memory or clock by the figures of the servers that it struck, each of
// which must show it.
func ServerEffect(
	o drill.Occurrence,
	figures []v1alpha1.EffectFigure,
	machine Machine,
) (metav1.ConditionStatus, string) {
	if len(figures) == 0 {
		return metav1.ConditionUnknown, "it struck no server"
	}
	var texts []string
	status := metav1.ConditionTrue
	for _, f := range figures {
		if f.Before == nil || f.During == nil {
			return metav1.ConditionUnknown, "it was not measured at " + f.Server + " before and during the fault"
		}
		is, text := shows(o, *f.During-*f.Before, machine)
		texts = append(texts, f.Server+": "+text)
		if status != metav1.ConditionFalse && is != metav1.ConditionTrue {
			status = is
		}
	}
	return status, strings.Join(texts, "; ")
}

// shows compares what was asked for with a difference that was measured.
func shows(o drill.Occurrence, difference int64, m Machine) (metav1.ConditionStatus, string) {
	switch o.Kind {
	case v1alpha1.FaultCPUStress:
		workers, load := stressors(o)
		asked := int64(workers) * int64(load) * 10
		// Others want the processors, too: a quarter of what can be had shows that the stressors are at work.
		text := fmt.Sprintf(
			"stressors used %d of 1000 of a processor, %d were asked for, the machine has %d processors",
			difference,
			asked,
			m.Processors,
		)
		return sure(4*difference >= min(asked, int64(m.Processors)*1000) && difference > 0), text
	case v1alpha1.FaultMemoryStress:
		asked, ok := memorySize(o.Memory.Size, m.Memory)
		if !ok {
			return metav1.ConditionUnknown, "how much " + o.Memory.Size + " is cannot be told"
		}
		return sure(2*difference >= asked),
			fmt.Sprintf("stressors hold %d MB, %d were asked for", difference/1000, asked/1000)
	case v1alpha1.FaultClockOffset:
		asked := o.ClockOffset.Duration
		seen := time.Duration(difference) * time.Millisecond
		return sure((seen - asked).Abs() <= asked.Abs()/2),
			fmt.Sprintf("its clock is off by %s more than before, %s was asked for", seen, asked)
	}
	return metav1.ConditionUnknown, "nothing is measured"
}

func sure(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// stressors are how many workers burn how many percent of a processor each.
func stressors(o drill.Occurrence) (workers, load int32) {
	workers, load = 1, 100
	if o.CPU != nil {
		workers = max(o.CPU.Workers, 1)
		if o.CPU.Load > 0 {
			load = o.CPU.Load
		}
	}
	return workers, load
}

// memorySize in KB, of so much memory in bytes.
func memorySize(size string, machine int64) (int64, bool) {
	for _, u := range []struct {
		suffix string
		kb     float64
	}{{"KB", 1}, {"MB", 1e3}, {"GB", 1e6}, {"%", float64(machine) / 100 / 1e3}, {"B", 1e-3}} {
		if number, ok := strings.CutSuffix(size, u.suffix); ok {
			n, err := strconv.ParseFloat(number, 64)
			return int64(n * u.kb), err == nil && n*u.kb >= 1
		}
	}
	return 0, false
}

// leftAtServers says what figures still show when the fault is over; empty when they are as they were. Half of what the
// fault made of them is left.
func leftAtServers(list []v1alpha1.EffectFigure) string {
	for _, f := range list {
		if f.Before == nil || f.During == nil {
			continue
		}
		if f.After == nil {
			return "nobody looked at " + f.Server + " after it"
		}
		was, worst, is := *f.Before, *f.During, *f.After
		if magnitude(is-was) > magnitude(worst-was)/2 && magnitude(worst-was) > noise[f.Measure] {
			return fmt.Sprintf("after it %s of %s is %d instead of %d", f.Measure, f.Server, is, was)
		}
	}
	return ""
}

// noise is by how much a figure differs by itself.
var noise = map[v1alpha1.EffectMeasure]int64{
	v1alpha1.MeasureProcessors: 50,
	v1alpha1.MeasureMemory:     5000,
	v1alpha1.MeasureClock:      500,
}

func magnitude(n int64) int64 { return max(n, -n) }

// Note keeps what was measured at servers: before a fault is injected, while it lasts, or after it. While it lasts what
// was most unlike before counts.
func Note(
	list []v1alpha1.EffectFigure,
	seen []v1alpha1.EffectFigure,
	state v1alpha1.FaultState,
) []v1alpha1.EffectFigure {
	list = slices.Clone(list)
	for _, one := range seen {
		i := slices.IndexFunc(
			list,
			func(f v1alpha1.EffectFigure) bool { return f.Server == one.Server && f.Measure == one.Measure },
		)
		if i < 0 {
			i, list = len(list), append(list, v1alpha1.EffectFigure{Server: one.Server, Measure: one.Measure})
		}
		f := &list[i]
		switch state {
		case v1alpha1.FaultInjecting:
			f.Before = one.During
		case v1alpha1.FaultActive:
			if f.During == nil || f.Before == nil || magnitude(*one.During-*f.Before) > magnitude(*f.During-*f.Before) {
				f.During = one.During
			}
		case v1alpha1.FaultRemoved:
			f.After = one.During
		}
	}
	return list
}
