// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unhindered are the reasons for which a SQLServer that serves as it should is not Ready.
var unhindered = []string{ReasonVolumeCannotGrow, ReasonPartnerTrusted, ReasonCertificateKept, ReasonSecretKept,
	ReasonPodKept, ReasonWaitingForDatabase, ReasonDatabaseConflict, ReasonDatabaseDiffers, ReasonDatabaseInUse,
	ReasonVersionLower, ReasonRestoreAwaited, ReasonRestoreFailed, ReasonDatabaseMissing}

// Serves tells that the server is Ready, or would be but for what keeps nobody else from anything: groups are made with
// it, and others restart beside it. One that is suspended serves as it did.
func (s *SQLServerStatus) Serves() bool {
	c := ReadyAsSeen(s.Conditions)
	return c != nil && (c.Status == metav1.ConditionTrue ||
		c.Status == metav1.ConditionFalse && slices.Contains(unhindered, c.Reason))
}
