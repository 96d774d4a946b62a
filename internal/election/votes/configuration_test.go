// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Who votes is read from annotations that belong together.
func TestWhichConfigurationsAreRead(t *testing.T) {
	const sites = `"voters":["a","b","c"]`
	g := NewWithT(t)
	g.Expect(parseConfiguration("1", "")).To(BeZero())
	g.Expect(parseConfiguration("1", `{"term":0,"number":0,`+sites+`}`)).
		To(Equal(Configuration{Voters: []string{"a", "b", "c"}}))
	g.Expect(parseConfiguration("2.1", `{"term":2,"number":1,`+sites+`,"next":["d"]}`)).
		To(Equal(Configuration{Term: 2, Number: 1, Voters: []string{"a", "b", "c"}, Next: []string{"d"}}))
	long := `{"term":0,"number":0,` + sites + `}`
	long += strings.Repeat(" ", maxVotersBytes-len(long))
	_, err := parseConfiguration("1", long)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = parseConfiguration("1", long+" ")
	g.Expect(err).To(MatchError(ContainSubstring("is longer than")))
	for name, c := range map[string]struct{ generation, voters, says string }{
		"none, in a later generation": {"2.1", "", "annotation geosql.dev/voters"},
		"no JSON":                     {"1", "{", "annotation geosql.dev/voters"},
		"nobody votes":                {"2.1", `{"term":2,"number":1,"voters":[]}`, "is not a configuration"},
		"a term below 0":              {"-2.1", `{"term":-2,"number":1,` + sites + `}`, "is not a configuration"},
		"a number below 0":            {"2.-1", `{"term":2,"number":-1,` + sites + `}`, "is not a configuration"},
		"a number without a term":     {"1", `{"term":0,"number":1,` + sites + `}`, "is not a configuration"},
		"a term without a number":     {"2.0", `{"term":2,"number":0,` + sites + `}`, "is not a configuration"},
		"a first one that changes":    {"1", `{"term":0,"number":0,` + sites + `,"next":["d"]}`, "is not a configuration"},
		"another generation":          {"2.2", `{"term":2,"number":1,` + sites + `}`, "do not belong together"},
	} {
		_, err := parseConfiguration(c.generation, c.voters)
		g.Expect(err).To(MatchError(ContainSubstring(c.says)), name)
	}
}

// What is needed is said of both sets while the voters change.
func TestAConfigurationSaysWhatItNeeds(t *testing.T) {
	g := NewWithT(t)
	c := Configuration{Term: 2, Number: 1, Voters: []string{"a", "b", "c"}}
	g.Expect(c.String()).To(Equal("a majority of a, b, c"))
	c.Next = []string{"d", "e"}
	g.Expect(c.String()).To(Equal("a majority of a, b, c and one of d, e"))
}

// An observer who does not hear every site says who leads by those that answer.
func TestWhoLeadsForAnObserver(t *testing.T) {
	g := NewWithT(t)
	c := Configuration{Voters: []string{"a", "b", "c"}}
	his, mine := Record{Term: 3, State: StateHeld, Holder: rival}, Record{Term: 4, State: StateClaimed, Holder: own}
	leading, ok := c.Leading(map[string]Record{"b": his, "c": his})
	g.Expect(ok).To(BeTrue())
	g.Expect(leading).To(Equal(his))
	leading, ok = c.Leading(map[string]Record{"b": his, "c": mine})
	g.Expect(ok).To(BeTrue())
	g.Expect(leading).To(Equal(mine), "no majority agrees")
	leading, ok = c.Leading(map[string]Record{"b": mine, "c": his})
	g.Expect(ok).To(BeTrue())
	g.Expect(leading).To(Equal(mine))
	leading, ok = c.Leading(map[string]Record{"c": his})
	g.Expect(ok).To(BeFalse())
	g.Expect(leading).To(Equal(his))
	_, ok = c.Leading(map[string]Record{"x": his, "y": his})
	g.Expect(ok).To(BeFalse(), "they do not vote")
}
