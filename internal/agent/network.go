// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path/filepath"
	"strings"
)

// networkDir has the kernel's parameters of TCP as they are in the pod's network, which is the sidecar's own.
const networkDir = "/proc/sys/net/ipv4"

// NetworkStatus is what the kernel has for the connections of the pod.
type NetworkStatus struct {
	// ReceiveMemory is net.ipv4.tcp_rmem and SendMemory net.ipv4.tcp_wmem: least, beginning and most in bytes, with single
	// spaces.
	ReceiveMemory string `json:"receiveMemory,omitempty"`
	SendMemory    string `json:"sendMemory,omitempty"`
	// CongestionControl is that of connections that choose none, such as cubic.
	CongestionControl string `json:"congestionControl,omitempty"`
}

// readNetwork reads the parameters below dir; nil where none of them can be read. They are told by the kernel's memory:
// no reading waits for anything.
func readNetwork(dir string) *NetworkStatus {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "" // a kernel that has it for the node alone does not show it in pods
		}
		return strings.Join(strings.Fields(string(text)), " ")
	}
	n := NetworkStatus{ReceiveMemory: read("tcp_rmem"), SendMemory: read("tcp_wmem"),
		CongestionControl: read("tcp_congestion_control")}
	if n == (NetworkStatus{}) {
		return nil
	}
	return &n
}
