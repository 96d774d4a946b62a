// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

// TestPacketsOfEncryptedConnectionsFitTLS: packets have 16,383 bytes at most where more than the login is encrypted
// (docs/database-engine/configure-windows/configure-the-network-packet-size-server-configuration-option.md, Limitations
// and restrictions).
func TestPacketsOfEncryptedConnectionsFitTLS(t *testing.T) {
	certificate, file := trusted(t)
	for options, want := range map[string]int{"encrypt=disable": 32767, "encrypt=false": 32767, "encrypt=true": 16383,
		"encrypt=strict&certificate=" + file: 16383} {
		t.Run(options, func(t *testing.T) {
			g := NewWithT(t)
			backend, address := serve(t, func(cfg *tds.Config) { cfg.Encryption, cfg.TLS = tds.EncryptionOptional, certificate })
			db := open(t, address, options+"&packet+size=32767")
			rows, err := db.Query("rows 5000")
			g.Expect(err).NotTo(HaveOccurred())
			n := 0
			for rows.Next() {
				n++
			}
			g.Expect(rows.Err()).NotTo(HaveOccurred())
			g.Expect(n).To(Equal(5000))
			g.Expect(backend.lastLogin().PacketSize).To(Equal(want))
		})
	}
}
