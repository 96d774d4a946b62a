// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// The kernel's parameters are told as they are, without the kernel's tabs; one that is not shown is left out.
func TestWhatThePodsNetworkHas(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(readNetwork(dir)).To(BeNil())
	for name, text := range map[string]string{"tcp_rmem": "4096\t131072\t37748736\n", "tcp_congestion_control": "bbr\n"} {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	g.Expect(readNetwork(dir)).To(Equal(&NetworkStatus{ReceiveMemory: "4096 131072 37748736", CongestionControl: "bbr"}))
	g.Expect(readNetwork(networkDir)).To(HaveValue(HaveField("CongestionControl", Not(BeEmpty()))), "on this machine")
}
