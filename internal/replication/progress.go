// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// CopyWords says how much of a copy's snapshot is at the subscriber's site, how fast it comes, and how long it takes
// yet.
func CopyWords(s *v1alpha1.SubscriptionCopy) string {
	what := "snapshot " + s.Snapshot
	if s.Backup != "" {
		what = "backup " + s.Backup
	}
	text := fmt.Sprintf("%s: %d of %d bytes are at the subscriber's site", what, s.PresentBytes, s.Bytes)
	if s.BytesPerSecond > 0 {
		text += fmt.Sprintf(", %s a second", Size(s.BytesPerSecond))
	}
	if s.RemainingSeconds != nil {
		text += ", about " + Rounded(time.Duration(*s.RemainingSeconds)*time.Second).String() + " to go"
	}
	if b := s.Brought; b != nil && b.LackingFiles > 0 {
		text += fmt.Sprintf("; a person brings %d of %d files from %s of %s to %s", b.LackingFiles, b.Files, b.Source,
			b.Server, b.Folder)
	}
	return text
}

// CopyTook says what the phases of a copy took that have ended, beside what was expected.
func CopyTook(s *v1alpha1.SubscriptionCopy) string {
	var parts []string
	for _, p := range []struct {
		name    string
		seconds *int64
	}{{"snapshot", s.SnapshotSeconds}, {"backup", s.BackupSeconds}, {"transfer", s.TransferSeconds},
		{"restore", s.RestoreSeconds}, {"apply", s.ApplySeconds}} {
		if p.seconds != nil {
			parts = append(parts, p.name+" "+Rounded(time.Duration(*p.seconds)*time.Second).String())
		}
	}
	if s.Bytes > 0 {
		size := Size(s.Bytes)
		if s.ReusedBytes > 0 {
			size += fmt.Sprintf(", of which %s were there", Size(s.ReusedBytes))
		}
		parts = append(parts, size)
	}
	if s.ExpectedSeconds != nil {
		parts = append(parts, fmt.Sprintf("at least %s on the way were expected",
			Rounded(time.Duration(*s.ExpectedSeconds)*time.Second)))
	}
	return strings.Join(parts, "; ")
}
