// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Of what several votes tell of one server the newest term counts, and within a term that a person has decided.
func TestWhichQuarantinedReplicasAreTold(t *testing.T) {
	apart := func(server string, term int64, over bool) Apart { return Apart{Server: server, Term: term, Over: over} }
	for name, c := range map[string]struct{ told, want []Apart }{
		"two servers":             {[]Apart{apart("a-0", 2, false), apart("b-0", 2, false)}, nil},
		"one server twice":        {[]Apart{apart("a-0", 2, false), apart("A-0", 2, false)}, []Apart{apart("a-0", 2, false)}},
		"a newer term":            {[]Apart{apart("a-0", 2, false), apart("a-0", 3, false)}, []Apart{apart("a-0", 3, false)}},
		"a newer term after over": {[]Apart{apart("a-0", 2, true), apart("a-0", 3, false)}, []Apart{apart("a-0", 3, false)}},
		"an older term":           {[]Apart{apart("a-0", 3, false), apart("a-0", 2, true)}, []Apart{apart("a-0", 3, false)}},
		"decided":                 {[]Apart{apart("a-0", 3, false), apart("a-0", 3, true)}, []Apart{apart("a-0", 3, true)}},
		"decided before":          {[]Apart{apart("a-0", 3, true), apart("a-0", 3, false)}, []Apart{apart("a-0", 3, true)}},
		"decided twice":           {[]Apart{apart("a-0", 3, true), apart("A-0", 3, true)}, []Apart{apart("a-0", 3, true)}},
		"the second of two": {[]Apart{apart("a-0", 3, false), apart("b-0", 3, false), apart("b-0", 4, false)},
			[]Apart{apart("a-0", 3, false), apart("b-0", 4, false)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			want := c.want
			if want == nil {
				want = c.told
			}
			var votes []Record
			for _, a := range c.told {
				votes = append(votes, Record{Notes: Notes{Apart: EncodeNote([]Apart{a})}})
			}
			g.Expect(QuarantinedReplicas(votes...)).To(Equal(want))
			g.Expect(QuarantinedReplicas(Record{Notes: Notes{Apart: EncodeNote(c.told)}})).To(Equal(want), "told by one vote")
			unread := append([]Record{{}, {Notes: Notes{Apart: "{"}}}, votes...)
			g.Expect(QuarantinedReplicas(unread...)).To(Equal(want), "what cannot be read hides nothing")
		})
	}
}

// The lost range grows by what quarantined replicas of its term have told, and is known once the former primary has.
func TestALostRangeIsCompletedByQuarantinedReplicas(t *testing.T) {
	commit := MicroTime(time.Unix(1_800_000_000, 0))
	line := Timeline{Term: 3, From: "old-0", Lost: &LostRange{Databases: []LostDatabase{
		{Name: "App", FromLSN: "5", ToLSN: "7"}, {Name: "Shop", FromLSN: "5"}}}}
	of := func(server string, term int64, databases ...ApartDatabase) Apart {
		return Apart{Server: server, Term: term, Databases: databases}
	}
	app, shop := line.Lost.Databases[0], line.Lost.Databases[1]
	further := func(d LostDatabase, to string) LostDatabase {
		d.ToLSN, d.OldLastCommit = to, commit
		return d
	}
	told := func(name, to string) ApartDatabase { return ApartDatabase{Name: name, ToLSN: to, LastCommit: commit} }
	for name, c := range map[string]struct {
		apart []Apart
		known bool
		want  []LostDatabase
	}{
		"nobody has told":      {nil, false, []LostDatabase{app, shop}},
		"the former primary":   {[]Apart{of("OLD-0", 3, told("App", "9"))}, true, []LostDatabase{further(app, "9"), shop}},
		"another replica":      {[]Apart{of("b-0", 3, told("Shop", "6"))}, false, []LostDatabase{app, further(shop, "6")}},
		"one that has less":    {[]Apart{of("old-0", 3, told("App", "6"))}, true, []LostDatabase{app, shop}},
		"one that has as much": {[]Apart{of("old-0", 3, told("App", "7"))}, true, []LostDatabase{app, shop}},
		"of another term":      {[]Apart{of("old-0", 2, told("App", "9"))}, false, []LostDatabase{app, shop}},
		"of two terms": {[]Apart{of("b-0", 2, told("App", "9")), of("old-0", 3, told("App", "8"))}, true,
			[]LostDatabase{further(app, "8"), shop}},
		"both": {[]Apart{of("old-0", 3, told("App", "8")), of("b-0", 3, told("App", "9"))}, true,
			[]LostDatabase{further(app, "9"), shop}},
		"a database of no part": {[]Apart{of("b-0", 3, told("Other", "9"))}, false, []LostDatabase{app, shop}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(line.Complete(c.apart)).To(Equal(&LostRange{Known: c.known, Databases: c.want}))
			g.Expect(line.Lost).To(Equal(&LostRange{Databases: []LostDatabase{app, shop}}), "the line itself stays")
			known := line
			known.Lost = &LostRange{Known: true, Databases: line.Lost.Databases}
			g.Expect(known.Complete(c.apart)).To(Equal(&LostRange{Known: true, Databases: c.want}))
			g.Expect(Timeline{Term: 3, From: "old-0"}.Complete(c.apart)).To(BeNil(), "nothing was forced")
		})
	}
}
