// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/schedule"
)

// A window is open from its time on for as long as it lasts, in its own time zone; of several any will do.
func TestWhenAWindowIsOpen(t *testing.T) {
	window := func(schedule, zone string, d time.Duration) v1alpha1.MaintenanceWindow {
		return v1alpha1.MaintenanceWindow{Schedule: schedule, TimeZone: zone, Duration: metav1.Duration{Duration: d}}
	}
	// A Sunday. Dublin is an hour ahead of UTC in July.
	at := func(hour, minute int) time.Time { return time.Date(2026, 7, 5, hour, minute, 0, 0, time.UTC) }
	sunday := window("0 3 * * 0", "Europe/Dublin", time.Hour)
	only := func(w v1alpha1.MaintenanceWindow) []v1alpha1.MaintenanceWindow {
		return []v1alpha1.MaintenanceWindow{w}
	}
	both := append(only(sunday), window("0 9 * * *", "", time.Hour))
	for name, c := range map[string]struct {
		windows []v1alpha1.MaintenanceWindow
		now     time.Time
		open    bool
		next    time.Time
	}{
		"none":                   {now: at(12, 0), open: true},
		"before it":              {only(sunday), at(1, 59), false, at(2, 0)},
		"when it opens":          {only(sunday), at(2, 0), true, time.Time{}},
		"before it ends":         {only(sunday), at(2, 59), true, time.Time{}},
		"when it ends":           {only(sunday), at(3, 0), false, at(2, 0).AddDate(0, 0, 7)},
		"the second of two":      {both, at(9, 30), true, time.Time{}},
		"the sooner one is next": {both, at(8, 0), false, at(9, 0)},
		"past midnight":          {only(window("0 22 * * 6", "", 4*time.Hour)), at(1, 0), true, time.Time{}},
		"never": {only(window("0 0 30 2 *", "", time.Hour)), at(8, 0), false,
			time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			open, next, err := schedule.Open(c.windows, c.now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(open).To(Equal(c.open))
			g.Expect(next.Equal(c.next)).To(BeTrue(), "%s instead of %s", next, c.next)
		})
	}
	g := NewWithT(t)
	open, _, err := schedule.Open([]v1alpha1.MaintenanceWindow{window("at night", "", time.Hour)}, at(0, 0))
	g.Expect(open).To(BeFalse())
	g.Expect(err).To(MatchError(ContainSubstring("cron's five fields")))
}

// Servers of a group are updated while a window of each of them is open. When that is is told, or that it never is.
func TestWhenWindowsAreAllOpen(t *testing.T) {
	type set = []v1alpha1.MaintenanceWindow
	window := func(schedule string, d time.Duration) v1alpha1.MaintenanceWindow {
		return v1alpha1.MaintenanceWindow{Schedule: schedule, Duration: metav1.Duration{Duration: d}}
	}
	now := time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC) // a Monday
	nightly, sunday := window("0 3 * * *", 2*time.Hour), window("0 4 * * 0", 4*time.Hour)
	for name, c := range map[string]struct {
		sets []set
		want time.Time
	}{
		"none":            {nil, now},
		"of one":          {[]set{{nightly}}, time.Date(2026, 7, 7, 3, 0, 0, 0, time.UTC)},
		"all are open":    {[]set{{window("0 12 * * *", time.Hour)}, {window("0 11 * * *", 2*time.Hour)}}, now},
		"where they meet": {[]set{{nightly}, {sunday}}, time.Date(2026, 7, 12, 4, 0, 0, 0, time.UTC)},
		"with one of several": {[]set{{window("0 9 * * *", time.Hour), nightly}, {sunday}},
			time.Date(2026, 7, 12, 4, 0, 0, 0, time.UTC)},
		"they only touch":          {[]set{{nightly}, {window("0 5 * * *", time.Hour)}}, time.Time{}},
		"one never opens":          {[]set{{nightly}, {window("0 0 30 2 *", time.Hour)}}, time.Time{}},
		"in more than a year only": {[]set{{window("0 0 29 2 *", time.Hour)}}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at, err := schedule.Common(c.sets, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at.Equal(c.want)).To(BeTrue(), "%s instead of %s", at, c.want)
		})
	}
	_, err := schedule.Common([]set{{window("at night", time.Hour)}}, now)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("cron's five fields")))
}
