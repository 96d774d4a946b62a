// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
)

// Conf is a parsed mssql.conf (docs/linux/sql-server-linux-configure-mssql-conf.md): its settings by
// "section.key" in lower case, but for the keys of uncmapping, which are paths.
type Conf struct {
	settings map[string]string
	// order has the names in the file's order.
	order []string
	// UNCMapping maps //host/share to a local directory.
	UNCMapping map[string]string
}

// ParseConf reads the text of mssql.conf. A broken line is an error that names it: a server that starts with half of
// its configuration would be worse than none.
func ParseConf(text string) (*Conf, error) {
	c := &Conf{settings: map[string]string{}, UNCMapping: map[string]string{}}
	section := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		switch {
		case line == "", line[0] == '#', line[0] == ';':
			continue
		case line[0] == '[':
			if !strings.HasSuffix(line, "]") {
				return nil, fmt.Errorf("mssql.conf line %d: section %q lacks its closing bracket", i+1, line)
			}
			section = strings.ToLower(strings.TrimSpace(line[1 : len(line)-1]))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok || key == "":
			return nil, fmt.Errorf("mssql.conf line %d: %q is neither a section nor a setting", i+1, line)
		case section == "":
			return nil, fmt.Errorf("mssql.conf line %d: setting %q stands before any section", i+1, key)
		}
		if section == "uncmapping" {
			if !strings.HasPrefix(key, "//") || !strings.HasPrefix(value, "/") {
				return nil, fmt.Errorf("mssql.conf line %d: uncmapping needs //host/share = /local/path, not %q", i+1, line)
			}
			c.UNCMapping[key] = value
			continue
		}
		name := section + "." + strings.ToLower(key)
		if _, twice := c.settings[name]; !twice {
			c.order = append(c.order, name)
		}
		c.settings[name] = value
	}
	return c, nil
}

// get is a setting's value.
func (c *Conf) get(name string) (string, bool) {
	v, ok := c.settings[name]
	return v, ok
}

// effective are the settings that the stand-in acts on; traceflag.traceflagN is treated apart.
var effective = map[string]bool{
	"eula.accepteula": true, "eula.accepteulaml": true,
	"network.tcpport": true, "network.ipaddress": true, "network.tlscert": true, "network.tlskey": true,
	"network.tlsprotocols": true, "network.forceencryption": true, "network.forcestrict": true,
	"filelocation.defaultdatadir": true, "filelocation.defaultlogdir": true, "filelocation.defaultbackupdir": true,
	"filelocation.errorlogfile": true, "filelocation.masterdatafile": true, "filelocation.masterlogfile": true,
	"errorlog.numerrorlogs": true, "hadr.hadrenabled": true, "language.lcid": true, "memory.memorylimitmb": true,
	"sqlagent.enabled": true, "standin.answers": true,
}

// idle are documented settings that have no effect here.
var idle = map[string]bool{
	"control.writethrough": true, "control.alternatewritethrough": true, "coredump.captureminiandfull": true,
	"coredump.coredumptype": true, "distributedtransaction.servertcpport": true,
	"extensibility.outboundnetworkaccess": true, "filelocation.defaultdumpdir": true,
	"memory.disablememorypressure": true, "network.disablesssd": true, "network.enablekdcfromkrb5conf": true,
	"network.forcesecureldap": true, "network.ipv6dnsrecordslimit": true, "network.kerberoscredupdatefrequency": true,
	"network.kerberoskeytabfile": true, "network.privilegedadaccount": true, "network.rpcport": true,
	"network.tlsciphers": true, "sqlagent.databasemailprofile": true, "sqlagent.errorlogfile": true,
	"sqlagent.errorlogginglevel": true, "sqlagent.startupwaitforalldb": true, "sqlconnector.logginglevel": true,
	"telemetry.customerfeedback":                 true,
	"telemetry.userrequestedlocalauditdirectory": true,
}

// warnings tells of settings that are unknown or have no effect.
func (c *Conf) warnings() []string {
	var out []string
	for _, name := range c.order {
		switch {
		case effective[name] || strings.HasPrefix(name, "traceflag.traceflag"):
		case idle[name]:
			out = append(out, fmt.Sprintf("mssql.conf: setting %s has no effect in the stand-in.", name))
		default:
			out = append(out, fmt.Sprintf("mssql.conf: setting %s is unknown and was not applied.", name))
		}
	}
	return out
}
