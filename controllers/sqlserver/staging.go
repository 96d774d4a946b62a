// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites/sidecars"
	"geosql.dev/operator/internal/transfer"
)

// stagingOwner is the field manager of the order of staging, which others do not take away.
const stagingOwner = client.FieldOwner("geosql-sqlserver-staging")

// Watermarks of a staging quota unless others are given; admission compares with the same.
const (
	highWatermark = 90
	lowWatermark  = 60
)

// TellStaging tells the server's sidecar what its mirrors may take.
type TellStaging struct{ Bounds transfer.Staging }

// Describe says how much that is.
func (s TellStaging) Describe() string {
	if s.Bounds == (transfer.Staging{}) {
		return "tell the sidecar that no quota bounds its mirrors any more"
	}
	return fmt.Sprintf("tell the sidecar to keep its mirrors below %s, with watermarks of %d and %d %%",
		gibibytes(s.Bounds.Quota), s.Bounds.High, s.Bounds.Low)
}

// stagingOf is what the site of a server declares of what is kept there; none without a quota.
func stagingOf(name v1alpha1.SiteName, declared []v1alpha1.Site) transfer.Staging {
	for _, site := range declared {
		t := site.Spec.Transfers
		if site.Name != string(name) || t == nil || t.StagingQuota == nil {
			continue
		}
		return transfer.Staging{Quota: t.StagingQuota.Value(),
			High: int(ptr.Deref(t.StagingHighWatermark, highWatermark)),
			Low:  int(ptr.Deref(t.StagingLowWatermark, lowWatermark))}
	}
	return transfer.Staging{}
}

// planStaging tells the sidecar its bounds. Nothing waits for it. It comes before what may end a plan: a quota is
// raised for what is blocked, in whatever state the server is.
func planStaging(d Desired, o Observed, p *reconcile.Plan) bool {
	want, err := orders.EncodeStaging(d.Staging)
	if err == nil && !bytes.Equal(want, o.Orders[orders.StagingKey]) {
		p.Beside(TellStaging{Bounds: d.Staging}, v1alpha1.ReasonApplyFailed)
	}
	return true
}

func (r *Reconciler) tellStaging(ctx context.Context, d Desired, s TellStaging) error {
	value, err := orders.EncodeStaging(s.Bounds)
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	if value != nil {
		data[orders.StagingKey] = value
	}
	return sidecars.Sidecars{Sites: r.sites, Hub: r.hub}.Write(ctx, d.Server.Namespace, d.name(), stagingOwner, data)
}

const (
	// stagingAgain, in percent of the high watermark, is to what mirrors must be for StagingFilling to go, or to the
	// low one where that is more: no more is removed than down to that.
	stagingAgain = 95
	// mostBlocked are so many transfers that a message names.
	mostBlocked = 4
)

// reportStaging has the conditions say what the sidecar says of its staging quota, and nothing of it where there is
// none. While it does not answer they stay.
func reportStaging(d Desired, o Observed, status *v1alpha1.SQLServerStatus) (changes []conditions.Change) {
	if state, err := o.State.Get(); err != nil || state == nil || d.Server.DeletionTimestamp != nil {
		return nil
	}
	if o.Staging == nil {
		for _, kind := range []string{v1alpha1.ConditionStagingFilling, v1alpha1.ConditionStagingCleaned,
			v1alpha1.ConditionStagingBlocked} {
			apimeta.RemoveStatusCondition(&status.Conditions, kind)
		}
		return nil
	}
	was := apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStagingFilling)
	for _, c := range []metav1.Condition{stagingFilling(d, o.Staging, was), stagingCleaned(o.Staging),
		stagingBlocked(d, o.Staging)} {
		if change := conditions.SetOne(&status.StatusBase, d.Server.Generation, c); change != nil {
			changes = append(changes, *change)
		}
	}
	return changes
}

// stagingFilling says whether mirrors take more than the high watermark; was is whether they did.
func stagingFilling(d Desired, s *files.Staging, was bool) metav1.Condition {
	border := s.HighBytes
	if was {
		border = max(border/100*stagingAgain, s.LowBytes)
	}
	if s.UsedBytes <= border {
		return metav1.Condition{Type: v1alpha1.ConditionStagingFilling, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonBelowHighWatermark, Message: "mirrors take no more of the staging quota than its high " +
				"watermark"}
	}
	where := "above its high watermark"
	if s.UsedBytes <= s.HighBytes {
		where = "just below its high watermark, above which they were"
	}
	text := fmt.Sprintf("mirrors take %d %% of the staging quota of %s, %s, and what they take is not known to be "+
		"without use", s.UsedBytes/max(1, s.QuotaBytes/100), gibibytes(s.QuotaBytes), where)
	if s.WaitingBytes > 0 {
		text += fmt.Sprintf(", but for %s that no order names any more, which may go within an hour",
			gibibytes(s.WaitingBytes))
	}
	return metav1.Condition{Type: v1alpha1.ConditionStagingFilling, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonAboveHighWatermark, Message: text + fmt.Sprintf(". Raise spec.transfers.stagingQuota of "+
			"Site %s: the next snapshot may not fit", d.Server.Spec.Site)}
}

func stagingCleaned(s *files.Staging) metav1.Condition {
	if s.Cleaned == nil {
		return metav1.Condition{Type: v1alpha1.ConditionStagingCleaned, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonNothingCleaned, Message: "nothing had to be removed in the last hour"}
	}
	return metav1.Condition{Type: v1alpha1.ConditionStagingCleaned, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonStagingCleaned, Message: fmt.Sprintf("%s that no order had named for an hour was removed at "+
			"%s to keep the staging quota", gibibytes(s.Cleaned.Bytes), s.Cleaned.At.UTC().Format(time.RFC3339))}
}

func stagingBlocked(d Desired, s *files.Staging) metav1.Condition {
	if len(s.Blocked) == 0 {
		return metav1.Condition{Type: v1alpha1.ConditionStagingBlocked, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonQuotaSuffices, Message: "no transfer waits for the staging quota"}
	}
	var names []string
	var needed, waiting int64
	for _, b := range s.Blocked {
		names = append(names, fmt.Sprintf("snapshot %s of %d bytes for Subscription %s", b.Snapshot, b.Bytes,
			b.Subscription))
		// Each counts those that were blocked before it: the largest figure has room for all.
		needed, waiting = max(needed, b.NeededBytes), max(waiting, b.WaitingBytes)
	}
	if more := len(names) - mostBlocked; more > 0 {
		names = append(names[:mostBlocked], fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("what waits does not fit into the staging quota of %s beside what is needed: %s. Raise "+
		"spec.transfers.stagingQuota of Site %s to %s at least", gibibytes(s.QuotaBytes), strings.Join(names, "; "),
		d.Server.Spec.Site, files.Quota(needed))
	if waiting > 0 {
		text += fmt.Sprintf("; %s of that no order names any more, and may go within an hour", gibibytes(waiting))
	}
	return metav1.Condition{Type: v1alpha1.ConditionStagingBlocked, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonQuotaTooSmall, Message: text + ". All goes on by itself"}
}

func gibibytes(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
