// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// pseudoTerminal is a terminal with a person's end, where keys are written and what is shown is dropped.
func pseudoTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	g := NewWithT(t)
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = person.Close() })
	g.Expect(unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)).To(Succeed())
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	g.Expect(err).NotTo(HaveOccurred())
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = program.Close() })
	go func() { _, _ = io.Copy(io.Discard, person) }()
	return person, program
}

// What is typed arrives whole: long lines, tabs, and the end or an interrupt for what they are. The terminal is left as
// it was found.
func TestTerminal(t *testing.T) {
	g := NewWithT(t)
	person, program := pseudoTerminal(t)
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	g.Expect(err).NotTo(HaveOccurred())
	terminal, err := newTTY(program, program)
	g.Expect(err).NotTo(HaveOccurred())
	typed := func(keys string) (string, error) {
		go func() { _, _ = io.WriteString(person, keys) }()
		return terminal.Line(t.Context(), "1> ")
	}
	g.Expect(typed("SELECT\t1\r")).To(Equal("SELECT\t1"))
	_, err = typed("SELEC\x03")
	g.Expect(err).To(MatchError(errInterrupted))
	_, err = typed(strings.Repeat("too long, ", 1000) + "\r")
	g.Expect(err).To(MatchError(errTooLong))
	long := strings.Repeat("a long line, ", 300)
	g.Expect(typed(long + "\r")).To(Equal(long))
	g.Expect(typed("\x1b[A\r")).To(Equal(long), "what was typed before an interrupt is remembered")
	_, err = typed("\x04")
	g.Expect(err).To(MatchError(io.EOF))
	terminal.close()
	after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(Equal(before))
}

// An interrupt while a batch goes on is for the batch, and for nobody afterwards.
func TestInterruptsAreForWhatGoesOn(t *testing.T) {
	g := NewWithT(t)
	_, program := pseudoTerminal(t)
	terminal, err := newTTY(program, program)
	g.Expect(err).NotTo(HaveOccurred())
	defer terminal.close()
	_, stop := untilEnded(t.Context())
	defer stop()
	pressed := make(chan struct{}, 2)
	for range 2 {
		done := terminal.Running(func() { pressed <- struct{}{} })
		g.Expect(syscall.Kill(syscall.Getpid(), syscall.SIGINT)).To(Succeed())
		g.Eventually(pressed, time.Minute).Should(Receive())
		done()
	}
	g.Expect(syscall.Kill(syscall.Getpid(), syscall.SIGINT)).To(Succeed())
	done := terminal.Running(func() { pressed <- struct{}{} })
	defer done()
	g.Expect(syscall.Kill(syscall.Getpid(), syscall.SIGINT)).To(Succeed())
	g.Eventually(pressed, time.Minute).Should(Receive())
}
