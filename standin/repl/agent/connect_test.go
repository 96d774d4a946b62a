// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

func TestAddressesOfServers(t *testing.T) {
	t.Parallel()
	for source, address := range map[string]string{
		"tukpub-0,1433":        "tukpub-0:1433",
		"tcp:10.0.0.7, 31433":  "10.0.0.7:31433",
		"listener.example.com": "listener.example.com:1433",
		"fd00::7,1433":         "[fd00::7]:1433",
	} {
		if got := AddressOfSource(source); got != address {
			t.Errorf("%s is at %s, not at %s", source, got, address)
		}
		if got := AddressOfSource(SourceOfAddress(address)); got != address {
			t.Errorf("%s becomes %s", address, got)
		}
	}
}
