// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"testing"

	"geosql.dev/standin/config"
)

// FuzzParseConf gives any text as mssql.conf: an error or a configuration, never a panic.
func FuzzParseConf(f *testing.F) {
	f.Add("[network]\ntcpport = 1433\nforceencryption = 1\n[traceflag]\ntraceflag0 = 1448\n")
	f.Add("[uncmapping]\n//host/share = /mnt/share\n; comment\n# comment\n[filelocation]\ndefaultdatadir=/x y")
	f.Add("[\n]\n=\n[a]\nb\n\x00 = \xff")
	f.Add("key = outside\n[network]\ntcpport = 1\ntcpport = 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.ParseConf(text)
		if (c == nil) == (err == nil) {
			t.Errorf("configuration %v and error %v", c, err)
		}
	})
}
