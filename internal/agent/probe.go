// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// prober asks the engine and keeps what it found.
type prober struct {
	options   Options
	server    v1alpha1.ServerName
	connector *mssql.Connector
	// failing names the component of the engine that sp_server_diagnostics finds in error; optional.
	failing func() string
	// known tells that the engine has let the agent in before; optional.
	known func() bool

	mu     sync.Mutex
	status Status
	// refused is when the engine last refused the agent's login, and last what that meant.
	refused time.Time
	last    finding
}

func newProber(o Options, server v1alpha1.ServerName, connector *mssql.Connector) *prober {
	p := &prober{options: o, server: server, connector: connector}
	p.status = Status{
		ServerName: o.ServerName,
		Engine:     EngineUnknown,
		Since:      time.Now(),
		Message:    "no probe has ended yet",
	}
	return p
}

// current is what the last probe found, or Unknown when none has ended for as long as two would have taken.
func (p *prober) current() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := p.status
	stale := 2 * (p.options.Interval + 2*p.options.Timeout)
	if !status.Probed.IsZero() && time.Since(status.Probed) > stale {
		status.Engine, status.Since = EngineUnknown, status.Probed
		status.Message = fmt.Sprintf("no probe has ended for %s", time.Since(status.Probed).Round(time.Millisecond))
	}
	return status
}

// finding is what one probe met.
type finding struct {
	state   EngineState
	message string
	// name is @@SERVERNAME.
	name string
}

// once probes and keeps the finding. It tells whether the state changed.
func (p *prober) once(ctx context.Context) (Status, bool) {
	began := time.Now()
	found := p.ask(ctx)
	ended := time.Now()
	expires := p.certificateExpires()

	p.mu.Lock()
	defer p.mu.Unlock()
	changed := p.status.Engine != found.state
	if changed {
		p.status.Engine, p.status.Since = found.state, ended
	}
	p.status.Message = found.message
	if found.name != "" {
		p.status.InstanceName = found.name
	}
	p.status.Probed, p.status.ProbeMilliseconds = ended, ended.Sub(began).Milliseconds()
	p.status.CertificateExpires = expires
	return p.status, changed
}

// ask executes a statement; when that shows nothing, it asks for the least that a living engine answers.
func (p *prober) ask(ctx context.Context) finding {
	if time.Since(p.refused) < p.options.LoginPause {
		return p.last
	}
	name, err := p.statement(ctx)
	switch {
	case err == nil && !strings.EqualFold(name, p.options.ServerName):
		return finding{
			EngineUnhealthy,
			fmt.Sprintf("the engine calls itself %s instead of %s", name, p.options.ServerName),
			name,
		}
	case err == nil:
		if component := p.component(); component != "" {
			return finding{
				EngineUnhealthy,
				"the engine answers, and by sp_server_diagnostics its component " + component + " is in error: see the error log",
				name,
			}
		}
		return finding{EngineReady, "", name}
	case mssql.Is(err, mssql.LoginFailed):
		p.refused, p.last = time.Now(), finding{EngineBootstrapping, err.Error(), ""}
		if p.known != nil && p.known() {
			// It serves others perhaps, and gets no lease.
			p.last.state = EngineUnhealthy
		}
		return p.last
	case mssql.Is(err, mssql.Refused), mssql.Is(err, mssql.Retryable), mssql.Is(err, mssql.Untrusted):
		return finding{EngineUnhealthy, err.Error(), ""}
	}
	return p.prelogin(ctx, err)
}

func (p *prober) component() string {
	if p.failing == nil {
		return ""
	}
	return p.failing()
}

func (p *prober) statement(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	db, err := p.connector.Open(ctx, p.options.target(p.server))
	if err != nil {
		return "", err
	}
	var name string
	err = db.Query(
		ctx,
		tsql.Alive().Because("ask the engine for its name"),
		func(r mssql.Row) error { return r.Scan(&name) },
	)
	return name, err
}

// prelogin tells a port that nobody listens on from an engine that does not answer. cause is what the statement met.
func (p *prober) prelogin(ctx context.Context, cause error) finding {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	err := mssql.Prelogin(ctx, p.options.Engine)
	var waited net.Error
	switch {
	// On loopback a connection that is neither made nor refused means that the queue of a frozen listener is full.
	case mssql.Is(err, mssql.Unknown), errors.As(err, &waited) && waited.Timeout():
		return finding{
			EngineFrozen,
			fmt.Sprintf("the engine accepts connections and does not answer within %s", p.options.Timeout),
			"",
		}
	case mssql.Is(err, mssql.Unreachable):
		return finding{EngineStarting, err.Error(), ""}
	case err != nil:
		return finding{EngineUnhealthy, err.Error(), ""}
	}
	return finding{EngineUnhealthy, cause.Error(), ""}
}

func (p *prober) certificateExpires() *time.Time {
	data := map[string][]byte{}
	for _, key := range []string{credentials.KeyCertificate, credentials.KeyPrivateKey, credentials.KeyCA} {
		content, err := os.ReadFile(filepath.Join(p.options.TLSDir, key))
		if err != nil {
			return nil
		}
		data[key] = content
	}
	certificate, err := credentials.ParseCertificate(data)
	if err != nil {
		return nil
	}
	return &certificate.Expires
}

// known is a file on the data volume, beside the engine's own: it is there once the engine has let the agent in. An
// engine that refuses it after that does not begin, as a new one does, but lacks what it had.
type known string

func knownFile(o Options) known { return known(filepath.Join(o.dataDir(), "known")) }

func (k known) noted() bool {
	_, err := os.Stat(string(k))
	return err == nil
}

func (k known) note() error {
	if k.noted() {
		return nil
	}
	return durable.Replace(string(k), []byte("the engine has let the agent in\n"))
}

// probe asks the engine again and again until ctx ends.
func (a *Agent) probe(ctx context.Context) {
	ticker := time.NewTicker(a.options.Interval)
	defer ticker.Stop()
	for {
		status, changed := a.prober.once(ctx)
		if ctx.Err() != nil {
			return
		}
		a.telling.observe(status)
		if changed {
			a.log.Info("engine", "state", string(status.Engine), "message", status.Message)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
