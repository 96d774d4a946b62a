// SPDX-License-Identifier: Apache-2.0

package checkout_test

import (
	"os"
	"path/filepath"
	"testing"

	"geosql.dev/operator/test/support/checkout"
)

func TestRootHoldsThisFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := os.Stat(filepath.Join(checkout.Root(), "test", "support", "checkout", "checkout_test.go")); err != nil {
		t.Fatal(err)
	}
}
