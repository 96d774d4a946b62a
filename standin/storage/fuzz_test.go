// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
)

// FuzzBlock gives any bytes as a block of the log. What has a right checksum is decoded to its last record: by redo of
// a damaged file, and from a peer.
func FuzzBlock(f *testing.F) {
	body := appendRecord(nil, recordChanges, []byte("T\x01\x00t\x00\x12\x00\x01"))
	body = appendRecord(
		body,
		recordSchema,
		schemaChange{sql: "CREATE TABLE t (a)", undo: []string{"DROP TABLE t"}}.encode(),
	)
	body = appendRecord(body, recordMark, encodeMark(Mark{Kind: "k", Payload: []byte("p")}))
	body = appendRecord(body, recordCommit, commitInfo{fork: uuid.UUID{1}, time: time.Unix(1, 0)}.encode())
	raw := append(make([]byte, blockHeader), body...)
	sealBlock(raw, MakeLSN(1, 64, 1), LSN{}, 64, time.Unix(1, 0))
	f.Add(raw, false)
	f.Add(raw[:len(raw)-1], true)
	f.Add([]byte{}, false)
	f.Add(append(make([]byte, blockHeader), 0x85, 0xff, 0xff, 0xff, 0xff, 0x0f), true)
	// Row images of more columns than an int counts.
	images := append([]byte{1, 't'}, bytes.Repeat([]byte{0xdb}, 9)...)
	f.Add(append(make([]byte, blockHeader), appendRecord(nil, recordChanges, append(images, 1, 5, 5))...), true)
	f.Fuzz(func(t *testing.T, raw []byte, seal bool) {
		if seal && len(raw) >= blockHeader && len(raw) <= maxBlock {
			raw = bytes.Clone(raw)
			sealBlock(raw, MakeLSN(1, 64, 1), LSN{}, 64, time.Unix(1, 0))
		}
		b, err := ParseBlock(raw)
		if err != nil {
			return
		}
		records, err := b.records()
		if err != nil {
			return
		}
		for _, r := range records {
			_, _ = decodeSchemaChange(r.payload)
			_, _ = decodeCommit(r.payload)
			_, _ = decodeMark(r.payload)
			_, _ = decodeImages(r.payload)
		}
	})
}
