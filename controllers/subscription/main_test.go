// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"geosql.dev/operator/test/support/apiserver"
)

// atOnce is how many flow tests are at work: each waits for its agents and its controllers more than it computes. More
// of them, with three engines and an API server each, take time from each other that they are not given.
const atOnce = 3

func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(apiserver.Main(m))
}
