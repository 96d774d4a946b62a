// SPDX-License-Identifier: Apache-2.0

package inpod

import (
	"bytes"
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// A pod that writes on and on does not fill the memory of who runs it, and is ended.
func TestWhatACommandWritesIsCapped(t *testing.T) {
	g := NewWithT(t)
	ended := 0
	out := capped{most: 10, over: func() { ended++ }}
	for range 5 {
		n, err := out.Write([]byte("abc"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(n).To(Equal(3), "the stream is read on")
	}
	g.Expect(out.String()).To(Equal("abcabcabca"))
	g.Expect(out.passed).To(BeTrue())
	g.Expect(ended).To(Equal(1))

	whole := capped{most: 10}
	_, err := whole.Write(bytes.Repeat([]byte("x"), 9))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(whole.passed).To(BeFalse())
}

// A command that failed, or whose stream broke, may have run: it is not run again in another protocol.
func TestCommandsRunOnce(t *testing.T) {
	g := NewWithT(t)
	g.Expect(notSpoken(&httpstream.UpgradeFailureError{Cause: errors.New("bad handshake")})).To(BeTrue())
	g.Expect(notSpoken(exec.CodeExitError{Err: errors.New("exit 1"), Code: 1})).To(BeFalse())
	g.Expect(notSpoken(context.DeadlineExceeded)).To(BeFalse())
}
