// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
)

// An agent's message, which may be in any language, ends between two characters when it is too long.
func TestAnAgentsLongMessageIsText(t *testing.T) {
	for _, before := range []string{"", "a", "ab"} {
		message := AgentStatus(&mssql.Agent{Message: before + strings.Repeat("€", 2000)}, nil).Message
		NewWithT(t).Expect(utf8.ValidString(message)).To(BeTrue(), "after %q", before)
		NewWithT(t).Expect(len(message)).To(BeNumerically("<=", 4096))
	}
}
