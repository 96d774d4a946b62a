// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the images have no time zone data

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// windowsZones are the names of AT TIME ZONE that the stand-in knows, with those of the IANA (CLDR's windowsZones).
var windowsZones = map[string]string{
	"aus eastern standard time": "Australia/Sydney", "arab standard time": "Asia/Riyadh", "argentina standard time": "America/Buenos_Aires",
	"atlantic standard time": "America/Halifax", "cen. australia standard time": "Australia/Adelaide", "central america standard time": "America/Guatemala",
	"central europe standard time": "Europe/Budapest", "central european standard time": "Europe/Warsaw", "central standard time": "America/Chicago",
	"china standard time": "Asia/Shanghai", "e. australia standard time": "Australia/Brisbane", "e. south america standard time": "America/Sao_Paulo",
	"eastern standard time": "America/New_York", "egypt standard time": "Africa/Cairo", "fle standard time": "Europe/Kiev", "gmt standard time": "Europe/London",
	"gtb standard time": "Europe/Bucharest", "greenwich standard time": "Atlantic/Reykjavik", "hawaiian standard time": "Pacific/Honolulu",
	"alaskan standard time": "America/Anchorage", "india standard time": "Asia/Calcutta", "israel standard time": "Asia/Jerusalem", "korea standard time": "Asia/Seoul",
	"mountain standard time": "America/Denver", "us mountain standard time": "America/Phoenix", "new zealand standard time": "Pacific/Auckland",
	"newfoundland standard time": "America/St_Johns", "pacific standard time": "America/Los_Angeles", "romance standard time": "Europe/Paris",
	"russian standard time": "Europe/Moscow", "se asia standard time": "Asia/Bangkok", "singapore standard time": "Asia/Singapore",
	"south africa standard time": "Africa/Johannesburg", "taipei standard time": "Asia/Taipei", "tokyo standard time": "Asia/Tokyo", "turkey standard time": "Europe/Istanbul",
	"utc": "UTC", "w. australia standard time": "Australia/Perth", "w. europe standard time": "Europe/Berlin",
}

// TimeZones are the names of those zones as Windows writes them, sorted.
func TimeZones() []string {
	names := make([]string, 0, len(windowsZones))
	for name := range windowsZones {
		words := strings.Fields(name)
		for i, w := range words {
			switch w {
			case "aus", "us", "utc", "gmt", "fle", "gtb", "se", "e.", "w.":
				words[i] = strings.ToUpper(w)
			default:
				words[i] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		names = append(names, strings.Join(words, " "))
	}
	slices.Sort(names)
	return names
}

// TimeZone is a time zone of AT TIME ZONE (docs/t-sql/queries/at-time-zone-transact-sql.md).
func TimeZone(name string) (*time.Location, *sqlerr.Error) {
	iana, ok := windowsZones[strings.ToLower(strings.TrimSpace(name))]
	if !ok {
		return zoneOf("switchoffset", name)
	}
	zone, err := time.LoadLocation(iana)
	if err != nil {
		return nil, sqlerr.New(9820, 1, name)
	}
	return zone, nil
}

// zonedType is the type of AT TIME ZONE: datetimeoffset with the precision of what it is applied to.
func zonedType(types []sqltype.Type) sqltype.Type {
	t := sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 7}
	switch types[0].Kind {
	case sqltype.DateTime2, sqltype.DateTimeOffset:
		t.Scale = types[0].Scale
	case sqltype.DateTime:
		t.Scale = 3
	case sqltype.SmallDateTime:
		t.Scale = 0
	}
	return t
}
