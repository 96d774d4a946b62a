// SPDX-License-Identifier: Apache-2.0

// Package emulator shapes the traffic that leaves one network device: frames
// to the destinations of a class are diverted to user space, held, dropped or
// changed as the class's rule says, and sent out of the device.
package emulator

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/hack/bed/netem/link"
	"geosql.dev/operator/hack/bed/netem/queue"
	"geosql.dev/operator/hack/bed/netem/shape"
)

// Class is one link of the device: a set of destinations and a rule.
type Class struct {
	// Name tells the classes of a device apart. A class that keeps its name
	// keeps its queue, whatever else changes.
	Name string `json:"name"`
	// Owner is who set the class: different programs may share a device.
	Owner string `json:"owner,omitempty"`
	// To are IPv4 prefixes; the longest prefix of all classes wins.
	To []netip.Prefix `json:"to,omitempty"`
	// Priorities are values of skb->priority, as iptables' CLASSIFY sets it;
	// they go before any prefix, and link.Everything comes last.
	Priorities []uint32 `json:"priorities,omitempty"`
	// Rule is what happens to the frames.
	Rule shape.Rule `json:"rule"`
	// Then are further links behind the first.
	Then []shape.Rule `json:"then,omitempty"`
}

func (c Class) rules() []shape.Rule { return append([]shape.Rule{c.Rule}, c.Then...) }

// cut tells whether nothing passes, direct whether nothing is changed.
func (c Class) cut() bool {
	return slices.ContainsFunc(c.rules(), func(r shape.Rule) bool { return r.Cut })
}

func (c Class) direct() bool {
	return !slices.ContainsFunc(c.rules(), func(r shape.Rule) bool { return !r.Transparent() })
}

// NameOf returns the name of a class that was given none: its destinations in
// their canonical order.
func NameOf(to []netip.Prefix) string {
	words := make([]string, 0, len(to))
	for _, prefix := range canonical(to) {
		words = append(words, prefix.String())
	}
	return strings.Join(words, ",")
}

func canonical(to []netip.Prefix) []netip.Prefix {
	sorted := make([]netip.Prefix, 0, len(to))
	for _, prefix := range to {
		sorted = append(sorted, prefix.Masked())
	}
	slices.SortFunc(sorted, netip.Prefix.Compare)
	return slices.Compact(sorted)
}

// ParseDestinations reads a comma-separated list of IPv4 prefixes; an address
// without a length stands for itself.
func ParseDestinations(text string) ([]netip.Prefix, error) {
	var to []netip.Prefix
	for word := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(word)
		if address, addressErr := netip.ParseAddr(word); addressErr == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || !prefix.Addr().Is4() {
			return nil, fmt.Errorf(
				"%q is not an IPv4 prefix: write for example 10.102.0.0/16 or 172.18.0.5, several separated by commas",
				word,
			)
		}
		to = append(to, prefix)
	}
	return canonical(to), nil
}

// maxClasses is what the classifier can tell apart.
const maxClasses = 64

// Validate checks a device's whole set of classes.
func Validate(classes []Class) error {
	var errs []error
	if len(classes) > maxClasses {
		errs = append(errs, fmt.Errorf("%d classes are more than the %d a device can have", len(classes), maxClasses))
	}
	names := map[string]bool{}
	owner := map[netip.Prefix]string{}
	byPriority := map[uint32]string{}
	for _, class := range classes {
		if class.Name == "" || names[class.Name] {
			errs = append(errs, fmt.Errorf("class name %q is empty or there twice", class.Name))
		}
		names[class.Name] = true
		if len(class.To)+len(class.Priorities) == 0 {
			errs = append(errs, fmt.Errorf("class %s has no destination", class.Name))
		}
		for _, prefix := range canonical(class.To) {
			if !prefix.IsValid() || !prefix.Addr().Is4() {
				errs = append(errs, fmt.Errorf("class %s: %s is not an IPv4 prefix", class.Name, prefix))
			} else if other, taken := owner[prefix]; taken {
				errs = append(errs, fmt.Errorf("class %s: %s belongs to class %s already; clear that first", class.Name, prefix,
					other))
			}
			owner[prefix] = class.Name
		}
		for _, priority := range class.Priorities {
			if other, taken := byPriority[priority]; taken {
				errs = append(
					errs,
					fmt.Errorf("class %s: priority %#x belongs to class %s already; clear that first", class.Name, priority, other),
				)
			}
			byPriority[priority] = class.Name
		}
		for _, rule := range class.rules() {
			if err := rule.Validate(); err != nil {
				errs = append(errs, fmt.Errorf("class %s: %w", class.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Counters count frames of one class since it was made. A super-frame of many
// packets is one frame.
type Counters struct {
	// Received frames were diverted to the emulator, Sent ones left the device.
	Received uint64 `json:"received"`
	Sent     uint64 `json:"sent"`
	// Dropped frames fell to the rule: loss, a full buffer, the limit, a cut.
	Dropped uint64 `json:"dropped"`
	// Refused frames were not taken by the device.
	Refused uint64 `json:"refused,omitempty"`
	// LastRefusal is the kernel's reason for the last one.
	LastRefusal string `json:"lastRefusal,omitempty"`
	// Queued frames wait now.
	Queued int `json:"queued"`
	// LateP99 and LateWorst are how long after their due time frames left.
	LateP99   time.Duration `json:"lateP99"`
	LateWorst time.Duration `json:"lateWorst"`
}

// ClassStatus is a class as it is in force.
type ClassStatus struct {
	Class
	Counters
}

// class is a Class at work. The fields of the second part belong to the loop.
type class struct {
	Class
	number  int
	tap     *link.TAP
	offload link.Offload

	links    *shape.Pipeline
	underway int
	counters Counters
	late     queue.Lateness
	retiring bool
	retireAt int64
}

func offloadFor(rules []shape.Rule) link.Offload {
	offload := link.SuperFrames
	for _, rule := range rules {
		switch {
		case rule.Corrupt > 0:
			return link.FinishedPackets
		case rule.PerPacket():
			offload = link.Packets
		}
	}
	return offload
}
