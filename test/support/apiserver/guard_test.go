// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/apiserver"
)

// panicVariable has TestThatPanics do so, when it is 1.
const panicVariable = "GEOSQL_TEST_PANIC"

// TestNoServerOutlivesItsTests shows that nothing runs on, and no files stay, when tests end before they have stopped
// their servers, and that nobody waits for it meanwhile.
func TestNoServerOutlivesItsTests(t *testing.T) {
	g := NewWithT(t)
	program, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	// Ports are locked there.
	const locks = "geosql-test-ports"
	g.Expect(os.Symlink(filepath.Join(os.TempDir(), locks), filepath.Join(folder, locks))).To(Succeed())
	cmd := exec.Command(program, "-test.run=^TestThatPanics$")
	cmd.Env = append(os.Environ(), panicVariable+"=1", "TMPDIR="+folder)
	output, err := cmd.CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	_, told, found := strings.Cut(string(output), "panic: children: ")
	g.Expect(found).To(BeTrue(), "%s", output)
	line, _, _ := strings.Cut(told, "\n")
	numbers := strings.Fields(strings.TrimSuffix(line, " [recovered, repanicked]"))
	g.Expect(len(numbers)).To(BeNumerically(">=", 3), "etcd, kube-apiserver, and who watches them: %s", line)
	g.Eventually(func() (left []string) {
		for _, number := range numbers {
			// A process that has ended and that nobody has waited for yet has no arguments.
			if arguments, err := os.ReadFile(filepath.Join("/proc", number, "cmdline")); err == nil && len(arguments) > 0 {
				left = append(left, string(arguments))
			}
		}
		files, err := filepath.Glob(filepath.Join(folder, "geosql-apiservers-*"))
		if err != nil {
			left = append(left, err.Error())
		}
		return append(left, files...)
	}).WithTimeout(time.Minute).Should(BeEmpty())
}

// TestThatPanics is run by TestNoServerOutlivesItsTests.
func TestThatPanics(t *testing.T) {
	if os.Getenv(panicVariable) != "1" {
		t.Skip("TestNoServerOutlivesItsTests runs it")
	}
	t.Run("whose server is kept", func(t *testing.T) { apiserver.StartMember(t) })
	children, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var numbers []string
	for _, file := range children {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, strings.Fields(string(data))...)
	}
	panic(fmt.Sprint("children: ", strings.Join(numbers, " ")))
}
