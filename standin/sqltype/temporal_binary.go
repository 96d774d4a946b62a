// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/binary"
	"math"
	"time"

	"geosql.dev/standin/sqlerr"
)

// Dates and times as bytes: datetime and smalldatetime are two big-endian numbers, days since 1900 and parts of the
// day; the newer types are laid out as [MS-TDS] 2.2.5.5.1.8 sends them, behind a byte with their precision where they
// have a clock.

// temporalBytes are the bytes of a date or time.
func temporalBytes(t time.Time, from Type) []byte {
	ticks := Ticks(t)
	day, clock := ticks/ticksPerDay, ticks%ticksPerDay
	switch from.Kind {
	case DateTime:
		return append(
			integerBytes(day-Ticks(base1900)/ticksPerDay, IntType),
			integerBytes((clock*3+50000)/100000, IntType)...)
	case SmallDateTime:
		out := binary.BigEndian.AppendUint16(nil, uint16(day-Ticks(base1900)/ticksPerDay))
		return binary.BigEndian.AppendUint16(out, uint16(clock/(60*1e7)))
	}
	var out []byte
	if from.Kind != Date {
		out = append(out, from.Scale)
		out = append(
			out,
			binary.LittleEndian.AppendUint64(nil, uint64(clock/clockUnit(from.Scale)))[:clockBytes(from.Scale)]...)
	}
	if from.Kind != Time {
		out = append(out, binary.LittleEndian.AppendUint32(nil, uint32(day))[:3]...)
	}
	if from.Kind == DateTimeOffset {
		_, offset := t.Zone()
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(offset/60)))
	}
	return out
}

// temporalOfBytes takes back temporalBytes; shorter bytes of datetime and smalldatetime are filled with zeros on the
// left.
func temporalOfBytes(b []byte, to Type) (time.Time, *sqlerr.Error) {
	if to.Kind == DateTime || to.Kind == SmallDateTime {
		size := 8
		if to.Kind == SmallDateTime {
			size = 4
		}
		whole := append(make([]byte, size), b...)
		whole = whole[len(whole)-size:]
		days, parts := bytesToInt(whole[:size/2], IntType), bytesToInt(whole[size/2:], IntType)
		if to.Kind == SmallDateTime {
			return FromTicks(Ticks(base1900) + days*ticksPerDay + parts*60*1e7), nil
		}
		return FromTicks(Ticks(base1900) + days*ticksPerDay + parts*100000/3), nil
	}
	bad := sqlerr.New(9803, 1, to.Kind)
	var clock, day, minutes int64
	if to.Kind != Date {
		if len(b) == 0 || b[0] > 7 || len(b) < 1+clockBytes(b[0]) {
			return time.Time{}, bad
		}
		n := 1 + clockBytes(b[0])
		clock, b = littleEndian(b[1:n])*clockUnit(b[0]), b[n:]
	}
	if to.Kind != Time {
		if len(b) < 3 {
			return time.Time{}, bad
		}
		day, b = littleEndian(b[:3]), b[3:]
	}
	if to.Kind == DateTimeOffset {
		if len(b) < 2 {
			return time.Time{}, bad
		}
		minutes, b = int64(int16(binary.LittleEndian.Uint16(b))), b[2:]
	}
	if len(b) > 0 || clock >= ticksPerDay || day > Ticks(endOfTime)/ticksPerDay-1 || minutes < -14*60 || minutes > 14*60 {
		return time.Time{}, bad
	}
	t := FromTicks(day*ticksPerDay + clock)
	if to.Kind == DateTimeOffset {
		t = t.In(time.FixedZone("", int(minutes)*60))
	}
	return t, nil
}

// clockUnit is the unit of a clock of so many decimal places, in ticks of 100 ns.
func clockUnit(scale uint8) int64 { return int64(math.Pow10(7 - int(scale))) }

// clockBytes is the length of such a clock.
func clockBytes(scale uint8) int {
	switch {
	case scale < 3:
		return 3
	case scale < 5:
		return 4
	}
	return 5
}

func littleEndian(b []byte) int64 {
	n := int64(0)
	for i, c := range b {
		n |= int64(c) << (8 * i)
	}
	return n
}
