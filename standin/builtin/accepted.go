// SPDX-License-Identifier: Apache-2.0

package builtin

import "geosql.dev/standin/sqltype"

// accepts tells whether an argument may have a type. Unknown is a NULL without one.
type accepts func(k sqltype.Kind) bool

func formerLarge(k sqltype.Kind) bool {
	return k == sqltype.Text || k == sqltype.NText || k == sqltype.Image
}

// The types of arguments. What is left out converts implicitly, or fails to as any other conversion does.
var (
	// anything that reads as characters does for most functions of strings.
	readsAsText accepts = func(k sqltype.Kind) bool {
		return !formerLarge(k) && k != sqltype.XML && k != sqltype.SQLVariant
	}
	textOnly accepts = func(k sqltype.Kind) bool { return k.IsCharacter() || k == sqltype.Unknown }
	// shortText leaves out the former large types.
	shortText accepts = func(k sqltype.Kind) bool { return textOnly(k) && !formerLarge(k) }
	bytesOnly accepts = func(k sqltype.Kind) bool {
		return k.IsBinary() && k != sqltype.Image || k == sqltype.Unknown
	}
	shortValue accepts = func(k sqltype.Kind) bool { return shortText(k) || bytesOnly(k) }
	cut        accepts = func(k sqltype.Kind) bool { return k.IsCharacter() || k.IsBinary() }
	number     accepts = func(k sqltype.Kind) bool { return k.IsNumeric() || k == sqltype.Unknown }
	added      accepts = func(k sqltype.Kind) bool { return k.IsNumeric() }
	// computes is what a number is made of implicitly.
	computes accepts = func(k sqltype.Kind) bool {
		return readsAsText(k) && !k.IsTemporal() && k != sqltype.UniqueIdentifier
	}
	moment   accepts = func(k sqltype.Kind) bool { return readsAsText(k) && k != sqltype.UniqueIdentifier }
	dated    accepts = func(k sqltype.Kind) bool { return moment(k) && !k.IsNumeric() && !k.IsBinary() }
	compared accepts = func(k sqltype.Kind) bool { return !formerLarge(k) && k != sqltype.XML }
	zoned    accepts = func(k sqltype.Kind) bool {
		return k.IsTemporal() && k != sqltype.Date && k != sqltype.Time || k == sqltype.Unknown
	}
	formerDate accepts = func(k sqltype.Kind) bool {
		return k == sqltype.DateTime || k == sqltype.SmallDateTime || readsAsText(k) && !k.IsTemporal()
	}
	bitwise accepts = func(k sqltype.Kind) bool {
		return k.IsInteger() || k == sqltype.Binary || k == sqltype.VarBinary || k == sqltype.Unknown
	}
	integral accepts = func(k sqltype.Kind) bool { return k.IsInteger() || k == sqltype.Bit || k == sqltype.Unknown }
	pattern  accepts = func(k sqltype.Kind) bool { return k.IsCharacter() && !formerLarge(k) }
)

// arguments are the functions that judge the types of their arguments, the last one repeated; nil takes every type. The
// functions of parts of dates have the part as their first one (docs/t-sql/functions, Arguments of each page).
var arguments = map[string][]accepts{
	"len": {
		readsAsText,
	}, "upper": {readsAsText}, "lower": {readsAsText}, "reverse": {readsAsText}, "ltrim": {readsAsText},
	"rtrim": {readsAsText},
	"left": {
		readsAsText,
		number,
	}, "right": {readsAsText, number}, "replace": {readsAsText}, "replicate": {readsAsText, nil},
	"stuff": {
		readsAsText,
		number,
		number,
		readsAsText,
	}, "substring": {cut, number}, "ascii": {readsAsText}, "unicode": {readsAsText},
	"quotename": {readsAsText}, "soundex": {readsAsText}, "difference": {readsAsText}, "parsename": {readsAsText, nil},
	"charindex": {
		shortValue,
		readsAsHaystack,
		number,
	}, "patindex": {nil, textOnly}, "trim": {shortText}, "leading_trim": {shortText}, "trailing_trim": {shortText},
	"translate": {shortText},
	"string_escape": {
		readsAsText,
	}, "format": {nil, pattern, nil}, "string_agg": {compared, shortText}, "string_split": {shortText, nil},
	"abs": {
		computes,
	}, "ceiling": {computes}, "floor": {computes}, "sign": {computes}, "round": {computes, number},
	"power": {computes, nil},
	"dateadd": {
		nil,
		added,
		moment,
	}, "datediff": {nil, moment}, "datediff_big": {nil, moment}, "datepart": {nil, moment}, "datename": {nil, moment},
	"datetrunc": {
		nil,
		dated,
	}, "year": {moment}, "month": {moment}, "day": {moment}, "eomonth": {dated, number}, "isdate": {formerDate},
	"switchoffset": {dated, nil}, "todatetimeoffset": {dated, offset}, "at_time_zone": {zoned, textOnly},
	"hashbytes": {nil, shortValue}, "checksum": {compared}, "decompress": {bytesOnly}, "convert": {nil, nil, number},
	"json_value": {
		shortText,
	}, "json_query": {shortText}, "json_modify": {shortText, shortText, nil}, "isjson": {shortText},
	"json_path_exists": {shortText},
	"openjson": {
		shortText,
	}, "left_shift": {bitwise, integral}, "right_shift": {bitwise, integral}, "bit_count": {bitwise},
	"get_bit": {bitwise, integral}, "set_bit": {bitwise, integral},
}

func readsAsHaystack(k sqltype.Kind) bool {
	return k != sqltype.Image && k != sqltype.XML && k != sqltype.SQLVariant
}

func offset(k sqltype.Kind) bool { return k.IsCharacter() || k.IsNumeric() || k == sqltype.Unknown }

// Misfit is the position, from 1, of the first argument of a function whose type it does not take (8116), 0 for none.
func Misfit(name string, kinds []sqltype.Kind) int {
	slots := arguments[name]
	for i, k := range kinds {
		if len(slots) == 0 {
			break
		}
		if takes := slots[min(i, len(slots)-1)]; takes != nil && !takes(k) {
			return i + 1
		}
	}
	return 0
}

// Called is what messages call a function, where that is not its name in lower case.
var Called = map[string]string{
	"trim":          "Trim",
	"leading_trim":  "Trim",
	"trailing_trim": "Trim",
	"translate":     "Translate",
	"decompress":    "Decompress",
	"at_time_zone":  "AT TIME ZONE",
}
