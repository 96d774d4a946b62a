// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// stagingAgain, in percent of the high watermark, is below what mirrors must be for StagingFilling to go.
	stagingAgain = 95
	// mostBlocked are so many transfers that a message names.
	mostBlocked = 4
)

// tellStaging has the conditions say what the sidecar says of its staging quota, and nothing of it where there is none.
// While it does not answer they stay.
func tellStaging(d Desired, o Observed, status *v1alpha1.SQLServerStatus) (changes []conditions.Change) {
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
		stagingBlocked(o.Staging)} {
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
		border = border / 100 * stagingAgain
	}
	if s.UsedBytes <= border {
		return metav1.Condition{Type: v1alpha1.ConditionStagingFilling, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonBelowHighWatermark, Message: "mirrors take no more of the staging quota than its high " +
				"watermark"}
	}
	text := fmt.Sprintf("mirrors take %d %% of the staging quota of %s, above its high watermark, and what they take is "+
		"not known to be without use", s.UsedBytes/max(1, s.QuotaBytes/100), gibibytes(s.QuotaBytes))
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

func stagingBlocked(s *files.Staging) metav1.Condition {
	if len(s.Blocked) == 0 {
		return metav1.Condition{Type: v1alpha1.ConditionStagingBlocked, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonQuotaSuffices, Message: "no transfer waits for the staging quota"}
	}
	var texts []string
	for _, b := range s.Blocked[:min(len(s.Blocked), mostBlocked)] {
		texts = append(texts, fmt.Sprintf("Subscription %s: %s", b.Subscription, b.Words()))
	}
	if more := len(s.Blocked) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return metav1.Condition{Type: v1alpha1.ConditionStagingBlocked, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonQuotaTooSmall, Message: strings.Join(texts, "; ") + ". They go on by themselves"}
}

func gibibytes(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
