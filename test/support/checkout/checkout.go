// SPDX-License-Identifier: Apache-2.0

// Package checkout leads tests to the files of the checkout that they run in. The test binaries do not know their
// sources' folder: they are built with -trimpath, so that one build serves every checkout.
package checkout

import (
	"os"
	"path/filepath"
)

// root is found before a test can change the folder that `go test` starts it in, its package's.
var root, problem = find()

// Root is the folder of go.mod. It panics where there is none above the folder that the process started in.
func Root() string {
	if problem != nil {
		panic(problem)
	}
	return root
}

func find() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil || dir == filepath.Dir(dir) {
			return dir, err
		}
	}
}
