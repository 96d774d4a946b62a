// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"geosql.dev/standin/sqltype"
)

// likePlain is LIKE by its definition: a % is tried with every length.
func likePlain(t, p []rune, escape rune) bool {
	if len(p) == 0 {
		return len(t) == 0
	}
	if p[0] == '%' && !escapes(p, escape) {
		for i := 0; i <= len(t); i++ {
			if likePlain(t[i:], p[1:], escape) {
				return true
			}
		}
		return false
	}
	if len(t) == 0 {
		return false
	}
	n := likeOne(t[0], p, escape, sqltype.DefaultCollationKey)
	return n > 0 && likePlain(t[1:], p[n:], escape)
}

// TestLikeGoesBackToTheLastPercent compares LIKE with its definition.
func TestLikeGoesBackToTheLastPercent(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(letters string, n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	matched := 0
	for range 20000 {
		s, p := text("abB", 9), text("ab%%_![]^-", 8)
		want := likePlain([]rune(s), []rune(p), '!')
		if got := likeRunes([]rune(s), []rune(p), '!', sqltype.DefaultCollationKey); got != want {
			t.Fatalf("%q LIKE %q ESCAPE '!' is %v, not %v", s, p, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 500 {
		t.Fatalf("only %d patterns matched", matched)
	}
}

// TestLikeOfManyPercents: the time does not grow with every combination of places.
func TestLikeOfManyPercents(t *testing.T) {
	t.Parallel()
	done := make(chan bool, 1)
	go func() {
		done <- Like(strings.Repeat("a", 2000), strings.Repeat("%a", 60)+"%b", 0, sqltype.DefaultCollationKey)
	}()
	select {
	case got := <-done:
		if got {
			t.Fatal("a text without b matched")
		}
	case <-time.After(time.Minute):
		t.Fatal("LIKE has not come to its end")
	}
}
