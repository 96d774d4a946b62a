// SPDX-License-Identifier: Apache-2.0

package sites_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/internal/sites"
)

// An API server tells its time with every answer. What differs by less than can be told does not differ.
func TestClocksAreComparedByWhatAnswersTell(t *testing.T) {
	for name, c := range map[string]struct {
		// other is the header of the answer; the time of a clock that is so far apart unless given.
		other *string
		apart time.Duration
	}{
		"the same":                    {},
		"ahead":                       {apart: 400 * 24 * time.Hour},
		"behind":                      {apart: -2 * time.Hour},
		"a proxy takes the time out":  {other: ptr.To("")},
		"what is there is not a time": {other: ptr.To("yesterday")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				date := ptr.Deref(c.other, time.Now().Add(c.apart).UTC().Format(http.TimeFormat))
				w.Header()["Date"] = nil
				if date != "" {
					w.Header().Set("Date", date)
				}
			}))
			defer server.Close()
			clock := sites.NewClock()
			_, known := clock.Difference(time.Now())
			g.Expect(known).To(BeFalse(), "nothing was compared yet")
			response, err := (&http.Client{Transport: clock.Wrap(http.DefaultTransport)}).Get(server.URL)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Body.Close()).To(Succeed())
			difference, known := clock.Difference(time.Now())
			g.Expect(known).To(Equal(c.other == nil))
			g.Expect(difference.Apart()).To(BeNumerically("~", c.apart, 30*time.Second))
			if c.apart == 0 {
				g.Expect(difference.Apart()).To(BeZero())
			}
			_, known = clock.Difference(time.Now().Add(2 * time.Minute))
			g.Expect(known).To(BeFalse(), "the clock may have been set since")
		})
	}
	var none *sites.Clock
	_, known := none.Difference(time.Now())
	NewWithT(t).Expect(known).To(BeFalse())
}
