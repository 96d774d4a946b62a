// SPDX-License-Identifier: Apache-2.0

package ballot_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
)

// reported is what a server reports of a configuration, with the end of its log of one database.
func reported(server string, i ballot.Inspection, lsn string, ready bool) ballot.Report {
	i.Names = []string{"App"}
	i.Databases = []ballot.DatabaseState{{Server: server, Name: "App", Local: true, HardenedLSN: lsn, Ready: ready}}
	return ballot.Report{Server: server, Inspection: i}
}

// More than half of the replicas that commit the configuration are needed.
func TestHowManyReportsAreNeeded(t *testing.T) {
	for voting, needed := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4} {
		NewWithT(t).Expect(ballot.ReportQuorum(voting)).To(Equal(needed), "%d", voting)
	}
}

// Which replicas are counted, and which of them is the best: the newest configuration among the reports tells.
func TestWhatReportsComeTo(t *testing.T) {
	replicas := []ballot.Replica{{"a-0", ballot.ModeSynchronous}, {"b-0", ballot.ModeSynchronous},
		{"c-0", ballot.ModeConfigurationOnly}, {"d-0", ballot.ModeAsynchronous}}
	newest, older := ballot.Inspection{Sequence: 2, Replicas: replicas}, ballot.Inspection{Sequence: 1, Replicas: replicas}
	// It knew b-0 as the only replica.
	alone := ballot.Inspection{Sequence: 3, Replicas: []ballot.Replica{{"B-0", ballot.ModeSynchronous}}}
	nobody := ballot.Inspection{Sequence: 3, Replicas: []ballot.Replica{{"d-0", ballot.ModeAsynchronous}}}
	of := func(server string, i ballot.Inspection) ballot.Report { return reported(server, i, "5", true) }
	refused := of("a-0", newest)
	refused.Refused = true
	type reports = []ballot.Report
	for name, c := range map[string]struct {
		reports reports
		want    ballot.Decision
		quorate bool
	}{
		"nobody":           {nil, ballot.Decision{}, false},
		"no replica votes": {reports{of("a-0", nobody), of("d-0", nobody)}, ballot.Decision{}, false},
		"the candidate alone": {reports{of("a-0", newest)},
			ballot.Decision{Reported: 1, Needed: 2, Best: "a-0", Eligible: true}, false},
		"two synchronous ones": {reports{of("a-0", newest), of("b-0", newest)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "a-0", Eligible: true}, true},
		"one for the configuration": {reports{of("a-0", newest), of("c-0", newest)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "a-0", Eligible: true}, true},
		"an asynchronous one": {reports{of("a-0", newest), of("d-0", newest)},
			ballot.Decision{Reported: 1, Needed: 2, Best: "a-0", Eligible: true}, false},
		"one that is no replica": {reports{of("a-0", newest), of("x-0", newest)},
			ballot.Decision{Reported: 1, Needed: 2, Best: "a-0", Eligible: true}, false},
		"three": {reports{of("a-0", newest), of("b-0", newest), of("c-0", newest)},
			ballot.Decision{Reported: 3, Needed: 2, Best: "a-0", Eligible: true}, true},
		"without any that could be primary": {reports{of("c-0", newest), of("d-0", newest)},
			ballot.Decision{Reported: 1, Needed: 2}, false},
		"the candidate has an older configuration": {reports{of("a-0", older), of("b-0", newest)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "b-0"}, true},
		"the other has, and a longer log": {reports{of("a-0", newest), reported("b-0", older, "9", true)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "a-0", Eligible: true}, true},
		"the candidate was given up": {reports{of("a-0", newest), of("b-0", alone)},
			ballot.Decision{Reported: 1, Needed: 1, Best: "b-0"}, true},
		"the other has a longer log": {reports{of("a-0", newest), reported("b-0", newest, "6", true)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "b-0", Eligible: true}, true},
		"the other has it, and is not synchronized": {reports{of("a-0", newest), reported("b-0", newest, "6", false)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "a-0", Eligible: true}, true},
		"the candidate is not synchronized": {reports{reported("a-0", newest, "6", false), of("b-0", newest)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "b-0", Eligible: true}, true},
		"the candidate was refused": {reports{refused, reported("b-0", newest, "4", false)},
			ballot.Decision{Reported: 2, Needed: 2, Best: "b-0", Eligible: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := ballot.Decide("a-0", c.reports)
			g.Expect(d).To(Equal(c.want))
			g.Expect(d.Quorate()).To(Equal(c.quorate))
		})
	}
}

// Of too few the best by the newest configuration has the most, and where that names none of them the longest log
// tells, but never one that keeps no databases.
func TestWhoHasTheMost(t *testing.T) {
	i := ballot.Inspection{Sequence: 2, Replicas: []ballot.Replica{{"a-0", ballot.ModeAsynchronous},
		{"b-0", ballot.ModeAsynchronous}, {"c-0", ballot.ModeConfigurationOnly}}}
	type reports = []ballot.Report
	for name, c := range map[string]struct {
		best    string
		reports reports
		want    string
	}{
		"nobody":               {"", nil, ""},
		"the best":             {"b-0", reports{reported("a-0", i, "9", true)}, "b-0"},
		"the candidate":        {"", reports{reported("b-0", i, "5", true), reported("A-0", i, "5", true)}, "A-0"},
		"the longest log":      {"", reports{reported("a-0", i, "5", true), reported("b-0", i, "6", true)}, "b-0"},
		"without it":           {"", reports{reported("b-0", i, "6", true)}, "b-0"},
		"no log of a database": {"", reports{reported("a-0", i, "5", true), reported("c-0", i, "6", true)}, "a-0"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(ballot.Most("a-0", ballot.Decision{Best: c.best}, c.reports)).To(Equal(c.want))
		})
	}
}

// The configuration calls a replica synchronized when it has every database of the group and each of its copies is.
func TestWhichReplicasAreReady(t *testing.T) {
	local := func(name string, ready bool) ballot.DatabaseState {
		return ballot.DatabaseState{Name: name, Local: true, Ready: ready}
	}
	type states = []ballot.DatabaseState
	for name, c := range map[string]struct {
		names  []string
		states states
		ready  bool
	}{
		"no databases":         {nil, nil, true},
		"all":                  {[]string{"A", "B"}, states{local("A", true), local("B", true)}, true},
		"one is not":           {[]string{"A", "B"}, states{local("A", true), local("B", false)}, false},
		"one is not there":     {[]string{"A", "B"}, states{local("A", true)}, false},
		"none is there":        {[]string{"A"}, nil, false},
		"a copy of another":    {[]string{"A"}, states{local("A", true), {Name: "A"}}, true},
		"only one of another":  {[]string{"A"}, states{{Name: "A", Ready: true}}, false},
		"more than is said of": {[]string{"A"}, states{local("A", true), local("B", true)}, false},
	} {
		r := ballot.Report{Inspection: ballot.Inspection{Names: c.names, Databases: c.states}}
		NewWithT(t).Expect(r.Ready()).To(Equal(c.ready), name)
	}
}

// Synchronous and configuration-only replicas commit the configuration; a server that has no replica has no mode.
func TestWhichModesVote(t *testing.T) {
	g := NewWithT(t)
	i := ballot.Inspection{Replicas: []ballot.Replica{{"a-0", ballot.ModeSynchronous},
		{"b-0", ballot.ModeAsynchronous}, {"c-0", ballot.ModeConfigurationOnly}, {"d-0", ""}}}
	for server, voting := range map[string]bool{"A-0": true, "b-0": false, "C-0": true, "d-0": false, "x-0": false} {
		g.Expect(i.Mode(server).Votes()).To(Equal(voting), server)
	}
	g.Expect(i.Mode("b-0")).To(Equal(ballot.ModeAsynchronous))
	g.Expect(i.Mode("x-0")).To(BeEmpty())
}

// A primary can commit in every database once as many secondaries are synchronized as a commit needs.
func TestWhatIsSynchronized(t *testing.T) {
	replicas := []ballot.Replica{{"a-0", ballot.ModeSynchronous}, {"b-0", ballot.ModeSynchronous},
		{"c-0", ballot.ModeSynchronous}, {"d-0", ballot.ModeAsynchronous}}
	local := func(name string) ballot.DatabaseState {
		return ballot.DatabaseState{Server: "a-0", Name: name, Local: true, State: "SYNCHRONIZED"}
	}
	of := func(server, name, state string) ballot.DatabaseState {
		return ballot.DatabaseState{Server: server, Name: name, State: state}
	}
	const yes, no = "SYNCHRONIZED", "SYNCHRONIZING"
	type states = []ballot.DatabaseState
	for name, c := range map[string]struct {
		required    int
		names       []string
		states      states
		enough, all bool
	}{
		"no databases": {1, nil, nil, true, true},
		"all":          {1, []string{"A"}, states{local("A"), of("B-0", "A", yes), of("c-0", "A", yes)}, true, true},
		"one of two":   {1, []string{"A"}, states{local("A"), of("b-0", "A", yes), of("c-0", "A", no)}, true, false},
		"too few":      {2, []string{"A"}, states{local("A"), of("b-0", "A", yes), of("c-0", "A", no)}, false, false},
		"none needed":  {0, []string{"A"}, states{local("A")}, true, false},
		"not here":     {0, []string{"A"}, states{of("b-0", "A", yes), of("c-0", "A", yes)}, false, false},
		"an asynchronous one does not count": {2, []string{"A"},
			states{local("A"), of("b-0", "A", yes), of("d-0", "A", yes)}, false, false},
		"in one of two databases": {1, []string{"A", "B"}, states{local("A"), of("b-0", "A", yes), of("c-0", "A", yes),
			local("B")}, false, false},
		"in the other one": {1, []string{"A", "B"}, states{local("A"), local("B"), of("b-0", "B", yes),
			of("c-0", "B", yes)}, false, false},
	} {
		i := ballot.Inspection{Required: c.required, Replicas: replicas, Names: c.names, Databases: c.states}
		enough, all := i.Synchronized()
		NewWithT(t).Expect([]bool{enough, all}).To(Equal([]bool{c.enough, c.all}), name)
	}
}

// The term because of which somebody refused is told where there is one, however the refusal is wrapped.
func TestWhichTermWasPromised(t *testing.T) {
	g := NewWithT(t)
	refusal := ballot.Promised(7, ballot.ErrPromised)
	g.Expect(refusal).To(MatchError(ballot.ErrPromised))
	g.Expect(ballot.PromisedTerm(refusal)).To(Equal(int64(7)))
	g.Expect(ballot.PromisedTerm(ballot.ErrPromised)).To(BeZero())
	g.Expect(ballot.PromisedTerm(nil)).To(BeZero())
}
