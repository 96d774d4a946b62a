// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Annotations of a group's Lease that say who votes. annotationGeneration is "1" in the configuration that a group
// began with, and "term.number" in every other one: releases that know of no other configuration read no such vote, and
// an unread vote grants nothing.
const (
	annotationGeneration = "geosql.dev/voter-generation"
	annotationVoters     = "geosql.dev/voters"
)

// firstGeneration is the generation of the configuration that a group began with.
const firstGeneration = "1"

// maxVotersBytes bounds what is read of a configuration: fourteen names of sites.
const maxVotersBytes = 8 << 10

// Configuration says who votes. It is part of every vote. Of two the one with the higher Term, then Number, is newer;
// those that have both alike are one. The zero value is no configuration.
type Configuration struct {
	// Term of the holder that made it, 0 for the one that the group began with.
	Term int64 `json:"term"`
	// Number among those of the term, from 1 on.
	Number int64 `json:"number"`
	// Voters are the sites that vote.
	Voters []string `json:"voters"`
	// Next are, while the voters change, those that are to vote alone from then on: until then a majority of both is
	// needed.
	Next []string `json:"next,omitempty"`
}

// IsZero says that it is no configuration.
func (c Configuration) IsZero() bool { return len(c.Voters) == 0 }

// Changing says whether majorities of two sets are needed.
func (c Configuration) Changing() bool { return len(c.Next) > 0 }

// Newer says whether c replaces o.
func (c Configuration) Newer(o Configuration) bool {
	return cmp.Or(cmp.Compare(c.Term, o.Term), cmp.Compare(c.Number, o.Number)) > 0
}

// Same says whether both are one configuration.
func (c Configuration) Same(o Configuration) bool { return c.Term == o.Term && c.Number == o.Number }

// Contradicts says that two configurations of one stamp name different sites, nil if they do not: somebody was told
// another set than the one that the group began with. Of two sets that both believe to be that one each could have a
// majority.
func (c Configuration) Contradicts(o Configuration) error {
	if c.IsZero() || o.IsZero() || !c.Same(o) || SameSites(c.Voters, o.Voters) && SameSites(c.Next, o.Next) {
		return nil
	}
	return fmt.Errorf("the vote needs %s, and here it is %s: neither is newer", c, o)
}

// Sites are all that vote in it, each once.
func (c Configuration) Sites() []string {
	sites := slices.Clone(c.Voters)
	for _, s := range c.Next {
		if !slices.Contains(sites, s) {
			sites = append(sites, s)
		}
	}
	return sites
}

// Final are the sites that vote when no change is under way any more.
func (c Configuration) Final() []string {
	if c.Changing() {
		return c.Next
	}
	return c.Voters
}

// Quorum says whether the sites that have something decide: a majority, of both sets while the voters change.
func (c Configuration) Quorum(has func(site string) bool) bool {
	return Majority(c.Voters, has) && (!c.Changing() || Majority(c.Next, has))
}

// Majority says whether more than half of the sites have something.
func Majority(sites []string, has func(site string) bool) bool {
	n := 0
	for _, s := range sites {
		if has(s) {
			n++
		}
	}
	return n > len(sites)/2
}

// String is "a majority of a, b, c", for messages.
func (c Configuration) String() string {
	text := "a majority of " + strings.Join(c.Voters, ", ")
	if c.Changing() {
		text += " and one of " + strings.Join(c.Next, ", ")
	}
	return text
}

// SameSites says whether two sets have the same sites, in any order.
func SameSites(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// generation is what releases that know of no other configuration than the first can read of it.
func (c Configuration) generation() string {
	if c.Term == 0 {
		return firstGeneration
	}
	return strconv.FormatInt(c.Term, 10) + "." + strconv.FormatInt(c.Number, 10)
}

// Encode makes the annotation's value, empty for no configuration.
func (c Configuration) Encode() string {
	if c.IsZero() {
		return ""
	}
	return EncodeNote(c)
}

// parseConfiguration reads the annotations' values. Without the one the vote has the configuration that the group began
// with, of which it does not tell the sites.
func parseConfiguration(generation, voters string) (Configuration, error) {
	if voters == "" && generation == firstGeneration {
		return Configuration{}, nil
	}
	var c Configuration
	if len(voters) > maxVotersBytes {
		return c, fmt.Errorf("annotation %s is longer than %d bytes", annotationVoters, maxVotersBytes)
	}
	if err := json.Unmarshal([]byte(voters), &c); err != nil {
		return Configuration{}, fmt.Errorf("annotation %s: %w", annotationVoters, err)
	}
	if c.IsZero() || c.Term < 0 || c.Number < 0 || (c.Term == 0) != (c.Number == 0) || c.Term == 0 && c.Changing() {
		return Configuration{}, fmt.Errorf("annotation %s is not a configuration of voters", annotationVoters)
	}
	if c.generation() != generation {
		return Configuration{}, fmt.Errorf(
			"annotations %s (%q) and %s do not belong together",
			annotationGeneration,
			generation,
			annotationVoters,
		)
	}
	return c, nil
}

// Configured is the newest configuration that the records of several votes tell, or began where none tells another.
func Configured(began Configuration, records ...Record) Configuration {
	newest := began
	for _, r := range records {
		if c := r.Configuration(); !c.IsZero() && (newest.IsZero() || c.Newer(newest)) {
			newest = c
		}
	}
	return newest
}

// Leading is the record that a majority agrees on among those that answered, by site, or where they agree on none that
// of the highest term; within a term a Held or Claimed one leads a Released one. It is false when they are no majority.
// It is for those who decide nothing: agents use a Ballot.
func (c Configuration) Leading(records map[string]Record) (leading Record, ok bool) {
	first := true
	for _, site := range c.Sites() {
		r, known := records[site]
		if !known {
			continue
		}
		if c.Quorum(func(site string) bool { o, known := records[site]; return known && o.Alike(r) }) {
			return r, true
		}
		if first || r.Leads(leading) {
			leading, first = r, false
		}
	}
	return leading, c.Quorum(func(site string) bool { _, known := records[site]; return known })
}

// Follow is the newest configuration that c leads to: that of those who vote in c, of those who vote in that one, and
// so on. What a site tells that votes in none of them may be of another group.
func (c Configuration) Follow(records map[string]Record) Configuration {
	for {
		newest := Configured(c, c.Among(records)...)
		if newest.Same(c) {
			return c
		}
		c = newest
	}
}

// Among are the records of those that vote in c, by site.
func (c Configuration) Among(records map[string]Record) []Record {
	var votes []Record
	for _, site := range c.Sites() {
		if r, known := records[site]; known {
			votes = append(votes, r)
		}
	}
	return votes
}

// Learn is what somebody knows who was told another configuration and has c from a declaration only: what is told
// counts, also of the voters that the group began with.
func (c Configuration) Learn(told Configuration) Configuration {
	if !told.IsZero() && (c.Term == 0 && told.Term == 0 || told.Newer(c)) {
		return told
	}
	return c
}

// Known is what somebody learns from votes who knows the configuration from a declaration only. Votes of a group that
// nobody has claimed yet, and those of earlier releases, tell nothing.
func Known(declared Configuration, records ...Record) Configuration {
	for _, r := range records {
		declared = declared.Learn(r.Configuration())
	}
	return declared
}
