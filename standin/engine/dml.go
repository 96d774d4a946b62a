// SPDX-License-Identifier: Apache-2.0

package engine

func pick(first bool, a, b int32) int32 {
	if first {
		return a
	}
	return b
}
