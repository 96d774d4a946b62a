// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// beside is a goroutine beside the one of a test. What fails there ends that goroutine, and what is to be cleaned
// up is at its end.
type beside struct {
	testing.TB
	cleanups []func()
}

// runBeside runs a function beside the test, which must wait until done is closed.
func runBeside(t testing.TB, do func(t testing.TB)) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b := &beside{TB: t}
		defer func() {
			for _, clean := range slices.Backward(b.cleanups) {
				clean()
			}
		}()
		do(b)
	}()
	return ended
}

func (b *beside) Cleanup(clean func()) { b.cleanups = append(b.cleanups, clean) }

func (b *beside) Logf(format string, args ...any) {
	b.Helper()
	b.TB.Logf("beside: "+format, args...)
}

func (b *beside) FailNow() {
	b.Fail()
	runtime.Goexit()
}

func (b *beside) Fatal(args ...any) {
	b.Helper()
	b.Error(args...)
	runtime.Goexit()
}

func (b *beside) Fatalf(format string, args ...any) {
	b.Helper()
	b.Fatal(fmt.Sprintf(format, args...))
}

// end is the manifest to which a way leads from another. What edits do with one depends on the way alone.
func (steps way) end(m *manifest) *manifest {
	m = m.clone()
	var past []*manifest
	for edit := range steps {
		before := m.clone()
		edit(m, past)
		past = append(past, before)
	}
	return m
}

// fromNothing is the state of a stage that never had another manifest than one, which is made beside the test. It is
// sent when all is as declared; nothing is when that fails. The test must wait until the channel is closed.
func fromNothing(t testing.TB, m *manifest) <-chan []string {
	state := make(chan []string, 1)
	done := runBeside(t, func(t testing.TB) {
		w := begin(t, m)
		w.settle(t)
		state <- w.stage.State(t)
	})
	go func() {
		<-done
		close(state)
	}()
	return state
}
