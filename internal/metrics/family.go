// SPDX-License-Identifier: Apache-2.0

// Package metrics declares Prometheus metrics: what each is called, means and is labelled with. The manager's own are
// made of the status of the hub's objects whenever they are asked for, so that no series outlives its object.
//
// Names follow Prometheus' conventions: base units (seconds, bytes), timestamps as Unix time. What is not known has no
// series. Labels are names of declared objects, servers and databases, and words of a fixed set; never a message.
package metrics

import "github.com/prometheus/client_golang/prometheus"

// Type of a metric, as Prometheus calls it.
type Type string

const (
	// Gauge goes up and down.
	Gauge Type = "gauge"
	// Counter only goes up, until its process restarts.
	Counter Type = "counter"
	// Histogram counts observations in buckets.
	Histogram Type = "histogram"
)

// Family is one metric with all its series.
type Family struct {
	// Name of the metric.
	Name string
	// Help says what a value means.
	Help string
	// Type is Gauge, Counter or Histogram.
	Type Type
	// Labels in the order in which values are given.
	Labels []string
	// Buckets are the upper bounds of a Histogram.
	Buckets []float64
}

// Desc is the family as the client library has it.
func (f *Family) Desc() *prometheus.Desc { return prometheus.NewDesc(f.Name, f.Help, f.Labels, nil) }

// Gauges makes the family's gauges.
func (f *Family) Gauges() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, f.Labels)
}

// Counters makes the family's counters.
func (f *Family) Counters() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.Labels)
}

// Histograms makes the family's histograms.
func (f *Family) Histograms() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Help, Buckets: f.Buckets}, f.Labels)
}

// gauge declares a gauge.
func gauge(name, help string, labels ...string) *Family {
	return &Family{Name: name, Help: help, Type: Gauge, Labels: labels}
}

// Sink takes the present values of gauges.
type Sink chan<- prometheus.Metric

// Set gives one series its value.
func (s Sink) Set(f *Family, value float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(f.Desc(), prometheus.GaugeValue, value, labels...)
}

// SetBool gives 1 or 0.
func (s Sink) SetBool(f *Family, value bool, labels ...string) {
	if value {
		s.Set(f, 1, labels...)
	} else {
		s.Set(f, 0, labels...)
	}
}
