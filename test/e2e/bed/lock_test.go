// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/checkout"
)

// While another command is at work on the bed, removing what tests have left waits, and says so.
func TestClearTestsTakesTheBedsLock(t *testing.T) {
	g := NewWithT(t)
	cache := t.TempDir()
	asked := filepath.Join(cache, "asked")
	g.Expect(os.Mkdir(filepath.Join(cache, "bin"), 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(cache, "bin", "kubectl"), []byte("#!/bin/sh\necho \"$@\" >>"+asked+"\n"), 0o755)).
		To(Succeed())
	lock, err := os.Create(filepath.Join(cache, "lock"))
	g.Expect(err).NotTo(HaveOccurred())
	defer lock.Close()
	g.Expect(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)).To(Succeed())

	command := exec.CommandContext(t.Context(), filepath.Join(checkout.Root(), "hack/clear-tests"))
	command.Env = append(os.Environ(), "GEOSQL_BED_CACHE="+cache)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Start()).To(Succeed())
	said, err := bufio.NewReader(output).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred(), "it ended and said nothing")
	g.Expect(said).To(HavePrefix("bed: another command is at work on the bed; waiting for it"))
	g.Expect(asked).NotTo(BeAnExistingFile(), "it looks at no cluster before it has the lock")

	g.Expect(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN)).To(Succeed())
	_, err = io.Copy(io.Discard, output)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Wait()).To(Succeed())
	g.Expect(asked).To(BeAnExistingFile())
}
