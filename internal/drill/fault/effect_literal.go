// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

// chaosSpec is what of a spec of Chaos Mesh says what should be seen.
type chaosSpec struct {
	Action    string `json:"action"`
	Direction string `json:"direction"`
	Delay     struct {
		Latency string `json:"latency"`
		Jitter  string `json:"jitter"`
	} `json:"delay"`
	Loss struct {
		Loss string `json:"loss"`
	} `json:"loss"`
	Duplicate struct {
		Duplicate string `json:"duplicate"`
	} `json:"duplicate"`
	Corrupt struct {
		Corrupt string `json:"corrupt"`
	} `json:"corrupt"`
	Bandwidth struct {
		Rate string `json:"rate"`
	} `json:"bandwidth"`
	Rate struct {
		Rate string `json:"rate"`
	} `json:"rate"`
	Stressors struct {
		CPU *struct {
			Workers int32 `json:"workers"`
			Load    int32 `json:"load"`
		} `json:"cpu"`
		Memory *struct {
			Size string `json:"size"`
		} `json:"memory"`
	} `json:"stressors"`
	TimeOffset string `json:"timeOffset"`
}

// MeasuredAs is the fault by which the effect of one is measured: itself, and for an object given literally the kind of
// fault that it amounts to. It stays ChaosMesh when nothing here can measure what it does.
func MeasuredAs(o drill.Occurrence) drill.Occurrence {
	if o.Kind != v1alpha1.FaultChaosMesh || o.ChaosMesh == nil {
		return o
	}
	var s chaosSpec
	if json.Unmarshal(o.ChaosMesh.Spec.Raw, &s) != nil {
		return o
	}
	m := o
	switch o.ChaosMesh.Kind {
	case "PodChaos":
		m.Kind = map[string]v1alpha1.DrillFaultKind{"pod-kill": v1alpha1.FaultPodKill,
			"container-kill": v1alpha1.FaultContainerKill,
			"pod-failure":    v1alpha1.FaultPodFailure}[s.Action]
	case "NetworkChaos":
		m.Kind, m.Network = s.network()
		m.Direction = map[string]v1alpha1.FaultDirection{"from": v1alpha1.DirectionFrom,
			"both": v1alpha1.DirectionBoth}[s.Direction]
		if m.Direction == "" {
			m.Direction = v1alpha1.DirectionTo
		}
	case "TimeChaos":
		if d, err := time.ParseDuration(s.TimeOffset); err == nil && d != 0 {
			m.Kind, m.ClockOffset = v1alpha1.FaultClockOffset, &metav1.Duration{Duration: d}
		}
	case "StressChaos":
		switch {
		case s.Stressors.CPU != nil && s.Stressors.Memory != nil:
			// One measure would say nothing of the other.
		case s.Stressors.CPU != nil:
			m.Kind, m.CPU = v1alpha1.FaultCPUStress, &v1alpha1.CPUFault{
				Workers: s.Stressors.CPU.Workers,
				Load:    s.Stressors.CPU.Load,
			}
		case s.Stressors.Memory != nil:
			m.Kind, m.Memory = v1alpha1.FaultMemoryStress, &v1alpha1.MemoryFault{Size: s.Stressors.Memory.Size}
		}
	}
	if m.Kind == "" || m.Kind == v1alpha1.FaultChaosMesh {
		return o
	}
	return m
}

// network is the fault of the network that a NetworkChaos amounts to; no kind when it has nothing that can be measured.
func (s chaosSpec) network() (v1alpha1.DrillFaultKind, *v1alpha1.NetworkFault) {
	if s.Action == "partition" {
		return v1alpha1.FaultPartition, nil
	}
	n := v1alpha1.NetworkFault{
		Loss:      percent(s.Loss.Loss),
		Duplicate: percent(s.Duplicate.Duplicate),
		Corrupt:   percent(s.Corrupt.Corrupt),
	}
	if d, err := time.ParseDuration(s.Delay.Latency); err == nil && d > 0 {
		n.Latency = &metav1.Duration{Duration: d}
		if jitter, err := time.ParseDuration(s.Delay.Jitter); err == nil {
			n.Jitter = &metav1.Duration{Duration: jitter}
		}
	}
	for _, rate := range []string{s.Bandwidth.Rate, s.Rate.Rate} {
		if _, ok := Kilobits(rate); ok {
			n.Rate = rate
		}
	}
	if n == (v1alpha1.NetworkFault{}) {
		return "", nil
	}
	return v1alpha1.FaultNetwork, &n
}

func percent(text string) int32 {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || f <= 0 {
		return 0
	}
	return int32(max(1, min(100, f)))
}

// LiteralNetworkEffect judges an object that names its ends by itself: at least one of the probed ways must show it.
func LiteralNetworkEffect(
	o drill.Occurrence,
	struck []v1alpha1.ServerName,
	before, during []v1alpha1.ProbeFigures,
) (metav1.ConditionStatus, string) {
	status, text := metav1.ConditionUnknown, "no probe came through before the fault, so none can tell"
	for _, p := range pairsOf(before, during) {
		is, seen := NetworkEffect(o, struck, []v1alpha1.ProbeFigures{p.before}, []v1alpha1.ProbeFigures{p.during})
		switch {
		case is == metav1.ConditionTrue:
			return is, seen
		case is == metav1.ConditionFalse || status == metav1.ConditionUnknown:
			if status != metav1.ConditionFalse {
				status, text = is, seen
			}
		}
	}
	return status, text
}
