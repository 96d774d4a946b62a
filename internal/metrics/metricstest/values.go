// SPDX-License-Identifier: Apache-2.0

// Package metricstest helps tests of metrics: example objects that have something to tell of every family, and what a
// registry says.
package metricstest

import (
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func series(r prometheus.Gatherer, name string) []*dto.Metric {
	families, err := r.Gather()
	if err != nil {
		return nil
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()
		}
	}
	return nil
}

// Values of the gauges of a family, in ascending order; nil when there are none.
func Values(r prometheus.Gatherer, name string) []float64 {
	var values []float64
	for _, m := range series(r, name) {
		values = append(values, m.GetGauge().GetValue())
	}
	slices.Sort(values)
	return values
}

// Value of the only gauge of a family, NaN when there is none or more than one.
func Value(r prometheus.Gatherer, name string) float64 {
	if values := Values(r, name); len(values) == 1 {
		return values[0]
	}
	return math.NaN()
}

// Labels are the values of a label in a family, in ascending order.
func Labels(r prometheus.Gatherer, name, label string) []string {
	var values []string
	for _, m := range series(r, name) {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				values = append(values, l.GetValue())
			}
		}
	}
	slices.Sort(values)
	return values
}
