// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Day counts of the proleptic Gregorian calendar ([MS-TDS] 2.2.5.5.1.8 and 2.2.5.5.1.9).
const (
	daysTo1970     = 719162 // from 0001-01-01
	daysTo1900     = 693595 // from 0001-01-01
	maxDay         = 3652058
	secondsPerDay  = 86400
	ticksPerSecond = 300
)

// timeSize is the number of bytes of a time of that scale.
func timeSize(scale byte) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	}
	return 5
}

// civil splits a time's wall clock, as it reads in its own zone, into days since 0001-01-01 and nanoseconds of the day.
func civil(t time.Time) (day int64, ns int64) {
	_, offset := t.Zone()
	seconds := t.Unix() + int64(offset)
	day = seconds / secondsPerDay
	if seconds%secondsPerDay < 0 {
		day--
	}
	ns = (seconds-day*secondsPerDay)*1e9 + int64(t.Nanosecond())
	return day + daysTo1970, ns
}

func fromCivil(day, ns int64, zone *time.Location) time.Time {
	t := time.Unix((day-daysTo1970)*secondsPerDay+ns/1e9, ns%1e9).UTC()
	if zone != time.UTC {
		t = t.In(zone)
	}
	return t
}

// nanosecondsPer is the length of one unit of a time of that scale.
func nanosecondsPer(scale byte) int64 {
	unit := int64(1e9)
	for ; scale > 0; scale-- {
		unit /= 10
	}
	return unit
}

// appendTimeOfDay cuts digits below the scale: rounding is a conversion and was done before.
func appendTimeOfDay(b []byte, ns int64, scale byte) []byte {
	n := uint64(ns / nanosecondsPer(scale))
	for i := 0; i < timeSize(scale); i++ {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

func appendDay(b []byte, day int64) ([]byte, error) {
	if day < 0 || day > maxDay {
		return b, fmt.Errorf("date is outside 0001-01-01 to 9999-12-31")
	}
	return append(b, byte(day), byte(day>>8), byte(day>>16)), nil
}

func appendDateTime(b []byte, t time.Time) ([]byte, error) {
	day, ns := civil(t)
	ticks := (ns*ticksPerSecond + 5e8) / 1e9
	if ticks == secondsPerDay*ticksPerSecond {
		day, ticks = day+1, 0
	}
	day -= daysTo1900
	if day < -53690 || day > 2958463 {
		return b, fmt.Errorf("datetime is outside 1753-01-01 to 9999-12-31")
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(int32(day)))
	return binary.LittleEndian.AppendUint32(b, uint32(ticks)), nil
}

func appendSmallDateTime(b []byte, t time.Time) ([]byte, error) {
	day, ns := civil(t)
	day -= daysTo1900
	if day < 0 || day > 65535 {
		return b, fmt.Errorf("smalldatetime is outside 1900-01-01 to 2079-06-06")
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(day))
	return binary.LittleEndian.AppendUint16(b, uint16(ns/60e9)), nil
}

func (d *decoder) day(b []byte) int64 {
	day := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
	if day > maxDay {
		d.fail("date %d is outside 0001-01-01 to 9999-12-31", day)
	}
	return day
}

func (d *decoder) timeOfDay(b []byte, scale byte) int64 {
	var n int64
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	unit := nanosecondsPer(scale)
	if n >= secondsPerDay*1e9/unit {
		d.fail("time of day is outside 00:00:00 to 24:00:00")
		return 0
	}
	return n * unit
}

// dateTime decodes the 8-byte and 4-byte datetime types.
func (d *decoder) dateTime(b []byte) time.Time {
	if len(b) == 4 {
		day, minutes := int64(binary.LittleEndian.Uint16(b)), int64(binary.LittleEndian.Uint16(b[2:]))
		if minutes >= 24*60 {
			d.fail("smalldatetime has %d minutes", minutes)
		}
		return fromCivil(day+daysTo1900, minutes*60e9, time.UTC)
	}
	day, ticks := int64(int32(binary.LittleEndian.Uint32(b))), int64(binary.LittleEndian.Uint32(b[4:]))
	if day < -53690 || day > 2958463 || ticks >= secondsPerDay*ticksPerSecond {
		d.fail("datetime is outside 1753-01-01 to 9999-12-31")
		return time.Time{}
	}
	// Whole milliseconds: 1/300 s shows as .000, .003 and .007.
	return fromCivil(day+daysTo1900, (ticks*1000+150)/ticksPerSecond*1e6, time.UTC)
}

// dateTimeOffset decodes a time in UTC with its offset in minutes.
func (d *decoder) dateTimeOffset(b []byte, scale byte) time.Time {
	n := timeSize(scale)
	ns, day := d.timeOfDay(b[:n], scale), d.day(b[n:n+3])
	minutes := int(int16(binary.LittleEndian.Uint16(b[n+3:])))
	if minutes < -14*60 || minutes > 14*60 {
		d.fail("datetimeoffset has an offset of %d minutes", minutes)
		return time.Time{}
	}
	return fromCivil(day, ns, time.FixedZone("", minutes*60))
}
