// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestErrorsOfTheOperatingSystem: messages have them as SQL Server for Linux does, by Windows' number and text.
func TestErrorsOfTheOperatingSystem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	g.Expect(failure(t, db, "RESTORE HEADERONLY FROM DISK = N'/tmp/no such backup.bak'").Message).
		To(HaveSuffix("Operating system error 2(The system cannot find the file specified.)."))
}
