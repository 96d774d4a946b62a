// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"fmt"
)

// PRELOGIN options ([MS-TDS] 2.2.6.5).
const (
	optionVersion    byte = 0
	optionEncryption byte = 1
	optionInstance   byte = 2
	optionThreadID   byte = 3
	optionMARS       byte = 4
	optionFedAuth    byte = 6
	optionTerminator byte = 0xFF
)

// Values of the PRELOGIN option ENCRYPTION ([MS-TDS] 2.2.6.5).
const (
	encryptOff          byte = 0
	encryptOn           byte = 1
	encryptNotSupported byte = 2
	encryptRequired     byte = 3
)

// maxPreLogin bounds a PRELOGIN message; clients send well under 200 bytes.
const maxPreLogin = 4096

// preLogin is what a client's PRELOGIN says, as far as a server acts on it.
type preLogin struct {
	encryption byte
	mars       bool
	fedAuth    bool
}

func parsePreLogin(b []byte) (preLogin, error) {
	p := preLogin{encryption: encryptNotSupported}
	for i := 0; ; i += 5 {
		if i >= len(b) {
			return p, fmt.Errorf("PRELOGIN lacks its terminator")
		}
		if b[i] == optionTerminator {
			return p, nil
		}
		if i+5 > len(b) {
			return p, fmt.Errorf("PRELOGIN option %d is cut short", b[i])
		}
		offset, length := int(binary.BigEndian.Uint16(b[i+1:])), int(binary.BigEndian.Uint16(b[i+3:]))
		if offset+length > len(b) {
			return p, fmt.Errorf("PRELOGIN option %d points outside the message", b[i])
		}
		value := b[offset : offset+length]
		switch {
		case length == 0:
		case b[i] == optionEncryption:
			// Bits above the low two ask for client certificates, which are not offered.
			p.encryption = value[0] & 0x03
		case b[i] == optionMARS:
			p.mars = value[0] == 1
		case b[i] == optionFedAuth:
			p.fedAuth = true
		}
	}
}

// answerPreLogin makes the server's PRELOGIN. Who asks for MARS gets it.
func answerPreLogin(client preLogin, version [4]byte, encryption byte) []byte {
	type option struct {
		id    byte
		value []byte
	}
	mars := byte(0)
	if client.mars {
		mars = 1
	}
	options := []option{
		{optionVersion, append(version[:], 0, 0)},
		{optionEncryption, []byte{encryption}},
		{optionInstance, []byte{0}},
		{optionThreadID, nil},
		{optionMARS, []byte{mars}},
	}
	if client.fedAuth {
		options = append(options, option{optionFedAuth, []byte{0}})
	}
	head, data := []byte{}, []byte{}
	start := 5*len(options) + 1
	for _, o := range options {
		head = append(head, o.id)
		head = binary.BigEndian.AppendUint16(head, uint16(start+len(data)))
		head = binary.BigEndian.AppendUint16(head, uint16(len(o.value)))
		data = append(data, o.value...)
	}
	return append(append(head, optionTerminator), data...)
}

// negotiateEncryption is the server's answer to the client's wish ([MS-TDS] 2.2.6.5, table of ENCRYPTION).
// ok is false when the two cannot agree: the answer is still sent, so that the client can say why, then closed.
func negotiateEncryption(client byte, server Encryption) (answer byte, ok bool) {
	switch server {
	case EncryptionUnsupported:
		return encryptNotSupported, client != encryptOn && client != encryptRequired
	case EncryptionRequired:
		if client == encryptOn {
			return encryptOn, true
		}
		return encryptRequired, client != encryptNotSupported
	default:
		if client == encryptRequired {
			client = encryptOn
		}
		return client, true
	}
}
