// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The drawing of a chart is stretched to the width of the page, so text stands beside it and not in it: what can be
// read on a screen can be read on a phone. Across it goes from 0 to 1000, down from 0 to 100.
const (
	across = 1000.0
	down   = 100.0
)

// palette are colours that differ for colour-blind people, too, and dashes that differ in print (Okabe and Ito, "Color
// Universal Design", 2008).
var palette = []struct{ Colour, Dash string }{
	{
		"#0072b2",
		"",
	}, {"#d55e00", "7 3"}, {"#009e73", "2 2"}, {"#cc79a7", "9 3 2 3"}, {"#8a6d00", "4 4"}, {"#444444", "1 3"},
	{"#56b4e9", "12 4"},
}

// chart is one drawing with its scale.
type chart struct {
	Title, Unit string
	Lines       []line
	// Ticks of the value axis, from the top down.
	Ticks []tick
}

// line of a chart with its path.
type line struct {
	Name, Path, Colour, Dash string
	// Most that it reached, as text.
	Most string
}

// tick of an axis: where it is, in percent from the left or from the top, and what it says.
type tick struct {
	Percent float64
	Text    string
	// Minor ticks are left out where there is little room.
	Minor bool
}

// axis of time.
type axis struct{ from, to float64 }

// percent of the width at which a position is.
func (a axis) percent(at float64) float64 {
	return 100 * min(max((at-a.from)/(a.to-a.from), 0), 1)
}

// steps of time axes in seconds.
var steps = []float64{
	1,
	2,
	5,
	10,
	15,
	30,
	60,
	120,
	300,
	600,
	900,
	1800,
	3600,
	2 * 3600,
	4 * 3600,
	12 * 3600,
	24 * 3600,
	7 * 24 * 3600,
}

// ticks of the time axis, about ten.
func (a axis) ticks() []tick {
	step := steps[len(steps)-1]
	for _, s := range steps {
		if (a.to-a.from)/s <= 11 {
			step = s
			break
		}
	}
	var all []tick
	for n := math.Ceil(a.from / step); n*step <= a.to; n++ {
		all = append(all, tick{Percent: a.percent(n * step), Text: clock(n * step), Minor: math.Mod(n, 2) != 0})
	}
	return all
}

// clock writes seconds as minutes and seconds, with hours when there are any.
func clock(seconds float64) string {
	sign := ""
	if seconds < 0 {
		sign = "−"
	}
	s := int64(math.Round(math.Abs(seconds)))
	if s >= 3600 {
		return fmt.Sprintf("%s%d:%02d:%02d", sign, s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%s%d:%02d", sign, s/60, s%60)
}

// draw makes a chart from 0 up. Points without a value, and times without points, interrupt a line.
func draw(a axis, title, unit string, series []Series) *chart {
	c := &chart{Title: title, Unit: unit}
	top, count := 0.0, 0
	for _, s := range series {
		for _, p := range s.Points {
			if p.Value != nil {
				top, count = max(top, *p.Value), count+1
			}
		}
	}
	if count == 0 {
		return nil
	}
	var step float64
	top, step = nice(top)
	for n := math.Round(top / step); n >= 0; n-- {
		v := n * step
		c.Ticks = append(c.Ticks, tick{Percent: 100 - 100*v/top, Text: amount(v)})
	}
	for i, s := range series {
		look := palette[i%len(palette)]
		c.Lines = append(
			c.Lines,
			line{Name: s.Name, Path: path(a, s.Points, top), Colour: look.Colour, Dash: look.Dash, Most: amount(most(s))},
		)
	}
	return c
}

func most(s Series) float64 {
	top := 0.0
	for _, p := range s.Points {
		if p.Value != nil {
			top = max(top, *p.Value)
		}
	}
	return top
}

// nice rounds a maximum up to a number that divides well, and gives the distance of the ticks.
func nice(top float64) (rounded, step float64) {
	if top <= 0 {
		return 1, 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(top)))
	for _, n := range []struct{ top, step float64 }{{1, 0.25}, {1.5, 0.5}, {2, 0.5}, {3, 1}, {4, 1}, {5, 1.25}, {6, 2},
		{8, 2}, {10, 2.5}} {
		if n.top*unit >= top {
			return n.top * unit, n.step * unit
		}
	}
	return 10 * unit, 2.5 * unit
}

// amount writes a number with as many digits as mean something.
func amount(v float64) string {
	switch magnitude := math.Abs(v); {
	case magnitude >= 1e9:
		return strconv.FormatFloat(v/1e9, 'g', 3, 64) + " G"
	case magnitude >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + " M"
	case magnitude >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + " k"
	case magnitude >= 100 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// usuallyApart is the median distance of points in seconds, 0 of less than two: those of a long run are as wide as its
// bins, which is no gap.
func usuallyApart(points []Point) float64 {
	var apart []float64
	for i := 1; i < len(points); i++ {
		apart = append(apart, points[i].At-points[i-1].At)
	}
	if len(apart) == 0 {
		return 0
	}
	slices.Sort(apart)
	return apart[len(apart)/2]
}

// path of a line, as SVG has it. A point that stands alone is drawn as a short stroke.
func path(a axis, points []Point, top float64) string {
	var out strings.Builder
	pen, last := false, math.Inf(-1)
	apart := max(silent, (a.to-a.from)/maxBins*2, 1.5*usuallyApart(points))
	for _, p := range points {
		if p.Value == nil || p.At-last > apart {
			pen = false
		}
		last = p.At
		if p.Value == nil {
			continue
		}
		x, y := across/100*a.percent(p.At), down-down**p.Value/top
		if !pen {
			fmt.Fprintf(&out, "M%.2f %.2fh.8", x, y)
			pen = true
			continue
		}
		fmt.Fprintf(&out, "L%.2f %.2f", x, y)
	}
	return out.String()
}
