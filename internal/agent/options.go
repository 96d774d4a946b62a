// SPDX-License-Identifier: Apache-2.0

// Package agent is the sidecar in every server's pod. It asks the engine over loopback whether it answers, serves the
// pod's probes, state and metrics over HTTPS, and carries further parts such as the election.
package agent

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Places of the sidecar's files, written by the operator into the pod.
const (
	// TLSDir has tls.crt, tls.key and ca.crt of the server.
	TLSDir = "/etc/geosql/tls"
	// PasswordDir has the agent's password under its key.
	PasswordDir = "/etc/geosql/agent"
	// StateDir is the agent's own volume, which no other container has.
	StateDir = "/var/opt/geosql-agent"
	// DataDir is on the data volume, beside the engine's own folders.
	DataDir = "/var/opt/mssql/geosql-agent"
	// StateDirVariable is the environment variable with StateDir, in pods that have that volume. It is no argument: an
	// agent of a former release, given to such a pod, would not know it.
	StateDirVariable = "GEOSQL_STATE_DIR"
	// PodUIDVariable is the environment variable with the pod's UID.
	PodUIDVariable = "POD_UID"
)

// Options of the sidecar.
type Options struct {
	// ServerName is the instance's name, "<object name>-0", which is the pod's name.
	ServerName string
	// Namespace of the pod.
	Namespace string
	// Listen is the address of HTTPS for everybody, Elections that for sidecars of other servers.
	Listen, Elections string
	// Engine is the address of the engine's TDS port, on loopback.
	Engine string
	// TLSDir has the server's certificate and its CA.
	TLSDir string
	// PasswordFile has the password of the login geosql_agent.
	PasswordFile string
	// PodUID is the pod's UID; without it the sidecar takes no part in elections.
	PodUID string
	// StateDir keeps what the sidecar must know after a restart without an API server.
	StateDir string
	// DataDir keeps what is true of the data beside it alone; empty where that is StateDir, in a pod that was started
	// before agents had a volume of their own.
	DataDir string
	// Interval between two probes.
	Interval time.Duration
	// Timeout of one probe: an engine that accepts a connection and does not answer within it is frozen.
	Timeout time.Duration
	// MeasureInterval is the time between two readings of the engine's views, and between two runs of
	// sp_server_diagnostics.
	MeasureInterval time.Duration
	// FailureConditionLevel says which errors of sp_server_diagnostics make the engine Unhealthy: from 3 those of system,
	// from 4 also of resource, at 5 also of query_processing.
	FailureConditionLevel int
	// LoginPause is how long no login is tried after one was refused: each refusal is a line in the engine's error log.
	LoginPause time.Duration
}

// DefaultOptions are those of a pod.
func DefaultOptions() Options {
	o := Options{
		Listen:          credentials.AgentAddress(""),
		Elections:       credentials.ElectionAddress(""),
		Engine:          "127.0.0.1:1433",
		TLSDir:          TLSDir,
		PasswordFile:    filepath.Join(PasswordDir, "agent-password"),
		PodUID:          os.Getenv(PodUIDVariable),
		StateDir:        DataDir,
		Interval:        time.Second,
		Timeout:         2 * time.Second,
		LoginPause:      3 * time.Second,
		MeasureInterval: 10 * time.Second,

		FailureConditionLevel: 3,
	}
	if own := os.Getenv(StateDirVariable); own != "" {
		o.StateDir, o.DataDir = own, DataDir
	}
	return o
}

// dataDir is the folder on the data volume.
func (o *Options) dataDir() string { return cmp.Or(o.DataDir, o.StateDir) }

// AddFlags adds the options as flags, with their present values as defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ServerName, "server-name", o.ServerName, "name of the instance, <object name>-0")
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the pod")
	flags.StringVar(&o.Listen, "listen", o.Listen, "address of HTTPS for everybody")
	flags.StringVar(&o.Elections, "elections", o.Elections, "address of HTTPS for the sidecars of other servers")
	flags.StringVar(&o.Engine, "engine", o.Engine, "address of the engine's TDS port, on loopback")
	flags.StringVar(&o.TLSDir, "tls-dir", o.TLSDir, "folder with tls.crt, tls.key and ca.crt of the server")
	flags.StringVar(&o.PasswordFile, "password-file", o.PasswordFile, "file with the password of the login geosql_agent")
	flags.StringVar(&o.PodUID, "pod-uid", o.PodUID, "UID of the pod; without it the sidecar takes no part in elections")
	flags.StringVar(
		&o.StateDir,
		"state-dir",
		o.StateDir,
		"folder for what must be known after a restart",
	)
	flags.DurationVar(&o.Interval, "probe-interval", o.Interval, "time between two probes of the engine")
	flags.DurationVar(
		&o.MeasureInterval,
		"measure-interval",
		o.MeasureInterval,
		"time between two readings of the engine's views for metrics",
	)
	flags.IntVar(
		&o.FailureConditionLevel,
		"failure-condition-level",
		o.FailureConditionLevel,
		"errors of sp_server_diagnostics that make the pod unready: 3 system, 4 also resource, 5 also query_processing",
	)
	flags.DurationVar(
		&o.Timeout,
		"probe-timeout",
		o.Timeout,
		"time after which an engine that accepts connections and does not answer is frozen",
	)
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	var errs []error
	if _, err := o.server(); err != nil {
		errs = append(errs, err)
	}
	host, _, err := net.SplitHostPort(o.Engine)
	if err != nil {
		errs = append(errs, fmt.Errorf("--engine: %w", err))
	} else if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		errs = append(errs,
			fmt.Errorf("--engine: %s is not a loopback address: the sidecar speaks for the engine of its own pod alone", host))
	}
	if o.Interval <= 0 || o.Timeout <= 0 || o.MeasureInterval <= 0 {
		errs = append(errs, errors.New("--probe-interval, --probe-timeout and --measure-interval must be more than 0"))
	}
	if o.FailureConditionLevel < 1 || o.FailureConditionLevel > 5 {
		errs = append(errs, errors.New("--failure-condition-level must be between 1 and 5"))
	}
	return errors.Join(errs...)
}

// moved is a file of StateDir that was on the data volume.
func (o *Options) moved(name string) durable.Moved {
	m := durable.Moved{Path: filepath.Join(o.StateDir, name)}
	if o.DataDir != "" {
		m.Former = filepath.Join(o.DataDir, name)
	}
	return m
}

// target is the pod's engine under the agent's login.
func (o *Options) target(server v1alpha1.ServerName) mssql.Target {
	return mssql.Target{Namespace: o.Namespace, Server: server, Role: credentials.RoleAgent}
}

// server is the name of the SQLServer object.
func (o *Options) server() (v1alpha1.ServerName, error) {
	name, ok := strings.CutSuffix(o.ServerName, "-0")
	if !ok || name == "" {
		return "", fmt.Errorf("--server-name: %q is not of the form <object name>-0", o.ServerName)
	}
	return v1alpha1.ServerName(name), nil
}

// orders are where the server's are, at the pod's own site.
func (o *Options) orders() (v1alpha1.ServerName, holder.SecretSource, error) {
	server, err := o.server()
	if err != nil {
		return "", holder.SecretSource{}, err
	}
	client, err := siteClient()
	if err != nil {
		return "", holder.SecretSource{}, err
	}
	return server, holder.SecretSource{Client: client, Namespace: o.Namespace, Name: credentials.OrdersName(server)}, nil
}
