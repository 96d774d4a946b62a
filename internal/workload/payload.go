// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
)

// Payload is what each row carries beside what it is known by.
type Payload struct {
	// Table that it is put into; none when empty.
	Table tsql.PayloadTable
	// Bytes of it, MinPayload to MaxArticle in dbo.Article, to MaxAttachment in dbo.Attachment.
	Bytes int
}

// Bounds of a payload's size in bytes.
const (
	MinPayload    = tsql.MarkBytes
	MaxArticle    = 1024
	MaxAttachment = 1 << 20
)

func (p Payload) check() error {
	most := MaxArticle
	switch p.Table {
	case "":
		return nil
	case tsql.AttachmentPayload:
		most = MaxAttachment
	case tsql.ArticlePayload:
	default:
		return fmt.Errorf("payloads go into %s or %s, not into %q", tsql.ArticlePayload, tsql.AttachmentPayload, p.Table)
	}
	if p.Bytes < MinPayload || p.Bytes > most {
		return fmt.Errorf("a payload in %s must have between %d and %d bytes, not %d", p.Table, MinPayload, most, p.Bytes)
	}
	return nil
}

// content begins with the row's name, and goes on with characters that follow from it.
func (p Payload) content(id history.RowID) any {
	text := fmt.Sprintf("%d.%d ", id.Run, id.Number)
	text += Body(id.Run<<22|id.Number&(1<<22-1), p.Bytes-len(text))
	if p.Table == tsql.AttachmentPayload {
		return []byte(text)
	}
	return text
}

// rowOf reads the name with which a payload begins.
func rowOf(mark string) (history.RowID, error) {
	name, _, _ := strings.Cut(mark, " ")
	run, op, ok := strings.Cut(name, ".")
	id := history.RowID{}
	var err error
	if id.Run, err = strconv.ParseInt(run, 10, 64); err == nil && ok {
		id.Number, err = strconv.ParseInt(op, 10, 64)
	}
	if err != nil || !ok {
		return id, fmt.Errorf("a payload begins with %q, which names no row", name)
	}
	return id, nil
}

// payloadEpoch is when payloads' Ids begin, and payloadBits is how many of their bits tell rows of one millisecond
// apart.
var payloadEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

const payloadBits = 22

// payloadFloor is the Id of the epoch: all Ids of recorded rows are below 0, where those of other writers are not,
// until the year 2054.
const payloadFloor = int64(-1) << 62

// PayloadFloor is below the Ids of all payloads that are sent at that time or later.
func PayloadFloor(t time.Time) int64 {
	return payloadFloor + max(t.Sub(payloadEpoch).Milliseconds(), 0)<<payloadBits
}

// PayloadID is the Id of a payload that is sent at that time. Ids grow with time, so that new rows are found by their
// key.
func PayloadID(t time.Time) int64 { return PayloadFloor(t) | rand.Int64N(1<<payloadBits) }
