// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/transfer"
)

// Each alarm of the staging quota has a condition of its own, which says what to do; without a quota there is none, and
// while the sidecar does not answer they stay.
func TestStagingInTheConditions(t *testing.T) {
	quota := func(used int64) *files.Staging {
		return &files.Staging{QuotaBytes: 100 * gigabyte, HighBytes: 90 * gigabyte, LowBytes: 60 * gigabyte,
			UsedBytes: used * gigabyte}
	}
	waits := quota(95)
	waits.WaitingBytes = 7 * gigabyte
	cleaned := quota(60)
	cleaned.Cleaned = &files.Cleaned{At: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Bytes: 35 * gigabyte}
	blocked := quota(60)
	for i, name := range []string{"dublin", "quincy", "tukwila", "cork", "galway", "kerry"} {
		blocked.Blocked = append(blocked.Blocked, files.Blocked{Subscription: name, Snapshot: "20261120100000",
			Bytes: 50 * gigabyte, QuotaBytes: 100 * gigabyte, NeededBytes: 110*gigabyte + 1 - int64(i%2)*50*gigabyte,
			WaitingBytes: 5 * gigabyte})
	}
	cleanedFar, near := quota(86), quota(83)
	cleanedFar.LowBytes, near.LowBytes = 86*gigabyte, 60*gigabyte
	all := []string{v1alpha1.ConditionStagingFilling, v1alpha1.ConditionStagingCleaned, v1alpha1.ConditionStagingBlocked}
	for name, c := range map[string]struct {
		staging *files.Staging
		was     string
		is      string
		says    []string
	}{
		"room":             {staging: quota(60)},
		"at the watermark": {staging: quota(90)},
		"above it": {staging: quota(95), is: v1alpha1.ConditionStagingFilling, says: []string{
			"mirrors take 95 % of the staging quota of 100.0 GiB", "Raise spec.transfers.stagingQuota of Site tukwila"}},
		"with what goes soon": {staging: waits, is: v1alpha1.ConditionStagingFilling, says: []string{
			"but for 7.0 GiB that no order names any more, which may go within an hour"}},
		"still near it": {staging: quota(88), was: v1alpha1.ConditionStagingFilling, is: v1alpha1.ConditionStagingFilling,
			says: []string{"mirrors take 88 % of the staging quota of 100.0 GiB, just below its high watermark"}},
		"down to a low watermark near it": {staging: cleanedFar, was: v1alpha1.ConditionStagingFilling},
		"down, but not to the low one":    {staging: near, was: v1alpha1.ConditionStagingFilling},
		"below it again":                  {staging: quota(85), was: v1alpha1.ConditionStagingFilling},
		"cleaned": {staging: cleaned, is: v1alpha1.ConditionStagingCleaned, says: []string{
			"35.0 GiB that no order had named for an hour was removed at 2026-11-20T10:00:00Z"}},
		"blocked": {staging: blocked, is: v1alpha1.ConditionStagingBlocked, says: []string{
			"what waits does not fit into the staging quota of 100.0 GiB beside what is needed: snapshot 20261120100000 of " +
				"53687091200 bytes for Subscription dublin; snapshot", "; 2 more. Raise spec.transfers.stagingQuota of Site " +
				"tukwila to 111Gi at least; 5.0 GiB of that no order names any more, and may go within an hour. All goes on"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := Desired{Server: &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Site: "tukwila"}}}
			status := &v1alpha1.SQLServerStatus{}
			if c.was != "" {
				status.Conditions = []metav1.Condition{{Type: c.was, Status: metav1.ConditionTrue,
					Reason: v1alpha1.ReasonAboveHighWatermark}}
			}
			o := Observed{State: reconcile.Read(&agent.StateStatus{}), Staging: c.staging}
			reportStaging(d, o, status)
			for _, kind := range all {
				found := apimeta.FindStatusCondition(status.Conditions, kind)
				g.Expect(found).NotTo(BeNil(), kind)
				g.Expect(found.Status == metav1.ConditionTrue).To(Equal(kind == c.is), kind)
				for _, text := range c.says {
					if kind == c.is {
						g.Expect(found.Message).To(ContainSubstring(text))
					}
				}
			}
			g.Expect(reportStaging(d, o, status)).To(BeEmpty(), "what is so already is no event")

			kept := *status.DeepCopy()
			o.State, o.Staging = reconcile.NotRead[*agent.StateStatus](errors.New("no route")), nil
			g.Expect(reportStaging(d, o, status)).To(BeEmpty())
			g.Expect(*status).To(Equal(kept))
			o.State = reconcile.Read(&agent.StateStatus{})
			g.Expect(reportStaging(d, o, status)).To(BeEmpty())
			g.Expect(status.Conditions).To(BeEmpty())
		})
	}
}

// A server's sidecar is told the bounds of its Site, whatever subscriptions there are, once, and again when they change
// or end; what others have told it stays.
func TestASidecarIsToldItsStagingQuota(t *testing.T) {
	g := NewWithT(t)
	of := func(transfers *v1alpha1.SiteTransfers) v1alpha1.Site {
		return v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "dublin"}, Spec: v1alpha1.SiteSpec{Transfers: transfers}}
	}
	other := of(&v1alpha1.SiteTransfers{StagingQuota: ptr.To(resource.MustParse("9Gi"))})
	other.Name = "quincy"
	server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: "dubsub"},
		Spec: v1alpha1.SQLServerSpec{Site: "dublin"}}
	var o Observed
	steps := func(transfers *v1alpha1.SiteTransfers) []reconcile.Step {
		var p reconcile.Plan
		d := Desire(server, v1alpha1.Site{}, "agent:1", Surroundings{Sites: []v1alpha1.Site{other, of(transfers)}})
		g.Expect(planStaging(d, o, &p)).To(BeTrue())
		return p.All()
	}
	told := func(bounds transfer.Staging) {
		value, err := orders.EncodeStaging(bounds)
		g.Expect(err).NotTo(HaveOccurred())
		o.Orders = map[string][]byte{orders.StagingKey: value, "mirror.dublin": []byte("of another owner")}
	}
	g.Expect(steps(nil)).To(BeEmpty())
	g.Expect(steps(&v1alpha1.SiteTransfers{Workers: 2})).To(BeEmpty())
	declared := &v1alpha1.SiteTransfers{StagingQuota: ptr.To(resource.MustParse("2Gi"))}
	bounds := transfer.Staging{Quota: 2 << 30, High: 90, Low: 60}
	g.Expect(steps(declared)).To(Equal([]reconcile.Step{TellStaging{Bounds: bounds}}))
	g.Expect(TellStaging{Bounds: bounds}.Describe()).To(ContainSubstring("below 2.0 GiB, with watermarks of 90 and 60 %"))
	told(bounds)
	g.Expect(steps(declared)).To(BeEmpty())
	raised := &v1alpha1.SiteTransfers{StagingQuota: ptr.To(resource.MustParse("1500M")),
		StagingHighWatermark: ptr.To[int32](80), StagingLowWatermark: ptr.To[int32](10)}
	g.Expect(steps(raised)).To(Equal([]reconcile.Step{
		TellStaging{Bounds: transfer.Staging{Quota: 1_500_000_000, High: 80, Low: 10}}}))
	g.Expect(steps(nil)).To(Equal([]reconcile.Step{TellStaging{}}))
	g.Expect(TellStaging{}.Describe()).To(ContainSubstring("no quota"))
}

// It is told so also where the plan for the server ends early.
func TestASidecarIsToldItsStagingQuotaWhateverElseIs(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.d.Staging = transfer.Staging{Quota: 2 << 30, High: 90, Low: 60}
	e.d.misshapen = field.ErrorList{field.Invalid(field.NewPath("spec"), "", "it is no server")}
	g.Expect(plan(e.d, e.o).Aside).To(ContainElement(HaveField("Step", Equal(TellStaging{Bounds: e.d.Staging}))))
}
