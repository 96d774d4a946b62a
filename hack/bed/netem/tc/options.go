// SPDX-License-Identifier: Apache-2.0

package tc

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/hack/bed/netem/shape"
)

// kernelLimit is netem's default limit in packets (tc-netem(8)).
const kernelLimit = 1000

// rule reads a discipline's options. Only netem and tbf have a rule; prio and
// sfq pass what they get.
func rule(kind string, options []string) (shape.Rule, error) {
	words := words{rest: options}
	var r shape.Rule
	var err error
	switch kind {
	case "netem":
		r, err = words.netem()
	case "tbf":
		r, err = words.tbf()
	default:
		return shape.Rule{}, nil
	}
	if err != nil {
		return shape.Rule{}, err
	}
	return r, r.Validate()
}

// words are the options that are still to be read.
type words struct{ rest []string }

func (w *words) next(option string) (string, error) {
	if len(w.rest) == 0 {
		return "", fmt.Errorf("command line is not complete: %s needs a value", option)
	}
	word := w.rest[0]
	w.rest = w.rest[1:]
	return word, nil
}

// optional reads a value that may be missing: the next word if it parses.
func optional[T any](w *words, parse func(string) (T, error), into *T) {
	if len(w.rest) == 0 {
		return
	}
	if value, err := parse(w.rest[0]); err == nil {
		*into = value
		w.rest = w.rest[1:]
	}
}

func value[T any](w *words, option string, parse func(string) (T, error), into *T) error {
	word, err := w.next(option)
	if err != nil {
		return err
	}
	parsed, err := parse(word)
	if err != nil {
		return fmt.Errorf("illegal %s: %w", option, err)
	}
	*into = parsed
	return nil
}

func (w *words) netem() (shape.Rule, error) {
	r := shape.Rule{Limit: kernelLimit}
	// Correlations that the emulator's model does not have.
	var ignored float64
	for len(w.rest) > 0 {
		option, _ := w.next("")
		var err error
		switch option {
		case "delay", "latency":
			if err = value(w, option, parseTime, &r.Delay); err == nil {
				before := len(w.rest)
				if optional(w, parseTime, &r.Jitter); len(w.rest) < before {
					optional(w, parsePercent, &r.DelayCorrelation)
				}
			}
		case "loss", "drop":
			if len(w.rest) > 0 && w.rest[0] == "random" {
				_, _ = w.next(option)
			}
			if err = value(w, option, parsePercent, &r.Loss); err == nil {
				optional(w, parsePercent, &r.LossCorrelation)
			}
		case "duplicate":
			if err = value(w, option, parsePercent, &r.Duplicate); err == nil {
				optional(w, parsePercent, &ignored)
			}
		case "corrupt":
			if err = value(w, option, parsePercent, &r.Corrupt); err == nil {
				optional(w, parsePercent, &ignored)
			}
		case "reorder":
			if err = value(w, option, parsePercent, &r.Reorder); err == nil {
				optional(w, parsePercent, &ignored)
			}
		case "gap":
			err = value(w, option, strconv.Atoi, &r.Gap)
		case "limit":
			err = value(w, option, strconv.Atoi, &r.Limit)
		case "rate":
			err = value(w, option, parseRate, &r.Rate)
		default:
			err = fmt.Errorf(
				"what is %q? netem options here are delay, loss, duplicate, corrupt, reorder, gap, limit and rate",
				option,
			)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

func (w *words) tbf() (shape.Rule, error) {
	var r shape.Rule
	var latency time.Duration
	var ignored float64
	for len(w.rest) > 0 {
		option, _ := w.next("")
		var err error
		switch option {
		case "rate":
			err = value(w, option, parseRate, &r.Rate)
		case "burst", "buffer", "maxburst":
			err = value(w, option, parseSize, &r.Burst)
		case "limit":
			err = value(w, option, parseSize, &r.Buffer)
		case "latency":
			err = value(w, option, parseTime, &latency)
		case "peakrate":
			err = value(w, option, parseRate, &ignored)
		case "mtu", "minburst":
			var size int64
			err = value(w, option, parseSize, &size)
		default:
			err = fmt.Errorf("what is %q? tbf options here are rate, burst, limit, latency, peakrate and mtu", option)
		}
		if err != nil {
			return r, err
		}
	}
	if r.Rate == 0 || r.Burst == 0 {
		return r, fmt.Errorf("both \"rate\" and \"burst\" are required")
	}
	if r.Buffer == 0 {
		r.Buffer = int64(r.Rate / 8 * latency.Seconds())
	}
	return r, nil
}

// split divides "10ms" into 10 and "ms", the unit in lower case.
func split(text string) (float64, string, error) {
	end := len(strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%"))
	number, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || number < 0 || math.IsInf(number, 0) || math.IsNaN(number) {
		return 0, "", fmt.Errorf("%q is not a number with a unit", text)
	}
	return number, strings.ToLower(text[end:]), nil
}

func scaled(text string, units map[string]float64) (float64, error) {
	number, unit, err := split(text)
	if err != nil {
		return 0, err
	}
	factor, known := units[unit]
	if !known {
		return 0, fmt.Errorf("%q has an unknown unit", text)
	}
	return number * factor, nil
}

// Units of tc(8), "UNITS".
var (
	timeUnits = map[string]float64{
		"": 1e3, "us": 1e3, "usec": 1e3, "usecs": 1e3, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "s": 1e9, "sec": 1e9,
		"secs": 1e9,
	}
	percentUnits = map[string]float64{"": 0.01, "%": 0.01}
	rateUnits    = map[string]float64{
		"": 1, "bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "kibit": 1 << 10, "mibit": 1 << 20, "gibit": 1 << 30,
		"bps": 8, "kbps": 8e3, "mbps": 8e6, "gbps": 8e9, "kibps": 8 << 10, "mibps": 8 << 20, "gibps": 8 << 30,
	}
	sizeUnits = map[string]float64{
		"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30,
		"kbit": 1 << 7, "mbit": 1 << 17, "gbit": 1 << 27,
	}
)

func parseTime(text string) (time.Duration, error) {
	nanoseconds, err := scaled(text, timeUnits)
	return time.Duration(nanoseconds), err
}

func parsePercent(text string) (float64, error) { return scaled(text, percentUnits) }
func parseRate(text string) (float64, error)    { return scaled(text, rateUnits) }

func parseSize(text string) (int64, error) {
	size, err := scaled(text, sizeUnits)
	return int64(size), err
}
