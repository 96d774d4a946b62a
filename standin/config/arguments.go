// SPDX-License-Identifier: Apache-2.0

// Package config reads what a SQL Server instance on Linux is configured by: sqlservr's arguments, environment
// variables and mssql.conf.
package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Arguments are sqlservr's startup options
// (docs/database-engine/configure-windows/database-engine-service-startup-options.md) and the stand-in's own.
type Arguments struct {
	// Root is the directory that stands for /var/opt/mssql.
	Root string
	// ServerName is @@SERVERNAME; empty is the host name.
	ServerName string
	// Peers are where endpoints are, by "name:port" as ENDPOINT_URL has it; the server's own is where it listens. Names
	// that are not there are looked up.
	Peers   map[string]string
	Help    bool
	Version bool
	// MasterData, MasterLog and ErrorLog are -d, -l and -e.
	MasterData, MasterLog, ErrorLog string
	// CheckpointMBPerSecond is -k: the limit of checkpoint I/O in MB/s, 0 for none.
	CheckpointMBPerSecond int
	// TraceFlags are -T.
	TraceFlags []int
	// SingleUser is -m or -f; SingleUserApp the only application that may connect (-m"app").
	SingleUser    bool
	SingleUserApp string
	// Minimal is -f.
	Minimal bool
	// Options are the options that were given, as SQL Server's error log lists them.
	Options []string
	// Idle are options that were accepted and have no effect here.
	Idle []string
}

// Usage is the text of --help.
const Usage = `Usage: sqlservr [options]

geosql stand-in: speaks TDS and a subset of T-SQL, and replicates. It is not Microsoft SQL Server.

  --root DIR          directory that stands for /var/opt/mssql
  --server-name NAME  @@SERVERNAME (default: the host name)
  --peer NAME:PORT=HOST:PORT
                      where the endpoint NAME:PORT of an ENDPOINT_URL is; the server's own listens there (for several
                      servers on one machine; may be repeated)
  --version, --help

Options of sqlservr:
  -T N      set trace flag N
  -m[app]   single-user mode          -f        minimal configuration, single-user mode
  -d FILE   master data file          -l FILE   master log file
  -e FILE   error log file            -c, -n, -x, -E, -g N, -k N   accepted, no effect

Environment variables: ACCEPT_EULA, MSSQL_SA_PASSWORD, MSSQL_PID, MSSQL_TCP_PORT, MSSQL_IP_ADDRESS, MSSQL_DATA_DIR,
MSSQL_LOG_DIR, MSSQL_BACKUP_DIR, MSSQL_AGENT_ENABLED, MSSQL_ENABLE_HADR, MSSQL_MEMORY_LIMIT_MB, MSSQL_COLLATION,
MSSQL_LCID, MSSQL_ERROR_LOG_FILE, MSSQL_MASTER_DATA_FILE, MSSQL_MASTER_LOG_FILE. They go before mssql.conf.
`

// ParseArguments reads the arguments without the program's name. Values may follow their option with or without a
// space, as sqlservr takes them.
func ParseArguments(args []string) (Arguments, error) {
	a := Arguments{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			var err error
			if args, err = a.long(name, args); err != nil {
				return a, err
			}
			continue
		}
		if len(arg) < 2 || arg[0] != '-' {
			return a, fmt.Errorf("argument %q is not an option; see --help", arg)
		}
		letter, value := arg[1], arg[2:]
		if value == "" && strings.IndexByte("Tkdelg", letter) >= 0 {
			if len(args) == 0 {
				return a, fmt.Errorf("option -%c needs a value", letter)
			}
			value, args = args[0], args[1:]
		}
		if err := a.short(letter, value); err != nil {
			return a, err
		}
		a.Options = append(a.Options, "-"+string(letter)+value)
	}
	return a, nil
}

func (a *Arguments) long(name string, args []string) ([]string, error) {
	name, value, given := strings.Cut(name, "=")
	var target *string
	switch name {
	case "help":
		a.Help = true
		return args, nil
	case "version":
		a.Version = true
		return args, nil
	case "root":
		target = &a.Root
	case "server-name":
		target = &a.ServerName
	case "peer":
		target = new(string)
	default:
		return args, fmt.Errorf("option --%s is unknown; see --help", name)
	}
	if !given {
		if len(args) == 0 {
			return args, fmt.Errorf("option --%s needs a value", name)
		}
		value, args = args[0], args[1:]
	}
	if value == "" {
		return args, fmt.Errorf("option --%s needs a value", name)
	}
	*target = value
	if name == "peer" {
		return args, a.peer(value)
	}
	return args, nil
}

func (a *Arguments) peer(text string) error {
	name, address, ok := strings.Cut(text, "=")
	if _, _, err := net.SplitHostPort(name); !ok || err != nil {
		return fmt.Errorf("option --peer needs NAME:PORT=HOST:PORT, not %q", text)
	}
	if _, err := netip.ParseAddrPort(address); err != nil {
		return fmt.Errorf("option --peer needs an IP address and a port after %s=, not %q", name, address)
	}
	if a.Peers == nil {
		a.Peers = map[string]string{}
	}
	a.Peers[strings.ToLower(name)] = address
	return nil
}

func (a *Arguments) short(letter byte, value string) error {
	switch letter {
	case 'T':
		flag, err := strconv.Atoi(value)
		if err != nil || flag < 1 {
			return fmt.Errorf("option -T needs the number of a trace flag, not %q", value)
		}
		a.TraceFlags = append(a.TraceFlags, flag)
	case 'k':
		rate, err := strconv.Atoi(value)
		if err != nil || rate < 1 {
			return fmt.Errorf("option -k needs a limit of checkpoint I/O of at least 1 MB/s, not %q", value)
		}
		a.CheckpointMBPerSecond = rate
		// SQLite writes a checkpoint in one call, which cannot be paced.
		a.Idle = append(a.Idle, "-k")
	case 'm':
		a.SingleUser, a.SingleUserApp = true, strings.Trim(value, `"`)
	case 'f':
		a.SingleUser, a.Minimal = true, true
	case 'd':
		a.MasterData = value
	case 'l':
		a.MasterLog = value
	case 'e':
		a.ErrorLog = value
	case 'c', 'n', 'x', 'E', 'g':
		a.Idle = append(a.Idle, "-"+string(letter))
	case 's':
		return fmt.Errorf("option -s is not supported: there are no named instances on Linux")
	default:
		return fmt.Errorf("option -%c is unknown; see --help", letter)
	}
	return nil
}
