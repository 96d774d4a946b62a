// SPDX-License-Identifier: Apache-2.0

//go:build integration

package topology_test

import (
	"os"
	"testing"

	"geosql.dev/operator/test/support/apiserver"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Main(m)) }
