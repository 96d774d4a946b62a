// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// What the changed package is given besides: each of its changes is a call of one of these, and does what the source
// says unless it is the one that GEOSQL_MUTANT names. GEOSQL_MUTANTS_SEEN names a file to which the numbers of those
// are written that are come to.
const (
	envMutant = "GEOSQL_MUTANT"
	envSeen   = "GEOSQL_MUTANTS_SEEN"
)

// helperFile is the name of the file, which is nowhere but in an overlay.
const helperFile = "zz_mutants.go"

// comparisons and arithmetic are the helpers that differ in their operators alone: what the source says, and what it is
// changed to.
var (
	comparisons = []struct{ name, is, bound string }{
		{"mutantLess", "<", "<="}, {"mutantLessEqual", "<=", "<"},
		{"mutantGreater", ">", ">="}, {"mutantGreaterEqual", ">=", ">"},
	}
	arithmetic = []struct{ name, types, is, other string }{
		{"mutantAdd", "mutantNumber", "+", "-"}, {"mutantSubtract", "mutantNumber", "-", "+"},
		{"mutantMultiply", "mutantNumber", "*", "/"}, {"mutantDivide", "mutantNumber", "/", "*"},
		{"mutantRemainder", "mutantInteger", "%", "*"},
	}
)

// helpers is the source of the helpers in a package of that name. Imports have names that no package has of its own.
func helpers(pkg string) string {
	text := "package " + pkg + helpersOfAll
	for _, c := range comparisons {
		text += fmt.Sprintf("\nfunc %s[T mutantcmp.Ordered](bound, not int, x, y T) bool {\n"+
			"\tif mutant(bound) {\n\t\treturn x %s y\n\t}\n\treturn (x %s y) != mutant(not)\n}\n", c.name, c.bound, c.is)
	}
	for _, a := range arithmetic {
		text += fmt.Sprintf("\nfunc %s[T %s](other int, x, y T) T {\n"+
			"\tif mutant(other) {\n\t\treturn x %s y\n\t}\n\treturn x %s y\n}\n", a.name, a.types, a.other, a.is)
	}
	return text
}

const helpersOfAll = `

import (
	mutantcmp "cmp"
	mutantos "os"
	mutantconv "strconv"
	mutantsync "sync"
)

var (
	mutantNow, _ = mutantconv.Atoi(mutantos.Getenv("` + envMutant + `"))
	mutantFile   = mutantos.Getenv("` + envSeen + `")
	mutantSeen   mutantsync.Map
)

// mutant tells whether this change is the one to be made.
func mutant(id int) bool {
	if mutantFile != "" {
		if _, seen := mutantSeen.LoadOrStore(id, true); !seen {
			f, err := mutantos.OpenFile(mutantFile, mutantos.O_APPEND|mutantos.O_WRONLY|mutantos.O_CREATE, 0o600)
			if err != nil {
				panic(err)
			}
			if _, err := f.WriteString(mutantconv.Itoa(id) + "\n"); err != nil {
				panic(err)
			}
			_ = f.Close()
		}
	}
	return id == mutantNow
}

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutantNumber interface {
	mutantInteger | ~float32 | ~float64
}

func mutantNot(id int, is bool) bool { return is != mutant(id) }

func mutantAnd(id int, x bool, y func() bool) bool {
	if mutant(id) {
		return x || y()
	}
	return x && y()
}

func mutantOr(id int, x bool, y func() bool) bool {
	if mutant(id) {
		return x && y()
	}
	return x || y()
}

func mutantCount[T mutantNumber](id int, n *T, up bool) {
	if up != mutant(id) {
		*n++
	} else {
		*n--
	}
}
`
