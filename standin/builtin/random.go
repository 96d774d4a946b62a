// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"math/rand/v2"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// The two generators that RAND combines, each modulo a prime, and the factor that brings their difference between 0 and
// 1.
const (
	firstFactor, firstModulus   = 40014, 2147483563
	secondFactor, secondModulus = 40692, 2147483399
	randomScale                 = 4.656613e-10
	// randomStart is where the second generator begins for every seed, zeroSeed what a seed of 0 stands for.
	randomStart, zeroSeed = 67890, 12345
)

// Random are the numbers of RAND in one session: those after RAND(seed) follow from the seed
// (docs/t-sql/functions/rand-transact-sql.md, Remarks), and are SQL Server's. The zero value has a seed of its own.
type Random struct{ first, second int64 }

// Seed begins the numbers of a seed.
func (r *Random) Seed(seed int64) {
	if seed < 0 {
		seed = -seed
	}
	if seed %= firstModulus; seed == 0 {
		seed = zeroSeed
	}
	r.first, r.second = seed, randomStart
}

// Next is the next number, between 0 and 1.
func (r *Random) Next() float64 {
	if r.first == 0 {
		r.Seed(rand.Int64N(1<<31-1) + 1)
		r.second += rand.Int64N(1 << 30) // so that it is no seed's number
	}
	r.first, r.second = r.first*firstFactor%firstModulus, r.second*secondFactor%secondModulus
	n := r.first - r.second
	if n < 1 {
		n += firstModulus - 1
	}
	return float64(n) * randomScale
}

func randomNumber(e *Evaluation, a []any) (any, *sqlerr.Error) {
	if len(a) == 1 {
		e.Random.Seed(integer(a[0]))
	}
	return e.Random.Next(), nil
}

func init() {
	add(map[string]*function{"rand": {Min: 0, Max: 1, Params: []sqltype.Type{intT}, Type: floatT, Run: randomNumber}})
}
