// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// A line says when it was written, as the kubelet puts it before it.
func TestLinesAreParsed(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 4, 5, 6, time.UTC)
	for line, want := range map[string]entry{
		"2026-11-30T03:04:05.000000006Z a line\r\n": {at, "a line"},
		"2026-11-30T03:04:05.000000006Z \n":         {at, ""},
		"2026-11-30T03:04:05.000000006Z":            {at, ""},
		"unable to retrieve container logs":         {time.Time{}, "unable to retrieve container logs"},
		"":                                          {},
	} {
		NewWithT(t).Expect(parse(line)).To(Equal(want), line)
	}
}
