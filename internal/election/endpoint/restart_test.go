// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// When an endpoint is restarted, whoever asks: to the nanosecond, and never at the cost of what is well.
func TestWhenAnEndpointIsRestarted(t *testing.T) {
	holder := Facts{Server: "tukpub-0", Group: "content", Primary: true, Held: Settling, Spared: Spared}
	for name, c := range map[string]struct {
		change func(*Facts)
		may    bool
		says   string
	}{
		"a holder that has settled":      {func(*Facts) {}, true, ""},
		"a new one":                      {func(f *Facts) { f.Held = Settling - 1 }, false, "less than 30s"},
		"a secondary":                    {func(f *Facts) { f.Primary, f.Held = false, 0 }, true, ""},
		"one that carries another group": {func(f *Facts) { f.Carries = []string{"blog"} }, false, "as well (blog)"},
		"a secondary that carries another": {func(f *Facts) {
			f.Primary, f.Carries = false, []string{"blog"}
		}, false, "blog"},
		"once, lately":           {func(f *Facts) { f.Made, f.Ago = 1, Again-1 }, false, ""},
		"once, before":           {func(f *Facts) { f.Made, f.Ago = 1, Again }, true, ""},
		"twice, lately":          {func(f *Facts) { f.Made, f.Ago = 2, 2*Again-1 }, false, ""},
		"twice, before":          {func(f *Facts) { f.Made, f.Ago = 2, 2*Again }, true, ""},
		"often":                  {func(f *Facts) { f.Made, f.Ago = 40, 96*time.Minute-1 }, false, ""},
		"often, and long ago":    {func(f *Facts) { f.Made, f.Ago = 40, 96*time.Minute }, true, ""},
		"beside another replica": {func(f *Facts) { f.Feeds = true }, true, ""},
		"beside another one, once more": {func(f *Facts) {
			f.Feeds, f.Made, f.Ago = true, 2, time.Hour
		}, false, "feeds another replica of group content"},
		"beside another one, by who does not count": {func(f *Facts) { f.Feeds, f.Spared = true, 0 }, false, "feeds"},
		"a secondary beside others": {func(f *Facts) {
			f.Primary, f.Feeds, f.Spared = false, true, 0
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := holder
			c.change(&f)
			may, err := f.May()
			g.Expect(may).To(Equal(c.may))
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}
