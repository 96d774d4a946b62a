// SPDX-License-Identifier: Apache-2.0

// Package model_test keeps the model of the election and the code of it from drifting apart.
package model_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// defines are the numbers that a file defines, the first of each name.
func defines(text string) map[string]int {
	found := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^#define\s+(\w+)\s+(\d+)\b`).FindAllStringSubmatch(text, -1) {
		if _, ok := found[m[1]]; !ok {
			found[m[1]], _ = strconv.Atoi(m[2])
		}
	}
	return found
}

func TestModelHasTheStatesOfAVote(t *testing.T) {
	g := NewWithT(t)
	numbers := defines(read(t, "election.pml"))
	ofVoters := defines(read(t, "voters.pml"))
	for _, state := range []votes.State{votes.StateReleased, votes.StateClaimed, votes.StateHeld} {
		name := strings.ToUpper(string(state))
		g.Expect(numbers).To(HaveKey(name))
		g.Expect(ofVoters).To(HaveKeyWithValue(name, numbers[name]))
	}
	for _, role := range []ballot.Role{ballot.RolePrimary, ballot.RoleSecondary, ballot.RoleResolving} {
		g.Expect(numbers).To(HaveKey(string(role)))
	}
}

func TestModelHasTheReportQuorum(t *testing.T) {
	g := NewWithT(t)
	text := read(t, "election.pml")
	_, right, found := strings.Cut(text, "#else\n#define QUORUM ")
	g.Expect(found).To(BeTrue(), "the quorum of the protocol as it is, without its mutation")
	quorum, err := strconv.Atoi(right[:1])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ballot.ReportQuorum(3)).To(Equal(quorum), "three synchronous replicas, or two and a configuration-only one")
	// membership.pml: MAJORITY(have, set) is COUNT(have & set) > COUNT(set) / 2.
	for n := 1; n <= 9; n++ {
		g.Expect(ballot.ReportQuorum(n) > n/2 && ballot.ReportQuorum(n)-1 <= n/2).To(BeTrue(), "%d replicas", n)
	}
	// voters.pml: the same, of both sets while the voters change.
	simple := votes.Configuration{Voters: []string{"a", "b", "c"}}
	joint := votes.Configuration{Voters: simple.Voters, Next: []string{"c", "d", "e"}}
	quorate := func(c votes.Configuration, have string) bool {
		return c.Quorum(func(site string) bool { return strings.Contains(have, site) })
	}
	g.Expect(quorate(simple, "ab") && !quorate(simple, "a") && !quorate(simple, "ade")).
		To(BeTrue(), "the model's rounds and claims are of two voters of three")
	g.Expect(quorate(joint, "acd") && !quorate(joint, "abc") && !quorate(joint, "cde")).
		To(BeTrue(), "majorities of both sets")
}

// The model counts in ticks; what it rests on is the inequality that admission checks.
func TestModelHasTheTimings(t *testing.T) {
	g := NewWithT(t)
	ticks := defines(read(t, "sizes.h"))
	g.Expect(ticks).To(And(HaveKey("D"), HaveKey("W"), HaveKey("X")))
	g.Expect(ticks["X"]+ticks["W"]).To(BeNumerically("<=", ticks["D"]), "X + W <= D")

	timings := ballot.DefaultTimings()
	g.Expect(timings.Check()).To(Succeed())
	// What the configuration "short-expiry" of ./mutations has: a lease that outlives the votes.
	timings.Expiry = timings.Acknowledge + timings.WriteLease - time.Millisecond
	g.Expect(timings.Check()).NotTo(Succeed())
	g.Expect(ballot.DefaultTimings().SuspectAfter()).To(BeNumerically(">=", ballot.DefaultTimings().Expiry),
		"nobody counts a vote as expired sooner than its holder")
}

// Every mutation that the files know is one of the table, and the table names no other.
func TestEveryMutationIsChecked(t *testing.T) {
	g := NewWithT(t)
	known := map[string]bool{}
	for _, file := range []string{"election.pml", "membership.pml", "settle.pml", "voters.pml"} {
		for _, m := range regexp.MustCompile(`(?m)^#ifn?def (MUT_[A-Z_]+)`).FindAllStringSubmatch(read(t, file), -1) {
			known[m[1]] = true
		}
	}
	checked := map[string]bool{}
	for _, line := range strings.Split(read(t, "mutations"), "\n") {
		if !strings.HasPrefix(line, "#") {
			for _, m := range regexp.MustCompile(`-D(MUT_[A-Z_]+)`).FindAllStringSubmatch(line, -1) {
				checked[m[1]] = true
			}
		}
	}
	g.Expect(checked).To(Equal(known))
}
