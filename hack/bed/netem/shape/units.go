// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxDelay is the longest delay or jitter a rule accepts. Kernel netem takes
// up to about 274 s; a link slower than a minute is a mistake of units.
const MaxDelay = time.Minute

// ParseDelay reads a delay or jitter: a number with the unit us, ms or s
// ("75ms", "1.5s"); "0" needs no unit. The result is in [0, MaxDelay].
func ParseDelay(text string) (time.Duration, error) {
	form := fmt.Errorf(
		"%q is not a duration: write a number and a unit us, ms or s, from 0 to %s, for example 75ms",
		text,
		MaxDelay,
	)
	if text == "0" {
		return 0, nil
	}
	for _, unit := range []struct {
		suffix string
		length time.Duration
	}{{"us", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second}} {
		number, found := strings.CutSuffix(text, unit.suffix)
		if !found {
			continue
		}
		value, err := parseDecimal(number)
		if err != nil || value*float64(unit.length) > float64(MaxDelay) {
			return 0, form
		}
		return time.Duration(math.Round(value * float64(unit.length))), nil
	}
	return 0, form
}

// ParsePercent reads a probability such as "1%", "0.5%" or "0" and returns it
// as a fraction in [0, 1]. The percent sign is required for everything but 0,
// so that nobody writes 0.01 and means one percent.
func ParsePercent(text string) (float64, error) {
	if text == "0" {
		return 0, nil
	}
	number, found := strings.CutSuffix(text, "%")
	value, err := parseDecimal(number)
	if !found || err != nil || value > 100 {
		return 0, fmt.Errorf(
			"%q is not a percentage: write a number from 0 to 100 and a percent sign, for example 0.5%%",
			text,
		)
	}
	return value / 100, nil
}

// Limits of a rate in bit/s: below 8 kbit/s one full frame takes longer than
// a second, above 100 Gbit/s the emulator is no limit any more.
const (
	MinRate = 8e3
	MaxRate = 100e9
)

// ParseRate reads a rate such as "1gbit", "100mbit", "512kbit" or "64000bit"
// (powers of 1000, as tc counts them) and returns bit/s in [MinRate,
// MaxRate]. "0" means no limit.
func ParseRate(text string) (float64, error) {
	form := fmt.Errorf(
		"%q is not a rate: write a number and a unit bit, kbit, mbit or gbit, from 8kbit to 100gbit, or 0 for no limit, "+
			"for example 100mbit",
		text,
	)
	if text == "0" {
		return 0, nil
	}
	number, found := strings.CutSuffix(strings.ToLower(text), "bit")
	if !found {
		return 0, form
	}
	factor := 1.0
	for suffix, power := range map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = rest, power
			break
		}
	}
	value, err := parseDecimal(number)
	if err != nil || value*factor < MinRate || value*factor > MaxRate {
		return 0, form
	}
	return value * factor, nil
}

// parseDecimal accepts digits with at most one point: no sign, no exponent, no
// infinity, which strconv.ParseFloat would all take.
func parseDecimal(text string) (float64, error) {
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is not a decimal number", text)
	}
	return strconv.ParseFloat(text, 64)
}

// FormatDelay writes a delay so that ParseDelay reads it back.
func FormatDelay(delay time.Duration) string {
	switch {
	case delay == 0:
		return "0"
	case delay%time.Millisecond == 0 || delay > 10*time.Millisecond:
		return formatDecimal(float64(delay)/float64(time.Millisecond)) + "ms"
	default:
		return formatDecimal(float64(delay)/float64(time.Microsecond)) + "us"
	}
}

// FormatPercent writes a fraction so that ParsePercent reads it back.
func FormatPercent(fraction float64) string {
	return formatDecimal(math.Round(fraction*1e8)/1e6) + "%"
}

// FormatRate writes a rate in bit/s so that ParseRate reads it back.
func FormatRate(rate float64) string {
	for _, unit := range []struct {
		suffix string
		factor float64
	}{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}} {
		if rate >= unit.factor {
			return formatDecimal(rate/unit.factor) + unit.suffix
		}
	}
	return formatDecimal(rate) + "bit"
}

func formatDecimal(value float64) string {
	return strconv.FormatFloat(value, 'f', -1, 64)
}
