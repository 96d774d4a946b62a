// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/shape"
)

// Unverified: no kernel with sch_netem was at hand. The htb classes and u32
// filters were tried, netem below them was not.
//
// A node's eth0 has htb as its root, 1:. Traffic that no filter takes goes
// straight out (default 0). The site at index i has the class 1:(10+i) with
// netem (10+i)0: below it, and u32 filters at preference 10+i or 100+i: new
// filters come before the old ones go, so that no packet finds a gap.

// Preferences of the filters, and the first class.
const (
	firstClass     = 10
	secondSetShift = 90
)

// leastLimit and mostLimit bound netem's queue in packets; netem's own default
// of 1000 is far below what a long fast link has under way.
const (
	leastLimit = 1000
	mostLimit  = 200_000
)

// smallPacket in bytes turns a link's content into a number of packets.
const smallPacket = 500

// netemOptions writes a rule as tc-netem(8) options. Options that the rule
// does not use are set to zero: netem keeps what a change does not name.
func netemOptions(rule shape.Rule) string {
	if rule.Cut {
		return fmt.Sprintf("limit %d delay 0us loss 100%% rate 0bit", leastLimit)
	}
	limit := mostLimit
	if rule.Rate > 0 {
		content := rule.DefaultBuffer() + int64(rule.Rate/8*(rule.Delay+rule.Jitter).Seconds())
		limit = min(max(int(content/smallPacket), leastLimit), mostLimit)
	}
	options := fmt.Sprintf("limit %d delay %dus", limit, rule.Delay.Microseconds())
	if rule.Jitter > 0 {
		options += fmt.Sprintf(" %dus", rule.Jitter.Microseconds())
	}
	return options + fmt.Sprintf(" loss %s rate %.0fbit", shape.FormatPercent(rule.Loss), rule.Rate)
}

// kernelScript returns the shell commands that make the classes a node's only
// ones.
func kernelScript(sites []Site, classes []emulator.Class) string {
	var script strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&script, format+"\n", arguments...) }
	line("set -e")
	if len(classes) == 0 {
		line("tc qdisc del dev %s root 2>/dev/null || true", device)
		return script.String()
	}
	line(
		"tc qdisc show dev %[1]s | grep -q '^qdisc htb 1: root' || tc qdisc replace dev %[1]s root handle 1: htb default 0",
		device,
	)
	byName := map[string]emulator.Class{}
	for _, class := range classes {
		byName[class.Name] = class
	}
	for i, site := range sites {
		number := firstClass + i
		class, wanted := byName[site.Name]
		if !wanted {
			line("tc filter del dev %s parent 1: pref %d 2>/dev/null || true", device, number)
			line("tc filter del dev %s parent 1: pref %d 2>/dev/null || true", device, number+secondSetShift)
			continue
		}
		line("tc class replace dev %s parent 1: classid 1:%d htb rate 100gbit quantum 60000", device, number)
		line("tc qdisc replace dev %s parent 1:%d handle %d0: netem %s", device, number, number, netemOptions(class.Rule))
		line("old=%d new=%d", number, number+secondSetShift)
		line(
			"tc filter show dev %s parent 1: | grep -q \"pref $new \" && { new=$old old=%d; }",
			device,
			number+secondSetShift,
		)
		for _, prefix := range class.To {
			line("tc filter add dev %s parent 1: protocol ip pref $new u32 match ip dst %s flowid 1:%d", device, prefix, number)
		}
		line("tc filter del dev %s parent 1: pref $old 2>/dev/null || true", device)
	}
	return script.String()
}

func (f Force) kernelApply(ctx context.Context, sites []Site, node Node, classes []emulator.Class) NodeStatus {
	_, err := f.Run(ctx, strings.NewReader(kernelScript(sites, classes)), "exec", "--interactive", node.Name, "sh", "-s")
	if err != nil {
		return NodeStatus{
			Node:     node,
			Emulator: Kernel,
			Err:      fmt.Errorf("shape what leaves node %s with kernel netem: %w", node.Name, err),
		}
	}
	return f.kernelShow(ctx, sites, node)
}

// queueDiscipline is the part of "tc -s -j qdisc show" that is read.
type queueDiscipline struct {
	Kind    string `json:"kind"`
	Handle  string `json:"handle"`
	Packets uint64 `json:"packets"`
	Drops   uint64 `json:"drops"`
	Queued  int    `json:"qlen"`
	Options struct {
		Delay struct {
			Delay  float64 `json:"delay"`
			Jitter float64 `json:"jitter"`
		} `json:"delay"`
		Loss struct {
			Loss float64 `json:"loss"`
		} `json:"loss-random"`
		Rate struct {
			// Rate is in byte/s.
			Rate float64 `json:"rate"`
		} `json:"rate"`
	} `json:"options"`
}

func (f Force) kernelShow(ctx context.Context, sites []Site, node Node) NodeStatus {
	status := NodeStatus{Node: node, Emulator: Kernel}
	text, err := f.Run(ctx, nil, "exec", node.Name, "tc", "-s", "-j", "qdisc", "show", "dev", device)
	if err == nil {
		status.Classes, err = kernelClasses(sites, text)
	}
	if err != nil {
		status.Err = fmt.Errorf("ask node %s: %w", node.Name, err)
	}
	return status
}

// kernelClasses reads the classes in force; what their filters match is not
// read back.
func kernelClasses(sites []Site, text []byte) ([]emulator.ClassStatus, error) {
	var disciplines []queueDiscipline
	if err := json.Unmarshal(text, &disciplines); err != nil {
		return nil, fmt.Errorf("tc's answer is no JSON: %w", err)
	}
	seconds := func(s float64) time.Duration { return time.Duration(math.Round(s*1e6)) * time.Microsecond }
	var classes []emulator.ClassStatus
	for _, discipline := range disciplines {
		for i, site := range sites {
			if discipline.Kind != "netem" || discipline.Handle != fmt.Sprintf("%d0:", firstClass+i) {
				continue
			}
			options := discipline.Options
			rule := shape.Rule{
				Delay: seconds(options.Delay.Delay), Jitter: seconds(options.Delay.Jitter),
				Loss: math.Round(options.Loss.Loss*1e6) / 1e6, Rate: options.Rate.Rate * 8,
			}
			if rule.Loss == 1 {
				rule = shape.Rule{Cut: true}
			}
			classes = append(classes, emulator.ClassStatus{
				Class:    emulator.Class{Name: site.Name, Rule: rule},
				Counters: emulator.Counters{Sent: discipline.Packets, Dropped: discipline.Drops, Queued: discipline.Queued},
			})
		}
	}
	return classes, nil
}
