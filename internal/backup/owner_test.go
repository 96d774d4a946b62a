// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

func TestOwner(t *testing.T) {
	g := NewWithT(t)
	is := backup.Owner{Hub: "h", Claim: "c", Policy: "web/nightly", Server: "tukpub-0",
		At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	content, err := is.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(backup.DecodeOwner(content)).To(Equal(is))
	// What cannot be read is nobody's, and can be told from another that cannot.
	claims := map[string]bool{}
	for _, content := range []string{"", "{", "{}", `{"hub": "h"}`, `{"claim": "c"}`} {
		o := backup.DecodeOwner([]byte(content))
		g.Expect(o.Hub).To(BeEmpty(), content)
		g.Expect(o.Claim).To(HavePrefix("unreadable-"), content)
		claims[o.Claim] = true
	}
	g.Expect(claims).To(HaveLen(5))
}
