// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Token types ([MS-TDS] 2.2.7).
const (
	tokenReturnStatus byte = 0x79
	tokenColumns      byte = 0x81
	tokenError        byte = 0xAA
	tokenInfo         byte = 0xAB
	tokenReturnValue  byte = 0xAC
	tokenLoginAck     byte = 0xAD
	tokenFeatureAck   byte = 0xAE
	tokenRow          byte = 0xD1
	tokenNBCRow       byte = 0xD2
	tokenEnvChange    byte = 0xE3
	tokenDone         byte = 0xFD
	tokenDoneProc     byte = 0xFE
	tokenDoneInProc   byte = 0xFF
)

// Status bits of the DONE tokens ([MS-TDS] 2.2.7.6).
const (
	doneMore        uint16 = 0x0001
	doneError       uint16 = 0x0002
	doneCount       uint16 = 0x0010
	doneAttention   uint16 = 0x0020
	doneInBatch     uint16 = 0x0080
	doneServerError uint16 = 0x0100
)

// ENVCHANGE types ([MS-TDS] 2.2.7.9). Types 3, 5 and 6 are those of TDS 7.0, 8 and above came with 7.2.
const (
	envDatabase      byte = 1
	envLanguage      byte = 2
	envCharacterSet  byte = 3
	envPacketSize    byte = 4
	envUnicodeLocale byte = 5
	envUnicodeStyle  byte = 6
	envCollation     byte = 7
	envBegin         byte = 8
	envCommit        byte = 9
	envRollback      byte = 10
	envReset         byte = 18
	envRouting       byte = 20
)

// unicodeStyle is Windows' number for comparisons that ignore case (0x1), kana (0x10000) and width (0x20000).
const unicodeStyle = 0x30001

// maxMessageText keeps a token within its 16-bit length: PRINT sends 8000 characters, errors end at 2047.
const maxMessageText = 8000

// appendToken writes a token whose length is a USHORT.
func appendToken(b []byte, token byte, data []byte) []byte {
	b = append(b, token)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	return append(b, data...)
}

func (v version) appendDone(b []byte, token byte, status uint16, command Command, count int64) []byte {
	b = append(b, token)
	b = binary.LittleEndian.AppendUint16(b, status)
	b = binary.LittleEndian.AppendUint16(b, uint16(command))
	if !v.atLeast(version72) {
		return binary.LittleEndian.AppendUint32(b, uint32(min(count, math.MaxUint32)))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(count))
}

func appendEnvText(b []byte, kind byte, value, old string) []byte {
	return appendToken(b, tokenEnvChange, appendShortText(appendShortText([]byte{kind}, value), old))
}

// appendEnvBytes writes an ENVCHANGE of binary values; the old one is always sent as empty unless given.
func appendEnvBytes(b []byte, kind byte, value, old []byte) []byte {
	data := append([]byte{kind, byte(len(value))}, value...)
	data = append(append(data, byte(len(old))), old...)
	return appendToken(b, tokenEnvChange, data)
}

// appendCollationChange tells of the collation of the database that is the current one now. The old one is left empty:
// go-mssqldb reads it as text.
func appendCollationChange(b []byte, name string) []byte {
	now := sqltype.WireCollation(name)
	return appendEnvBytes(b, envCollation, now[:], nil)
}

func appendTransaction(b []byte, kind byte, descriptor uint64) []byte {
	raw := binary.LittleEndian.AppendUint64(nil, descriptor)
	if kind == envBegin {
		return appendEnvBytes(b, kind, raw, nil)
	}
	return appendEnvBytes(b, kind, nil, raw)
}

// appendMessage writes ERROR or INFO by the message's class.
func (v version) appendMessage(b []byte, e *sqlerr.Error, server string) []byte {
	token := tokenInfo
	if e.Class > 10 {
		token = tokenError
	}
	class := e.Class
	if class == 10 {
		// Severity 10 reaches applications as 0
		// (docs/relational-databases/errors-events/database-engine-error-severities.md).
		class = 0
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(e.Number))
	data = append(data, e.State, class)
	data = appendLongText(data, cutUTF16(e.Message, maxMessageText))
	data = appendShortText(data, server)
	data = appendShortText(data, e.Procedure)
	if v.atLeast(version72) {
		data = binary.LittleEndian.AppendUint32(data, uint32(e.Line))
	} else {
		data = binary.LittleEndian.AppendUint16(data, uint16(min(e.Line, math.MaxUint16)))
	}
	return appendToken(b, token, data)
}

// Flags of a column ([MS-TDS] 2.2.7.4).
const (
	columnNullable  uint16 = 0x0001
	columnUpdatable uint16 = 0x0008
	columnHidden    uint16 = 0x2000
	columnIdentity  uint16 = 0x0010
)

// appendColumns writes COLMETADATA.
func (v version) appendColumns(b []byte, cols []Column) ([]byte, []wireType, error) {
	b = append(b, tokenColumns)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(cols)))
	types := make([]wireType, len(cols))
	for i, c := range cols {
		w, err := v.wireTypeOf(c.Type)
		if err != nil {
			return nil, nil, fmt.Errorf("column %d (%q): %w", i+1, c.Name, err)
		}
		w.fixed = !c.Nullable && w.fixedToken() != 0
		if c.Collation != "" && w.literal == (sqltype.Type{}) {
			w.collation = c.Type.WireCollation(c.Collation)
		}
		if c.Numeric && w.token == typeDecimalN {
			w.token = typeNumericN
		}
		types[i] = w
		b = v.appendUserType(b, c.Type)
		flags := columnUpdatable
		if c.Nullable {
			flags |= columnNullable
		}
		if c.Identity {
			flags = flags&^columnUpdatable | columnIdentity
		}
		if c.Hidden && v.atLeast(version72) {
			flags = flags&^columnUpdatable | columnHidden
		}
		b = binary.LittleEndian.AppendUint16(b, flags)
		b = w.appendTypeInfo(b)
		if w.size == lengthOfLOB {
			b = v.appendNoTable(b)
		}
		b = appendShortText(b, c.Name)
	}
	return b, types, nil
}

// appendNoTable writes the name of a column's table, empty since no table is named. Of the parts that it has since TDS
// 7.2 there is one at least (JDBC insists).
func (v version) appendNoTable(b []byte) []byte {
	if v.atLeast(version72) {
		b = append(b, 1)
	}
	return append(b, 0, 0)
}

// appendUserType writes UserType, which is a USHORT before TDS 7.2.
func (v version) appendUserType(b []byte, t sqltype.Type) []byte {
	user := uint32(0)
	if t.Kind == sqltype.RowVersion {
		user = userTypeRowVersion
	}
	if v.atLeast(version72) {
		return binary.LittleEndian.AppendUint32(b, user)
	}
	return binary.LittleEndian.AppendUint16(b, uint16(user))
}

// appendReturnValue writes an output parameter ([MS-TDS] 2.2.7.19).
func (v version) appendReturnValue(b []byte, ordinal int, name string, t sqltype.Type, value any) ([]byte, error) {
	w, err := v.wireTypeOf(t)
	if err != nil {
		return b, fmt.Errorf("output parameter %s: %w", name, err)
	}
	b = append(b, tokenReturnValue)
	b = binary.LittleEndian.AppendUint16(b, uint16(ordinal))
	b = appendShortText(b, name)
	b = append(b, 1) // an output parameter, not a function's result
	b = v.appendUserType(b, t)
	b = binary.LittleEndian.AppendUint16(b, columnNullable)
	b = w.appendTypeInfo(b)
	if w.size == lengthOfLOB && !v.atLeast(version72) {
		// Clients of that age read an output parameter's type as they read a column's (FreeTDS, jTDS).
		b = v.appendNoTable(b)
	}
	if b, err = w.appendValue(b, value); err != nil {
		return b, fmt.Errorf("output parameter %s: %w", name, err)
	}
	return b, nil
}

// programName is what drivers compare to choose the dialect of the protocol; @@VERSION tells users the truth.
const programName = "Microsoft SQL Server"

// appendLoginResponse writes the answer to a login that opened a session.
func appendLoginResponse(b []byte, l *login, s Session, backend Backend) []byte {
	return l.version.appendDone(
		appendLoginAck(b, l, s.Database(), s.Language(), s.Collation(), backend),
		tokenDone,
		0,
		CommandNone,
		0,
	)
}

// appendRedirect writes the answer to a login that belongs at another server: protocol 0 is TCP ([MS-TDS] 2.2.7.9, type
// 20).
func appendRedirect(b []byte, l *login, to *Redirect, backend Backend) []byte {
	b = appendLoginAck(b, l, "master", "us_english", sqltype.DefaultCollation, backend)
	where := appendLongText(binary.LittleEndian.AppendUint16([]byte{0}, to.Port), to.Server)
	data := append(binary.LittleEndian.AppendUint16([]byte{envRouting}, uint16(len(where))), where...)
	b = appendToken(b, tokenEnvChange, append(data, 0, 0))
	return l.version.appendDone(b, tokenDone, 0, CommandNone, 0)
}

// appendLoginAck writes what follows a successful login.
func appendLoginAck(b []byte, l *login, database, language, collation string, backend Backend) []byte {
	server := backend.ServerName()
	b = appendEnvText(b, envDatabase, database, "master")
	b = l.version.appendMessage(b, sqlerr.New(5701, 2, database), server)
	if l.version.atLeast(version71) {
		b = appendCollationChange(b, collation)
	} else {
		// Without collations a client is told the character set, and of Unicode the locale and how it is compared.
		b = appendEnvText(b, envCharacterSet, "iso_1", "")
		b = appendEnvText(b, envUnicodeLocale, strconv.Itoa(1033), "")
		b = appendEnvText(b, envUnicodeStyle, strconv.Itoa(unicodeStyle), "")
	}
	b = appendEnvText(b, envLanguage, language, "")
	b = l.version.appendMessage(b, sqlerr.New(5703, 1, language), server)
	engine := backend.Version()
	ack := binary.BigEndian.AppendUint32([]byte{1}, l.version.acknowledged())
	ack = appendShortText(ack, programName)
	b = appendToken(b, tokenLoginAck, append(ack, engine[:]...))
	size := strconv.Itoa(l.packetSize)
	b = appendEnvText(b, envPacketSize, size, strconv.Itoa(defaultPacketSize))
	// Who announces extensions and names none takes an acknowledgement for that of one that it does not know.
	if l.extended && len(l.features) > 0 {
		b = append(b, tokenFeatureAck)
		if _, asked := l.features[featureUTF8]; asked {
			b = append(b, featureUTF8, 1, 0, 0, 0, 1)
		}
		b = append(b, featureTerminator)
	}
	return b
}
