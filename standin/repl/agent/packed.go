// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/binary"

	"geosql.dev/standin/repl/stored"
)

func appendPacked(buf []byte, c stored.Packed) []byte {
	buf = append(append(buf, c.Seqno...), c.Begin...)
	for _, n := range []int32{c.Part, c.Kind, c.Article, c.Publication, int32(len(c.Command)), int32(len(c.From.Server)),
		int32(len(c.From.Database))} {
		buf = binary.LittleEndian.AppendUint32(buf, uint32(n))
	}
	return append(append(append(buf, c.Command...), c.From.Server...), c.From.Database...)
}
