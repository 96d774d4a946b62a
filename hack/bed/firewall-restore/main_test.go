// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// What others have in the table is none of the firewall's: a rule that was added since it read stays, one that was
// taken away does not come back, and what the policies let pass meets the rules after its own.
func TestTheFirewallWritesItsOwnChainsAlone(t *testing.T) {
	read := `*filter
:INPUT ACCEPT [1:2] - [0:0]
:GEOSQL-BED - [0:0]
:KUBE-ROUTER-FORWARD - [0:0] - [0:0]
:KUBE-POD-FW-NEW
-A INPUT -j KUBE-ROUTER-INPUT
-A OUTPUT -o eth0 -j GEOSQL-BED
-A KUBE-ROUTER-FORWARD -d 10.101.1.2/32 -j KUBE-POD-FW-NEW
-I KUBE-POD-FW-NEW 1 -s 10.101.1.2 -j KUBE-NWPLCY-DEFAULT
-A KUBE-ROUTER-FORWARD -m comment --comment "policies" -m mark --mark 0x20000/0x20000 -j ACCEPT
COMMIT
`
	present := "*filter\n:INPUT ACCEPT [0:0]\n:KUBE-POD-FW-OLD - [0:0]\n:KUBE-PROXY-FIREWALL - [0:0]\n" +
		":KUBE-ROUTER-FORWARD - [0:0]\nCOMMIT\n"
	want := `*filter
:KUBE-ROUTER-FORWARD - [0:0]
:KUBE-POD-FW-NEW - [0:0]
:KUBE-POD-FW-OLD - [0:0]
-A KUBE-ROUTER-FORWARD -d 10.101.1.2/32 -j KUBE-POD-FW-NEW
-I KUBE-POD-FW-NEW 1 -s 10.101.1.2 -j KUBE-NWPLCY-DEFAULT
-X KUBE-POD-FW-OLD
COMMIT
`
	if got := own(read, present); got != want {
		t.Errorf("written:\n%s\nwanted:\n%s", got, want)
	}
}
