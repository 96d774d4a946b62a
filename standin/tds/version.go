// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"geosql.dev/standin/sqltype"
)

// version is the version of TDS that a client speaks, as LOGIN7 has it, little endian ([MS-TDS] 2.2.6.4). It decides
// the form of requests, of tokens and of types. The zero value stands for the newest.
type version uint32

const (
	version70     version = 0x70000000
	version71     version = 0x71000000
	version71Rev1 version = 0x71000001
	version72     version = 0x72090002
	version73     version = 0x730A0003
	version74     version = 0x74000004
	versionStrict version = 0x08000000
)

// atLeast tells whether the client knows what came with a version. The number of TDS 8.0 is the lowest of all.
func (v version) atLeast(other version) bool { return v == 0 || v == versionStrict || v >= other }

// acknowledged is the version as LOGINACK has it, big endian: that of the client, or the newest before 8.0 ([MS-TDS]
// 2.2.7.14).
func (v version) acknowledged() uint32 {
	switch {
	case v == versionStrict:
	case v < version71:
		return 0x07000000
	case v < version71Rev1:
		return 0x07010000
	case v > version74:
		return uint32(version74)
	}
	return uint32(v)
}

// literalLengths are the lengths of dates and times as text, without the digits of a fraction and its point.
var literalLengths = map[sqltype.Kind]int{
	sqltype.Date:           10,
	sqltype.Time:           8,
	sqltype.DateTime2:      19,
	sqltype.DateTimeOffset: 26,
}

// wireTypeOf is how a type is sent to clients of that version. Those that do not know a type see another one: dates and
// times as nvarchar before 7.3 (docs/relational-databases/native-client-odbc-date-time/
// enhanced-date-and-time-type-behavior-with-previous-sql-server-versions-odbc.md); (max) types and xml as text, ntext
// and image before 7.2 (KB 901039); sql_variant as nvarchar(4000) and bigint as decimal(19,0) before 7.1 (SQL Server
// 2000, "Connecting Early Version Clients to SQL Server 2000").
func (v version) wireTypeOf(t sqltype.Type) (wireType, error) {
	literal := sqltype.Type{}
	if n, ok := literalLengths[t.Kind]; ok && !v.atLeast(version73) && t.Scale <= 7 {
		if t.Scale > 0 && t.Kind != sqltype.Date {
			n += 1 + int(t.Scale)
		}
		literal, t = t, sqltype.NVarCharOf(n)
	}
	if !v.atLeast(version71) {
		switch t.Kind {
		case sqltype.SQLVariant:
			literal, t = t, sqltype.NVarCharOf(4000)
		case sqltype.BigInt:
			t = sqltype.DecimalOf(19, 0)
		}
	}
	w, err := wireTypeOf(t)
	if w.partial() && !v.atLeast(version72) {
		switch w.token {
		case typeBigVarChar:
			w.token = typeText
		case typeBigVarBinary:
			w.token = typeImage
		default:
			w.token = typeNText
		}
		w.size = lengthOfLOB
	}
	if !v.atLeast(version71) {
		w.page = sqltype.Page1252 // the character set that the client was told of at login
	}
	w.version, w.literal = v, literal
	return w, err
}

// text is a value as clients get it who do not know its type.
func (w wireType) text(v any) (string, error) {
	text, err := sqltype.Convert(v, w.literal, sqltype.NVarCharOf(4000), 0, sqltype.Explicit)
	if err != nil {
		return "", err
	}
	s, ok := text.(string)
	if !ok {
		return "", w.mismatch(v)
	}
	return s, nil
}
