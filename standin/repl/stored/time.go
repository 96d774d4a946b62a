// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"time"

	"geosql.dev/standin/sqltype"
)

// NowText is the time for datetime columns, which have no more than milliseconds.
func NowText() string { return timeText(sqltype.DateTimeType, time.Now().UTC()) }

// HoursAgo is the time so many hours ago.
func HoursAgo(hours int64) string {
	return timeText(sqltype.DateTimeType, time.Now().UTC().Add(-time.Duration(hours)*time.Hour))
}
