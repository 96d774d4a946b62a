// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// searchedBounds is the number of boundary values from which on a function of ours searches them: SQLite compiles an
// expression of thousands of comparisons for seconds, and each statement anew.
const searchedBounds = 32

// boundList are the boundary values that tsql_partition(key, list, value) searches, as columns store them.
type boundList struct {
	values    []any
	collation string
	right     bool
}

// boundLists keeps what was decoded last, by the key.
var boundLists = struct {
	sync.Mutex
	byKey map[string]*boundList
}{byKey: map[string]*boundList{}}

// search is SQLite's expression for the number of boundary values before a value that is not NULL; "" when a bound has
// a form that is not known. The list is read only where the key is not, so that it costs a statement little more than
// its length.
func (f *PartitionFunction) search(value string, bounds []string) string {
	list := &boundList{collation: (&Column{Type: f.Type, Collation: f.Collation}).CollationKey(), right: f.Right}
	encoded := []byte{0}
	if f.Right {
		encoded[0] = 1
	}
	encoded = appendText(encoded, list.collation)
	for _, b := range bounds {
		v, ok := rawOfText(b)
		if !ok {
			return ""
		}
		if raw, isBlob := v.([]byte); isBlob && strings.HasPrefix(f.Compared("v"), "substr") {
			b = sqltype.StoredLiteral(raw[:min(len(raw), 8)])
		}
		encoded = appendText(encoded, b)
	}
	compared, _, _ := strings.Cut(f.Compared(value), " COLLATE ")
	sum := sha256.Sum256(encoded)
	return fmt.Sprintf("tsql_partition('%s',x'%x',%s)", hex.EncodeToString(sum[:16]), encoded, compared)
}

func appendText(list []byte, text string) []byte {
	return append(binary.AppendUvarint(list, uint64(len(text))), text...)
}

// rawOfText is the inverse of sqltype.StoredLiteral.
func rawOfText(text string) (any, bool) {
	switch {
	case strings.HasPrefix(text, "x'") && strings.HasSuffix(text, "'"):
		raw, err := hex.DecodeString(text[2 : len(text)-1])
		return raw, err == nil
	case len(text) > 1 && strings.HasPrefix(text, "'") && strings.HasSuffix(text, "'"):
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'"), true
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}

func decodeBounds(encoded []byte) *boundList {
	list, at := &boundList{right: encoded[0] == 1}, 1
	next := func() string {
		n, size := binary.Uvarint(encoded[at:])
		at += size + int(n)
		return string(encoded[at-int(n) : at])
	}
	for list.collation = next(); at < len(encoded); {
		v, _ := rawOfText(next())
		list.values = append(list.values, v)
	}
	return list
}

// compareStored compares two values as SQLite does: numbers, then texts, then bytes.
func compareStored(a, b any, collation string) int {
	class := func(v any) int {
		switch v.(type) {
		case int64, float64:
			return 0
		case string:
			return 1
		}
		return 2
	}
	if c := cmp.Compare(class(a), class(b)); c != 0 {
		return c
	}
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(float64(x), b.(float64))
	case float64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, float64(y))
		}
		return cmp.Compare(x, b.(float64))
	case string:
		if collation == "" {
			return strings.Compare(x, b.(string))
		}
		return sqltype.CompareByKey(collation, x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	}
	return 0
}

// BoundsBefore is tsql_partition.
func BoundsBefore(args []sqlite.Value) (any, *sqlerr.Error) {
	key := args[0].Text()
	boundLists.Lock()
	list := boundLists.byKey[key]
	boundLists.Unlock()
	if list == nil {
		list = decodeBounds(args[1].Blob())
		boundLists.Lock()
		if len(boundLists.byKey) >= 128 {
			clear(boundLists.byKey)
		}
		boundLists.byKey[key] = list
		boundLists.Unlock()
	}
	value := storage.ArgumentValue(args[2])
	return int64(sort.Search(len(list.values), func(i int) bool {
		c := compareStored(value, list.values[i], list.collation)
		return c < 0 || c == 0 && !list.right
	})), nil
}
