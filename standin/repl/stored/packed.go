// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"bytes"
	"encoding/binary"
)

// Origin is a publication database (MSrepl_originators.srvname and dbname); the zero value is this one.
type Origin struct {
	Server   string `json:"server"`
	Database string `json:"database"`
}

// Packed is one command within sp_MSadd_replcmds27hp's @data.
type Packed struct {
	Seqno, Begin               []byte
	Part                       int32
	Kind, Article, Publication int32
	Command                    []byte
	From                       Origin
}

// Number is the transaction number that a command is stored under.
func (c Packed) Number() []byte {
	if c.Part == 0 {
		return c.Seqno
	}
	return binary.BigEndian.AppendUint32(bytes.Clone(c.Begin), 0xFF000000|uint32(c.Part))
}
