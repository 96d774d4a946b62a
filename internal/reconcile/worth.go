// SPDX-License-Identifier: Apache-2.0

package reconcile

// worthPart is the part of a whole by which a figure must have changed for a status to be written.
const worthPart = 50

// WorthWriting tells that a figure that is always moving, such as what is free of a volume, has changed by a fiftieth
// of the whole since it was written to a status. What moves less is for metrics: a status is read by every watch of it.
func WorthWriting(written, now, whole int64) bool {
	return max(written-now, now-written) >= max(whole/worthPart, 1)
}
